// Fires when a window is complete in event time.
#pragma once

#include "dataflow/window/trigger.h"

namespace weir {

// When the watermark reaches the window's last time, and then for every record that still enters it.
struct EventTimeTrigger {
  static constexpr bool other_timers = false;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& context) const {
    if (context.window().max_time() <= context.watermark()) return TriggerResult::fire;
    context.set_end_timer(TimeDomain::event);
    return TriggerResult::continue_;
  }
  TriggerResult on_event_time(EventTime /*time*/, TriggerContext& /*context*/) const {
    return TriggerResult::fire;
  }
};

}  // namespace weir
