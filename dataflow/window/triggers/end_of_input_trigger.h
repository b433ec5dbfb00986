// Fires when no record can follow any more.
#pragma once

#include "dataflow/window/trigger.h"

namespace weir {

// For global windows: once, when the input has ended. Other windows end before that.
struct EndOfInputTrigger {
  static constexpr bool other_timers = false;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& context) const {
    if (context.window().max_time() == EventTime::max()) context.set_end_timer(TimeDomain::event);
    return TriggerResult::continue_;
  }
  TriggerResult on_event_time(EventTime /*time*/, TriggerContext& /*context*/) const {
    return TriggerResult::fire_and_purge;
  }
};

}  // namespace weir
