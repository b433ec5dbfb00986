// How a stream's watermarks follow the times of its records.
#pragma once

#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/time.h"
#include "dataflow/window/watermark_alignment.h"

namespace weir {

// What every strategy can say beside that.
struct WatermarkOptions {
  // A time so far beyond the clock of the machine is taken for a mistake: the record goes on with it, but it does not move the
  // watermark, and is counted. Else one broken record would close all windows. Not while the clock stands before the year 2000,
  // as in tests and on machines whose clock is not set.
  Duration max_ahead = std::chrono::hours{24};
  // After longer than that without a record the stream is idle: it holds nobody's watermark back until one comes. Counted from
  // the first look that found none; time in which the task had no room for output does not count, nor does time in which the source
  // waits for others. Where watermarks are per split (SourceOperator), so is this.
  std::optional<Duration> idleness = {};
  // The source of the stream waits for those of others.
  std::optional<WatermarkAlignment> alignment = {};
};

// Base of strategies. Self is the strategy.
template <class Self>
class WatermarkSettings {
 public:
  // A timeout that is not above 0 is a mistake of the plan.
  [[nodiscard]] Self with_idleness(Duration timeout) const {
    return with([timeout](WatermarkOptions& options) { options.idleness = timeout; });
  }
  // Duration::max(): no bound. One below 0 is a mistake of the plan.
  [[nodiscard]] Self with_max_ahead(Duration max_ahead) const {
    return with([max_ahead](WatermarkOptions& options) { options.max_ahead = max_ahead; });
  }
  // Sources of all streams of the job with the same group do not get ahead of the slowest of them by more than `max_drift`, by their
  // watermarks, and a batch or so: so what is behind them does not have to keep what the others are not there for yet. Each subtask
  // says at every update interval how far it is, and learns how far it may go; while it is beyond that, its source is not read from. So
  // the group as a whole comes at most the drift further in an interval: with old input, that is how fast it is read.
  // A source that has given no watermark yet holds the others; one that is idle or has ended does not. A subtask waits as a whole:
  // the splits that it reads at a time are not held against each other.
  //
  // It must be chained to its source. An empty group, a drift below 0 and an interval that is not above 0 are mistakes of the plan.
  [[nodiscard]] Self with_alignment(std::string group, Duration max_drift,
                                    Duration update_interval = std::chrono::seconds{1}) const {
    return with([&](WatermarkOptions& options) {
      options.alignment = WatermarkAlignment{std::move(group), max_drift, update_interval};
    });
  }
  [[nodiscard]] const WatermarkOptions& options() const { return options_; }

  // What is wrong, for people.
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (options_.idleness && *options_.idleness <= Duration{0}) {
      return "with_idleness(…) has " + std::to_string(options_.idleness->count()) +
             " ms: it must be above 0";
    }
    if (options_.max_ahead < Duration{0}) {
      return "with_max_ahead(…) has " + std::to_string(options_.max_ahead.count()) +
             " ms: it must not be below 0";
    }
    if (options_.alignment) {
      if (auto mistake = options_.alignment->mistake()) return mistake;
    }
    return static_cast<const Self&>(*this).own_mistake();
  }

 private:
  template <class Change>
  [[nodiscard]] Self with(Change change) const {
    Self copy = static_cast<const Self&>(*this);
    change(static_cast<WatermarkSettings&>(copy).options_);
    return copy;
  }

  WatermarkOptions options_;
};

// Follows the largest time: the pure core of monotonous() and bounded().
class BoundedWatermarks {
 public:
  explicit constexpr BoundedWatermarks(Duration out_of_orderness)
      : out_of_orderness_(out_of_orderness) {}

  template <class T>
  constexpr void on_record(const T& /*value*/, EventTime time) {
    on_time(time);
  }
  constexpr void on_time(EventTime time) {
    if (time > largest_) largest_ = time;
  }
  // EventTime::min() before the first record.
  [[nodiscard]] constexpr EventTime current() const {
    if (largest_ == EventTime::min()) return EventTime::min();
    return largest_ - out_of_orderness_ - Duration{1};
  }

 private:
  Duration out_of_orderness_;
  EventTime largest_ = EventTime::min();
};

// The watermark trails the largest time seen by the out-of-orderness and one millisecond.
class WatermarkStrategy : public WatermarkSettings<WatermarkStrategy> {
 public:
  explicit WatermarkStrategy(Duration out_of_orderness) : out_of_orderness_(out_of_orderness) {}

  [[nodiscard]] BoundedWatermarks generator() const { return BoundedWatermarks(out_of_orderness_); }
  [[nodiscard]] std::optional<std::string> own_mistake() const {
    if (out_of_orderness_ >= Duration{0}) return {};
    return "bounded(…) has " + std::to_string(out_of_orderness_.count()) +
           " ms of out-of-orderness: it must not be below 0";
  }

 private:
  Duration out_of_orderness_;
};

// For records in the order of their times.
[[nodiscard]] inline WatermarkStrategy monotonous() {
  return WatermarkStrategy(Duration{0});
}

// For records that arrive up to `out_of_orderness` after one with a later time. A duration below 0 is
// a mistake of the plan.
[[nodiscard]] inline WatermarkStrategy bounded(Duration out_of_orderness) {
  return WatermarkStrategy(out_of_orderness);
}

// The watermarks that a generator of the user's makes, one copy per subtask, or per split of the source (SourceOperator):
//   void on_record(const T&, EventTime)    for each record
//   EventTime current() const              the watermark now; one that is not beyond the last is not sent
template <class Generator>
class GeneratedWatermarks : public WatermarkSettings<GeneratedWatermarks<Generator>> {
 public:
  explicit GeneratedWatermarks(Generator generator) : generator_(std::move(generator)) {}

  [[nodiscard]] Generator generator() const { return generator_; }
  [[nodiscard]] std::optional<std::string> own_mistake() const { return {}; }

 private:
  Generator generator_;
};
template <class Generator>
[[nodiscard]] GeneratedWatermarks<Generator> generated(Generator generator) {
  return GeneratedWatermarks<Generator>(std::move(generator));
}

// Records that carry watermarks themselves: f(const T&, EventTime) → std::optional<EventTime>.
template <class F>
class PunctuatedGenerator {
 public:
  explicit PunctuatedGenerator(F f) : f_(std::move(f)) {}

  template <class T>
  void on_record(const T& value, EventTime time) {
    const std::optional<EventTime> watermark = f_(value, time);
    if (watermark && *watermark > current_) current_ = *watermark;
  }
  [[nodiscard]] EventTime current() const { return current_; }

 private:
  F f_;
  EventTime current_ = EventTime::min();
};
template <class F>
[[nodiscard]] GeneratedWatermarks<PunctuatedGenerator<F>> punctuated(F f) {
  return generated(PunctuatedGenerator<F>(std::move(f)));
}

// What event_time(…) takes for records of type T.
template <class S, class T>
concept WatermarksOf = requires(const S& strategy, const T& value, EventTime time) {
  { strategy.options() } -> std::same_as<const WatermarkOptions&>;
  { strategy.mistake() } -> std::same_as<std::optional<std::string>>;
  strategy.generator().on_record(value, time);
  { strategy.generator().current() } -> std::same_as<EventTime>;
};

}  // namespace weir
