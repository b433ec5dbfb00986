// Windows: stretches of time.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

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

// The first of times[begin … end) that is not in [start, end) of the window, or `end`. Blocks are
// looked at without a branch per time: nearly always all times of a batch are in one window.
[[nodiscard]] inline std::size_t end_of_run(std::span<const EventTime> times, std::size_t begin,
                                            std::size_t end, const Window& window) {
  constexpr std::size_t block = 64;
  // A time outside makes one of its two differences negative, also if they overflow.
  const auto since = [](EventTime from, EventTime to) {
    return static_cast<std::uint64_t>(to.ms) - static_cast<std::uint64_t>(from.ms);
  };
  const EventTime* const at = times.data();
  const EventTime last = window.end - Duration{1};
  for (; begin + block <= end; begin += block) {
    std::uint64_t differences = 0;
    for (std::size_t i = begin; i < begin + block; ++i)
      differences |= since(window.start, at[i]) | since(at[i], last);
    if (static_cast<std::int64_t>(differences) < 0) break;
  }
  while (begin < end && at[begin] >= window.start && at[begin] < window.end) ++begin;
  return begin;
}

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
