// The trigger of windows that were given none.
#pragma once

#include "dataflow/window/trigger.h"

namespace weir {

// Fires at the end of the window, in the window's own time: EventTimeTrigger or ProcessingTimeTrigger.
struct DefaultTrigger {
  static constexpr bool other_timers = false;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& context) const {
    if (context.domain() == TimeDomain::event &&
        context.window().max_time() <= context.watermark()) {
      return TriggerResult::fire;
    }
    context.set_end_timer(context.domain());
    return TriggerResult::continue_;
  }
  TriggerResult on_event_time(EventTime /*time*/, TriggerContext& /*context*/) const {
    return TriggerResult::fire;
  }
  TriggerResult on_processing_time(ProcessingTime /*time*/, TriggerContext& /*context*/) const {
    return TriggerResult::fire;
  }
};

}  // namespace weir
