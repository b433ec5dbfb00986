// Slices: the pieces of time that overlapping windows are made of.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/time.h"
#include "dataflow/window/cumulative.h"
#include "dataflow/window/sliding.h"
#include "dataflow/window/window.h"

namespace weir {

// The times [start, end); the one that ends with time itself includes EventTime::max(), where it may also begin. A window holds a
// slice whole or not at all.
struct Slice {
  EventTime start;
  EventTime end;
  friend constexpr auto operator<=>(const Slice&, const Slice&) = default;
};

namespace slice_detail {

// Exact where the difference is beyond the range of a Duration. Requires from <= to.
[[nodiscard]] constexpr bool is_nearer_than(EventTime from, EventTime to, Duration distance) {
  return static_cast<std::uint64_t>(to.ms) - static_cast<std::uint64_t>(from.ms) <
         static_cast<std::uint64_t>(distance.count());
}

}  // namespace slice_detail

// What the slices of windows of one kind are, and which windows hold them. Windows are in the order of (start, end), which is
// the order they fire in. Exact for all times, and the same windows as the assigner's. Pure.
//
// Of sliding windows: time is cut where a window begins and where one ends, so each slide is one slice or two ("paired windows";
// Krishnamurthy, Wu, Franklin, "On-the-Fly Sharing for Streamed Aggregation", 2006). With a slide above the size, one of the
// two is the gap, which no window holds.
class SlidingSlices {
 public:
  // Requires !windows.mistake().
  explicit constexpr SlidingSlices(const Sliding& windows)
      : size_(windows.size()),
        slide_(windows.slide()),
        offset_(windows.offset()),
        cut_(windows.size() % windows.slide()) {}

  [[nodiscard]] constexpr Slice slice_of(EventTime time) const {
    const Duration into = time_into_window(time, offset_, slide_);
    if (into < cut_) return {time - into, time + (cut_ - into)};
    return {time - (into - cut_), time + (slide_ - into)};
  }

  // Nothing if no window holds the slice.
  [[nodiscard]] constexpr std::optional<Window> last_window_with(const Slice& slice) const {
    const auto start = start_at_or_before(slice.start);
    if (!start || !slice_detail::is_nearer_than(*start, slice.start, size_)) return {};
    return window_at(*start);
  }
  [[nodiscard]] constexpr std::optional<Window> first_window_with(const Slice& slice) const {
    if (!last_window_with(slice)) return {};
    const bool near_the_first = slice.start.ms < EventTime::min().ms + size_.count();
    return window_at(
        start_at_or_after(near_the_first ? EventTime::min() : slice.start - size_ + Duration{1}));
  }
  [[nodiscard]] constexpr bool holds(const Window& window, const Slice& slice) const {
    return window.start <= slice.start &&
           slice_detail::is_nearer_than(window.start, slice.start, size_);
  }

  [[nodiscard]] constexpr std::optional<Window> window_after(const Window& window) const {
    if (window.start.ms > EventTime::max().ms - slide_.count()) return {};
    return window_at(window.start + slide_);
  }
  // The first that is not complete when the watermark is there.
  [[nodiscard]] constexpr std::optional<Window> first_window_beyond(EventTime watermark) const {
    if (watermark == EventTime::max()) return {};
    return window_at(start_at_or_after(watermark + Duration{2} - size_));
  }

 private:
  [[nodiscard]] constexpr std::optional<EventTime> start_at_or_before(EventTime time) const {
    const Duration into = time_into_window(time, offset_, slide_);
    if (time.ms < EventTime::min().ms + into.count()) return {};
    return time - into;
  }
  [[nodiscard]] constexpr std::optional<EventTime> start_at_or_after(EventTime time) const {
    const Duration into = time_into_window(time, offset_, slide_);
    if (into == Duration{0}) return time;
    const Duration on = slide_ - into;
    if (time.ms > EventTime::max().ms - on.count()) return {};
    return time + on;
  }
  [[nodiscard]] constexpr std::optional<Window> window_at(std::optional<EventTime> start) const {
    if (!start) return {};
    return Window{*start, *start + size_};
  }

  Duration size_;
  Duration slide_;
  Duration offset_;
  Duration cut_;  // how far into a slide an earlier window ends; 0 if at its end
};

// Of cumulative windows: a slice per step.
class CumulativeSlices {
 public:
  // Requires !windows.mistake().
  explicit constexpr CumulativeSlices(const Cumulative& windows)
      : size_(windows.size()), step_(windows.step()), offset_(windows.offset()) {}

  [[nodiscard]] constexpr Slice slice_of(EventTime time) const {
    const Duration into = time_into_window(time, offset_, step_);
    return {time - into, time + (step_ - into)};
  }
  // Where the windows that hold the time begin.
  [[nodiscard]] constexpr EventTime stretch_of(EventTime time) const {
    return window_start(time, offset_, size_);
  }

  [[nodiscard]] constexpr std::optional<Window> last_window_with(const Slice& slice) const {
    const Duration into = time_into_window(slice.start, offset_, size_);
    return Window{slice.start - into, slice.start + (size_ - into)};
  }
  [[nodiscard]] constexpr std::optional<Window> first_window_with(const Slice& slice) const {
    return window_ending_with(slice_of(slice.start));
  }
  [[nodiscard]] constexpr bool holds(const Window& window, const Slice& slice) const {
    return window.start <= slice.start && slice.end <= window.end &&
           stretch_of(slice.start) == window.start;
  }

  [[nodiscard]] constexpr std::optional<Window> window_after(const Window& window) const {
    const Window next = window_ending_with(slice_of(window.end));
    if (next <= window) return {};
    return next;
  }
  [[nodiscard]] constexpr std::optional<Window> first_window_beyond(EventTime watermark) const {
    if (watermark == EventTime::max()) return {};
    // The slice before the last time may end there as well.
    return window_ending_with(
        slice_of(std::min(watermark + Duration{1}, EventTime::max() - Duration{1})));
  }

 private:
  [[nodiscard]] constexpr Window window_ending_with(const Slice& slice) const {
    return {stretch_of(slice.start), slice.end};
  }

  Duration size_;
  Duration step_;
  Duration offset_;
};

// Which windows there are. It goes with slices into snapshots: slices do not tell of which windows they are, and one that is part of
// some windows is a gap of others.
struct WindowPattern {
  bool cumulative = false;
  Duration size{};
  Duration step{};    // of sliding windows, the slide
  Duration offset{};  // not below 0
  friend bool operator==(const WindowPattern&, const WindowPattern&) = default;
};
[[nodiscard]] constexpr WindowPattern pattern_of(const Sliding& windows) {
  return {false, windows.size(), windows.slide(),
          time_into_window({windows.offset().count()}, Duration{0}, windows.slide())};
}
[[nodiscard]] constexpr WindowPattern pattern_of(const Cumulative& windows) {
  return {true, windows.size(), windows.step(),
          time_into_window({windows.offset().count()}, Duration{0}, windows.size())};
}
[[nodiscard]] inline std::string to_string(const WindowPattern& pattern) {
  const auto ms = [](Duration duration) { return std::to_string(duration.count()) + " ms"; };
  return (pattern.cumulative ? "cumulative windows of " : "sliding windows of ") +
         ms(pattern.size) + " every " + ms(pattern.step) + ", offset " + ms(pattern.offset);
}

[[nodiscard]] constexpr SlidingSlices slices_of(const Sliding& windows) {
  return SlidingSlices(windows);
}
[[nodiscard]] constexpr CumulativeSlices slices_of(const Cumulative& windows) {
  return CumulativeSlices(windows);
}

}  // namespace weir
