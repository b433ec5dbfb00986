// One window for all time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dataflow/window/window_assigner.h"

namespace weir {

// Never ends and never fires by itself: it needs a trigger. Nothing is late for it. Its results have the time
// EventTime::max().
struct Global {
  static constexpr bool merging = false;
  static constexpr bool needs_time = false;  // records may have none
  static constexpr bool needs_trigger = true;

  template <class T>
  void assign(const T& /*value*/, EventTime /*time*/, std::vector<Window>& windows) const {
    windows.push_back({EventTime::min(), EventTime::max()});
  }
  [[nodiscard]] TimeDomain domain() const { return TimeDomain::event; }
  [[nodiscard]] std::optional<std::string> mistake() const { return {}; }
  [[nodiscard]] std::string name() const { return "global window"; }
};

}  // namespace weir
