// Windows that follow each other without gaps or overlap.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataflow/window/window_assigner.h"

namespace weir {

class Tumbling : public InEitherTime<Tumbling> {
 public:
  static constexpr bool merging = false;

  // A size that is not above 0, or an |offset| that is not below it, is a mistake of the plan.
  [[nodiscard]] static constexpr Tumbling of(Duration size, Duration offset = Duration{0}) {
    return Tumbling(size, offset);
  }

  // Requires !mistake(). The first and the last window of time are cut short at EventTime::min() and max().
  [[nodiscard]] constexpr Window window_of(EventTime time) const {
    const Duration into = time_into_window(time, offset_, size_);
    return {time - into, time + (size_ - into)};
  }
  [[nodiscard]] constexpr Duration size() const { return size_; }

  template <class T>
  void assign(const T& /*value*/, EventTime time, std::vector<Window>& windows) const {
    windows.push_back(window_of(time));
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (auto wrong = window_detail::length_mistake("the size of a " + name(), size_)) return wrong;
    return window_detail::offset_mistake(name(), offset_, size_);
  }
  [[nodiscard]] std::string name() const { return "tumbling window"; }

 private:
  constexpr Tumbling(Duration size, Duration offset) : size_(size), offset_(offset) {}

  Duration size_;
  Duration offset_;
};

}  // namespace weir
