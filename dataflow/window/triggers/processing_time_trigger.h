// Fires when a window is over by the clock of the machine.
#pragma once

#include "dataflow/window/trigger.h"

namespace weir {

struct ProcessingTimeTrigger {
  static constexpr bool other_timers = false;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& context) const {
    context.set_end_timer(TimeDomain::processing);
    return TriggerResult::continue_;
  }
  TriggerResult on_processing_time(ProcessingTime /*time*/, TriggerContext& /*context*/) const {
    return TriggerResult::fire;
  }
};

}  // namespace weir
