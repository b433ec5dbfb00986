// How much later than its time a record may arrive.
#pragma once

#include "base/check.h"
#include "base/time.h"

namespace weir {

// The watermark trails the largest time seen by the out-of-orderness and one millisecond.
struct WatermarkStrategy {
  Duration out_of_orderness{0};
};

// For records in the order of their times.
[[nodiscard]] constexpr WatermarkStrategy monotonous() {
  return {};
}

// For records that arrive up to `out_of_orderness` after one with a later time. A duration below 0 is
// a mistake of the plan.
[[nodiscard]] constexpr WatermarkStrategy bounded(Duration out_of_orderness) {
  return {out_of_orderness};
}

// Follows the largest time: the pure core of the operator that generates watermarks.
class BoundedWatermarks {
 public:
  explicit constexpr BoundedWatermarks(WatermarkStrategy strategy) : strategy_(strategy) {}

  constexpr void on_time(EventTime time) {
    if (time > largest_) largest_ = time;
  }
  // EventTime::min() before the first record.
  [[nodiscard]] constexpr EventTime current() const {
    if (largest_ == EventTime::min()) return EventTime::min();
    return largest_ - strategy_.out_of_orderness - Duration{1};
  }

 private:
  WatermarkStrategy strategy_;
  EventTime largest_ = EventTime::min();
};

}  // namespace weir
