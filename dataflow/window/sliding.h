// Windows of one size that begin more often than they end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataflow/window/window_assigner.h"

namespace weir {

// A window begins every `slide`. With a slide below the size they overlap, with one above it there are gaps, whose records
// belong to no window and are not late.
class Sliding : public InEitherTime<Sliding> {
 public:
  static constexpr bool merging = false;

  // A size or slide that is not above 0, or an |offset| that is not below the slide, is a mistake of the plan.
  [[nodiscard]] static constexpr Sliding of(Duration size, Duration slide,
                                            Duration offset = Duration{0}) {
    return Sliding(size, slide, offset);
  }

  [[nodiscard]] constexpr Duration size() const { return size_; }
  [[nodiscard]] constexpr Duration slide() const { return slide_; }
  [[nodiscard]] constexpr Duration offset() const { return offset_; }

  // Requires !mistake(). Newest start first. Windows that would begin before EventTime::min() do not exist.
  template <class T>
  void assign(const T& /*value*/, EventTime time, std::vector<Window>& windows) const {
    Duration into = time_into_window(time, offset_, slide_);
    for (; into < size_; into += slide_) {
      const EventTime start = time - into;
      if (time.ms < EventTime::min().ms + into.count()) return;
      windows.push_back({start, start + size_});
    }
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (auto wrong = window_detail::length_mistake("the size of a " + name(), size_)) return wrong;
    if (auto wrong = window_detail::length_mistake("the slide of a " + name(), slide_))
      return wrong;
    return window_detail::offset_mistake(name(), offset_, slide_);
  }
  [[nodiscard]] std::string name() const { return "sliding window"; }

 private:
  constexpr Sliding(Duration size, Duration slide, Duration offset)
      : size_(size), slide_(slide), offset_(offset) {}

  Duration size_;
  Duration slide_;
  Duration offset_;
};

}  // namespace weir
