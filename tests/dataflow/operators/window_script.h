// Says what goes into a windowed step and what must come out of it, step by step; and runs that once as it is, and once for every step
// with a snapshot before it that another harness goes on from.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataflow/harness.h"
#include "tests/dataflow/operators/snapshot_groups.h"

namespace weir {

struct Item {
  std::string key;
  std::int64_t value = 1;
  friend bool operator==(const Item&, const Item&) = default;
};
using Sum64 = Windowed<std::string, std::int64_t>;
using Texts = std::vector<std::string>;

// "key value [start,end)", "key value @MAX" for a global window.
[[nodiscard]] inline std::string text_of(const Sum64& sum) {
  const std::string what = sum.key + " " + std::to_string(sum.value);
  if (sum.window_end == EventTime::max()) return what + " @MAX";
  return what + " [" + std::to_string(sum.window_start.ms) + "," +
         std::to_string(sum.window_end.ms) + ")";
}
[[nodiscard]] inline std::string text_of(const std::string& text) {
  return text;
}

template <class Out>
class WindowScript {
 public:
  using Harness = StreamHarness<Item, Out>;
  using Describe = std::function<Stream<Out>(Stream<Item>)>;

  explicit WindowScript(Describe describe) : describe_(std::move(describe)) {}
  // The piece asks for its late records: they come out as "LATE key value".
  WindowScript& with_late() {
    late_ = true;
    return *this;
  }
  WindowScript& push(const std::string& key, std::int64_t value, std::int64_t ms) {
    return add({.item = Item{key, value}, .time = EventTime{ms}});
  }
  // Without event time.
  WindowScript& push(const std::string& key, std::int64_t value = 1) {
    return add({.item = Item{key, value}});
  }
  WindowScript& watermark(std::int64_t ms) { return watermark(EventTime{ms}); }
  WindowScript& watermark(EventTime time) { return add({.watermark = time}); }
  WindowScript& processing_time(std::int64_t ms) {
    return add({.processing_time = ProcessingTime{ms}});
  }
  // What must have come out since the last expectation, in any order; lateness is counted apart.
  WindowScript& expect(Texts texts) {
    std::ranges::sort(texts);
    return add({.expected = std::move(texts)});
  }
  // How many records must have been dropped as late so far. Counted by the plain run only.
  WindowScript& expect_dropped(std::uint64_t records) { return add({.dropped = records}); }
  // That no key has state any more.
  WindowScript& expect_no_state() { return add({.no_state = true}); }

  void run() {
    run_restored_before(steps_.size());
    for (std::size_t i = 1; i < steps_.size() && !testing::Test::HasFailure(); ++i)
      run_restored_before(i);
  }

 private:
  struct Step {
    std::optional<Item> item{};
    std::optional<EventTime> time{};
    std::optional<EventTime> watermark{};
    std::optional<ProcessingTime> processing_time{};
    std::optional<Texts> expected{};
    std::optional<std::uint64_t> dropped{};
    bool no_state = false;
  };

  WindowScript& add(Step step) {
    steps_.push_back(std::move(step));
    return *this;
  }

  void run_restored_before(std::size_t restored) {
    SCOPED_TRACE(restored == steps_.size() ? "without restore"
                                           : "restored before step " + std::to_string(restored));
    auto harness = std::make_unique<Harness>(describe_);
    Texts seen;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (i == restored) {
        take(*harness, seen);
        auto next = std::make_unique<Harness>(
            describe_, HarnessOptions{.processing_time = now_, .restored = harness->snapshot()});
        harness = std::move(next);
      }
      const Step& step = steps_[i];
      if (step.item && step.time) harness->push(*step.item, *step.time);
      if (step.item && !step.time) harness->push(*step.item);
      if (step.watermark) harness->watermark(*step.watermark);
      if (step.processing_time) harness->set_processing_time(now_ = *step.processing_time);
      take(*harness, seen);
      ASSERT_TRUE(harness->status())
          << "at step " << i << ": " << harness->status().error().message;
      if (step.expected) {
        std::ranges::sort(seen);
        ASSERT_EQ(seen, *step.expected) << "at step " << i;
        seen.clear();
      }
      if (step.dropped && restored == steps_.size()) {
        ASSERT_EQ(harness->late_records_dropped(), *step.dropped) << "at step " << i;
      }
      if (step.no_state) expect_no_state(harness->snapshot());
    }
    now_ = {0};
  }

  void take(Harness& harness, Texts& seen) {
    for (const auto& output : harness.take_outputs()) {
      const auto* record = std::get_if<Record<Out>>(&output);
      if (record == nullptr) continue;
      seen.push_back(text_of(record->value));
      if constexpr (std::is_same_v<Out, Sum64>) {
        const Window window{record->value.window_start, record->value.window_end};
        EXPECT_EQ(record->time, window.max_time());
      }
    }
    if (!late_) return;
    for (const Item& item : harness.template take_late<Item>())
      seen.push_back("LATE " + item.key + " " + std::to_string(item.value));
  }

  static void expect_no_state(const JobSnapshot& snapshot) {
    for_each_group(snapshot, [](const StateDescriptor& state, const Bytes& bytes) {
      EXPECT_TRUE(bytes.empty()) << "'" << state.name << "' has entries";
    });
  }

  Describe describe_;
  bool late_ = false;
  std::vector<Step> steps_;
  ProcessingTime now_{0};
};

// windowed(KeyedStream) → the sums of a windowed stream, with the key and value of an Item.
template <class Windowed>
[[nodiscard]] WindowScript<Sum64> window_script(Windowed windowed) {
  return WindowScript<Sum64>([windowed](Stream<Item> in) {
    return windowed(in.key_by(&Item::key)).sum("sum", &Item::value);
  });
}
// The same, with late records as an output.
template <class Windowed>
[[nodiscard]] WindowScript<Sum64> window_script_with_late(Windowed windowed) {
  return WindowScript<Sum64>([windowed](Stream<Item> in) {
           auto sums = windowed(in.key_by(&Item::key)).sum("sum", &Item::value);
           (void)sums.late();
           return sums;
         })
      .with_late();
}

}  // namespace weir
