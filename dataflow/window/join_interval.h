// How far the times of two records may be apart to be joined.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/time.h"

namespace weir {

// right - left lies in [lower, upper], or without the ends. Pure.
class JoinInterval {
 public:
  constexpr JoinInterval(Duration lower, Duration upper) : lower_(lower), upper_(upper) {}

  [[nodiscard]] constexpr JoinInterval without_lower() const {
    return {lower_ + Duration{1}, upper_};
  }
  [[nodiscard]] constexpr JoinInterval without_upper() const {
    return {lower_, upper_ - Duration{1}};
  }

  // The times, first and last, of records on the right that join with one of this time on the left, and the other way round.
  [[nodiscard]] constexpr std::pair<EventTime, EventTime> rights_of(EventTime left) const {
    return {left + lower_, left + upper_};
  }
  [[nodiscard]] constexpr std::pair<EventTime, EventTime> lefts_of(EventTime right) const {
    return {right - upper_, right - lower_};
  }

  // So long after its time a record of either side may find a partner; at least 0.
  [[nodiscard]] constexpr Duration longest_wait() const {
    return std::max(upper_, lower_ < -Duration::max() ? Duration::max() : -lower_);
  }

  [[nodiscard]] std::optional<std::string> mistake() const {
    if (lower_ <= upper_) return {};
    return "an interval join is between " + std::to_string(lower_.count()) + " and " +
           std::to_string(upper_.count()) + " ms: the lower bound must not be above the upper one";
  }

 private:
  Duration lower_;
  Duration upper_;
};

}  // namespace weir
