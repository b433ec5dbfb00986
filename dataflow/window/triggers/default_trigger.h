// The trigger of windows that were given none.
#pragma once

#include "dataflow/window/trigger.h"

namespace weir {

// Fires at the end of the window, in the window's own time: EventTimeTrigger or ProcessingTimeTrigger.
struct DefaultTrigger {
  static constexpr bool other_timers = false;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& context) const {
    const EventTime end = context.window().max_time();
    if (context.domain() == TimeDomain::processing) {
      context.set_timer(ProcessingTime{end.ms});
      return TriggerResult::continue_;
    }
    if (end <= context.watermark()) return TriggerResult::fire;
    context.set_timer(end);
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
