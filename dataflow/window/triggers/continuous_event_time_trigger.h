// Fires at regular event times, for early results.
#pragma once

#include <optional>
#include <string>

#include "dataflow/window/trigger.h"

namespace weir {

// When the watermark reaches a multiple of the interval behind the first record since the last firing, at the window's end,
// and then for every record that still enters it. An interval that is not above 0 is a mistake of the plan.
struct ContinuousEventTimeTrigger {
  struct State {
    std::optional<EventTime> next;
    friend bool operator==(const State&, const State&) = default;
  };

  Duration interval{};

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime time, TriggerContext& context,
                           State& state) const {
    const EventTime end = context.window().max_time();
    if (end <= context.watermark()) return TriggerResult::fire;
    context.set_timer(end);
    if (!state.next) state.next = window_start(time, Duration{0}, interval) + interval;
    set_timer(context, state);
    return TriggerResult::continue_;
  }
  TriggerResult on_event_time(EventTime time, TriggerContext& context, State& state) const {
    if (time == context.window().max_time()) return TriggerResult::fire;
    if (state.next != time) return TriggerResult::continue_;
    state.next = time + interval;
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
  // Not where the window's end comes first; a window that grows then gets it with its next record.
  static void set_timer(TriggerContext& context, const State& state) {
    if (*state.next < context.window().max_time()) context.set_timer(*state.next);
  }
};

}  // namespace weir
