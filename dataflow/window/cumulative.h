// Windows that begin together and end one after the other: sums since midnight, for every hour of the day.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/window/window_assigner.h"

namespace weir {

// In every stretch of `size` a window ends each `step`; all of them begin where the stretch does.
class Cumulative : public InEitherTime<Cumulative> {
 public:
  static constexpr bool merging = false;

  // A step that is not above 0, a size that is no multiple of it, or an |offset| that is not below the size, is a mistake of
  // the plan.
  [[nodiscard]] static constexpr Cumulative of(Duration size, Duration step,
                                               Duration offset = Duration{0}) {
    return Cumulative(size, step, offset);
  }

  [[nodiscard]] constexpr Duration size() const { return size_; }
  [[nodiscard]] constexpr Duration step() const { return step_; }
  [[nodiscard]] constexpr Duration offset() const { return offset_; }

  // Requires !mistake(). Longest first. Those that would end behind EventTime::max() are one.
  template <class T>
  void assign(const T& /*value*/, EventTime time, std::vector<Window>& windows) const {
    const Duration into = time_into_window(time, offset_, size_);
    const EventTime start = time - into;
    for (Duration length = size_; length > into; length -= step_) {
      const Window window{start, time + (length - into)};
      if (length == size_ || window != windows.back()) windows.push_back(window);
    }
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (auto wrong = window_detail::length_mistake("the step of a " + name(), step_)) return wrong;
    if (auto wrong = window_detail::length_mistake("the size of a " + name(), size_)) return wrong;
    if (size_ % step_ != Duration{0}) {
      return "the size of a " + name() + " is " + std::to_string(size_.count()) +
             " ms: it must be a multiple of its step, " + std::to_string(step_.count()) + " ms";
    }
    return window_detail::offset_mistake(name(), offset_, size_);
  }
  [[nodiscard]] std::string name() const { return "cumulative window"; }

 private:
  constexpr Cumulative(Duration size, Duration step, Duration offset)
      : size_(size), step_(step), offset_(offset) {}

  Duration size_;
  Duration step_;
  Duration offset_;
};

}  // namespace weir
