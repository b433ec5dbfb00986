// Windows of event time.
#pragma once

#include <compare>

#include "base/check.h"
#include "base/time.h"

namespace weir {

// The times [start, end).
struct Window {
  EventTime start;
  EventTime end;

  // The last time inside; when the watermark reaches it, the window is complete. Results carry it as their time.
  [[nodiscard]] constexpr EventTime max_time() const { return {end.ms - 1}; }
  friend constexpr auto operator<=>(const Window&, const Window&) = default;
};

// Start of the window of `size` that holds `time`, when windows begin at `offset` and every size after and before.
[[nodiscard]] constexpr EventTime window_start(EventTime time, Duration offset, Duration size) {
  const std::int64_t remainder = (time.ms - offset.count()) % size.count();
  return {time.ms - (remainder < 0 ? remainder + size.count() : remainder)};
}

// Windows that follow each other without gaps or overlap.
class Tumbling {
 public:
  // Requires size > 0 and |offset| < size.
  [[nodiscard]] static constexpr Tumbling of(Duration size, Duration offset = Duration{0}) {
    WEIR_CHECK(size > Duration{0});
    WEIR_CHECK(offset < size);
    WEIR_CHECK(-offset < size);
    return Tumbling(size, offset);
  }

  [[nodiscard]] constexpr Window window_of(EventTime time) const {
    const EventTime start = window_start(time, offset_, size_);
    return {start, start + size_};
  }
  [[nodiscard]] constexpr Duration size() const { return size_; }

 private:
  constexpr Tumbling(Duration size, Duration offset) : size_(size), offset_(offset) {}

  Duration size_;
  Duration offset_;
};

}  // namespace weir
