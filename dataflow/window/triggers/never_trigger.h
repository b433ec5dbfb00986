// Fires never.
#pragma once

#include "dataflow/window/trigger.h"

namespace weir {

// What enters a window is dropped when the window is over.
struct NeverTrigger {
  static constexpr bool other_timers = false;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/,
                           TriggerContext& /*context*/) const {
    return TriggerResult::continue_;
  }
};

}  // namespace weir
