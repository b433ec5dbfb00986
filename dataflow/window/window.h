// Windows: stretches of time.
#pragma once

#include <compare>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace weir {

// The times [start, end); the window that ends with time itself, at EventTime::max(), includes
// that.
struct Window {
  EventTime start;
  EventTime end;

  // The last time inside; when the watermark reaches it, the window is complete. Results carry it
  // as their time.
  [[nodiscard]] constexpr EventTime max_time() const {
    return end == EventTime::max() ? end : end - Duration{1};
  }
  friend constexpr auto operator<=>(const Window&, const Window&) = default;
};

// How far `time` is into its window of `size`, when windows begin at `offset` and every size after
// and before: in [0, size). Exact for all times: the difference of two remainders cannot overflow.
[[nodiscard]] constexpr Duration time_into_window(EventTime time, Duration offset, Duration size) {
  const auto remainder = [&size](std::int64_t ms) {
    const std::int64_t r = ms % size.count();
    return r < 0 ? r + size.count() : r;
  };
  return Duration{remainder(remainder(time.ms) - remainder(offset.count()))};
}

// Start of the window that holds `time`; the first window of time begins at EventTime::min().
[[nodiscard]] constexpr EventTime window_start(EventTime time, Duration offset, Duration size) {
  return time - time_into_window(time, offset, size);
}

}  // namespace weir
