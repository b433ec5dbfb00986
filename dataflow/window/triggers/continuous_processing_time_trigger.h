// Fires at regular times of the machine's clock, for early results.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "dataflow/window/trigger.h"

namespace weir {

// At each multiple of the interval behind the arrival of a window's first record, and at the end of a window of processing
// time; the end of one of event time does not fire. An interval that is not above 0 is a mistake of the plan.
struct ContinuousProcessingTimeTrigger {
  struct State {
    std::optional<ProcessingTime> next;
    friend bool operator==(const State&, const State&) = default;
  };

  Duration interval{};

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& context,
                           State& state) const {
    if (context.domain() == TimeDomain::processing) context.set_end_timer(TimeDomain::processing);
    if (!state.next) state.next = next_after(context.processing_time());
    set_timer(context, state);
    return TriggerResult::continue_;
  }
  TriggerResult on_processing_time(ProcessingTime time, TriggerContext& context,
                                   State& state) const {
    if (is_end(time, context)) return TriggerResult::fire;
    if (state.next != time) return TriggerResult::continue_;
    state.next = next_after(std::max(time, context.processing_time()));
    set_timer(context, state);
    return TriggerResult::fire;
  }
  void merge(State& into, const State& other) const {
    if (other.next && (!into.next || *other.next < *into.next)) into.next = other.next;
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    return window_detail::length_mistake("the interval of a continuous trigger", interval);
  }

 private:
  static bool is_end(ProcessingTime time, const TriggerContext& context) {
    return context.domain() == TimeDomain::processing && time.ms == context.window().max_time().ms;
  }
  // Several that have passed while nothing ran fire once.
  [[nodiscard]] ProcessingTime next_after(ProcessingTime now) const {
    return now + (interval - time_into_window(EventTime{now.ms}, Duration{0}, interval));
  }
  // Not where the window's end comes first; a window that grows then gets it with its next record.
  static void set_timer(TriggerContext& context, const State& state) {
    if (context.domain() == TimeDomain::event || state.next->ms < context.window().max_time().ms) {
      context.set_timer(*state.next);
    }
  }
};

}  // namespace weir
