// Says what goes into a piece of a job and what must come out of it, in order and with the watermarks; and runs that once as it is,
// and once for every step with a snapshot before it that another harness goes on from.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dataflow/harness.h"

namespace weir {

// What came out, as text: "value@time", with "+I " before it or so in a changelog, and "WM time", "IDLE" and "ACTIVE" between.
class OutputTexts {
 public:
  using Texts = std::vector<std::string>;

  OutputTexts() = default;
  // As a test writes it down.
  explicit OutputTexts(const Texts& texts) {
    for (const std::string& text : texts) {
      if (text.starts_with("WM ") || text == "IDLE" || text == "ACTIVE") {
        add_control(text);
      } else {
        texts_.push_back(text);
      }
    }
  }

  template <class T>
  void add(const Emitted<T>& output) {
    if (const auto* watermark = std::get_if<Watermark>(&output)) {
      add_control("WM " + text_of_time(watermark->time));
    } else if (const auto* status = std::get_if<WatermarkStatus>(&output)) {
      add_control(status->idle ? "IDLE" : "ACTIVE");
    } else {
      const auto& record = std::get<Record<T>>(output);
      texts_.push_back(text_of_value(record.value) + "@" + text_of_time(record.time));
    }
  }

  // The records between two watermarks are sorted: which key fires first says nothing.
  [[nodiscard]] Texts take() {
    sort_last();
    begin_of_last_ = 0;
    return std::exchange(texts_, {});
  }

 private:
  void add_control(std::string text) {
    sort_last();
    texts_.push_back(std::move(text));
    begin_of_last_ = texts_.size();
  }
  void sort_last() {
    std::sort(texts_.begin() + static_cast<std::ptrdiff_t>(begin_of_last_), texts_.end());
  }
  static std::string text_of_time(EventTime time) {
    return time == EventTime::max() ? "MAX" : std::to_string(time.ms);
  }
  // A type of the test's has a text_of beside it.
  template <class T>
  static std::string text_of_value(const T& value) {
    if constexpr (std::is_convertible_v<const T&, std::string>) {
      return value;
    } else if constexpr (std::is_arithmetic_v<T>) {
      return std::to_string(value);
    } else if constexpr (requires { adds_row(value.kind); }) {
      return std::string(name_of(value.kind)) + " " + text_of_value(value.row);
    } else {
      return text_of(value);
    }
  }

  Texts texts_;
  std::size_t begin_of_last_ = 0;
};

// Watermarks and statuses that inputs have sent are sent again after a restore, as sources do; they must not bring anything new.
template <class Harness>
class HarnessScript {
 public:
  using Texts = OutputTexts::Texts;
  using Action = std::function<void(Harness&)>;

  // describe: as for the harness.
  template <class Describe>
  explicit HarnessScript(Describe describe)
      : make_([describe](HarnessOptions options) {
          return std::make_unique<Harness>(describe, std::move(options));
        }) {}

  // A record, of a piece with one input or to one of two.
  template <class T>
  HarnessScript& push(T value, std::int64_t ms) {
    return act([value, ms](Harness& harness) { harness.push(value, EventTime{ms}); });
  }
  template <class T>
  HarnessScript& push(T value) {
    return act([value](Harness& harness) { harness.push(value); });
  }
  template <class T>
  HarnessScript& first(T value, std::int64_t ms) {
    return act([value, ms](Harness& harness) { harness.first().push(value, EventTime{ms}); });
  }
  template <class T>
  HarnessScript& second(T value, std::int64_t ms) {
    return act([value, ms](Harness& harness) { harness.second().push(value, EventTime{ms}); });
  }

  // On all inputs, or on one of two.
  HarnessScript& watermark(EventTime time) {
    return control([time](Harness& harness) { harness.watermark(time); });
  }
  HarnessScript& watermark(std::int64_t ms) { return watermark(EventTime{ms}); }
  HarnessScript& first_watermark(std::int64_t ms) {
    return control([ms](Harness& harness) { harness.first().watermark(EventTime{ms}); });
  }
  HarnessScript& second_watermark(std::int64_t ms) {
    return control([ms](Harness& harness) { harness.second().watermark(EventTime{ms}); });
  }
  // Feeds watermarks or statuses.
  HarnessScript& control(Action action) {
    steps_.push_back({.action = std::move(action), .is_control = true});
    return *this;
  }

  HarnessScript& processing_time(std::int64_t ms) {
    steps_.push_back({.processing_time = ProcessingTime{ms}});
    return *this;
  }

  // Exactly what must have come out since the last expectation. Requires a step before it.
  HarnessScript& expect(const Texts& texts) {
    steps_.back().expected = OutputTexts(texts).take();
    return *this;
  }

  void run() const {
    run_restored_before(steps_.size());
    for (std::size_t i = 0; i < steps_.size() && !testing::Test::HasFailure(); ++i)
      run_restored_before(i);
  }

 private:
  struct Step {
    Action action{};
    bool is_control = false;
    std::optional<ProcessingTime> processing_time{};
    std::optional<Texts> expected{};
  };

  HarnessScript& act(Action action) {
    steps_.push_back({.action = std::move(action)});
    return *this;
  }

  void run_restored_before(std::size_t restored) const {
    SCOPED_TRACE(restored == steps_.size() ? "without restore"
                                           : "restored before step " + std::to_string(restored));
    auto harness = make_({});
    OutputTexts seen;
    ProcessingTime now{0};
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == restored) {
        auto next = make_({.processing_time = now, .restored = harness->snapshot()});
        harness = std::move(next);
        send_controls_again(*harness, i);
      }
      const Step& step = steps_[i];
      if (step.action) step.action(*harness);
      if (step.processing_time) harness->set_processing_time(now = *step.processing_time);
      for (const auto& output : harness->take_outputs()) seen.add(output);
      ASSERT_TRUE(harness->status())
          << "at step " << i << ": " << harness->status().error().message;
      if (step.expected) {
        ASSERT_EQ(seen.take(), *step.expected) << "at step " << i;
      }
    }
    ASSERT_EQ(seen.take(), Texts{}) << "behind the last expectation";
  }

  void send_controls_again(Harness& harness, std::size_t before) const {
    for (std::size_t i = 0; i < before; ++i) {
      if (steps_[i].is_control) steps_[i].action(harness);
    }
    for (const auto& output : harness.take_outputs())
      EXPECT_TRUE(std::holds_alternative<WatermarkStatus>(output)) << "what was said is said again";
  }

  std::function<std::unique_ptr<Harness>(HarnessOptions)> make_;
  std::vector<Step> steps_;
};

}  // namespace weir
