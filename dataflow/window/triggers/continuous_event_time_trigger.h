// Fires at regular event times, for early results.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "dataflow/window/trigger.h"

namespace weir {

// When the watermark reaches a multiple of the interval, counted from the window's first record, at the window's end, and then
// for every record that still enters it. An interval that is not above 0 is a mistake of the plan.
struct ContinuousEventTimeTrigger {
  struct State {
    std::optional<EventTime> next;
    friend bool operator==(const State&, const State&) = default;
  };

  Duration interval{};

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime time, TriggerContext& context,
                           State& state) const {
    if (context.window().max_time() <= context.watermark()) return TriggerResult::fire;
    context.set_end_timer(TimeDomain::event);
    if (!state.next) state.next = next_after(time, context);
    set_timer(context, state);
    return TriggerResult::continue_;
  }
  TriggerResult on_event_time(EventTime time, TriggerContext& context, State& state) const {
    if (time == context.window().max_time()) return TriggerResult::fire;
    if (state.next != time) return TriggerResult::continue_;
    state.next = next_after(time, context);
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
  // A watermark that passes several multiples fires once: a global window ends at the end of time.
  [[nodiscard]] EventTime next_after(EventTime time, const TriggerContext& context) const {
    const EventTime passed = std::max(time, context.watermark());
    return passed + (interval - time_into_window(passed, Duration{0}, interval));
  }
  // Not where the window's end comes first; a window that grows then gets it with its next record.
  static void set_timer(TriggerContext& context, const State& state) {
    if (*state.next < context.window().max_time()) context.set_timer(*state.next);
  }
};

}  // namespace weir
