// Fires what another trigger has let wait for too long.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "dataflow/window/trigger.h"

namespace weir {

struct TimeoutOptions {
  bool reset_on_new_record =
      false;  // the time is counted from the last record, not from the first since a firing
  bool clear_on_timeout = true;  // the nested trigger's state begins anew
};

// As the nested trigger; but what has not fired for `timeout` of processing time after its first record does. A timeout that is
// not above 0 is a mistake of the plan.
template <class Nested>
struct TimeoutTrigger {
  struct State {
    TriggerState<Nested> nested{};
    std::optional<ProcessingTime> deadline{};
    friend bool operator==(const State&, const State&) = default;
  };

  Nested nested;
  Duration timeout{};
  TimeoutOptions options{};

  template <class T>
  requires TriggerOf<Nested, T> TriggerResult on_element(const T& value, EventTime time,
                                                         TriggerContext& context, State& state) {
    const TriggerResult result =
        trigger_detail::on_element(nested, value, time, context, state.nested);
    if (fires(result)) {
      cancel(context, state);
    } else if (!state.deadline || options.reset_on_new_record) {
      cancel(context, state);
      state.deadline = context.processing_time() + timeout;
      context.set_timer(*state.deadline);
    }
    return result;
  }
  TriggerResult on_event_time(EventTime time, TriggerContext& context, State& state) {
    const TriggerResult result = trigger_detail::on_event_time(nested, time, context, state.nested);
    if (fires(result)) cancel(context, state);
    return result;
  }
  TriggerResult on_processing_time(ProcessingTime time, TriggerContext& context, State& state) {
    const TriggerResult result =
        trigger_detail::on_processing_time(nested, time, context, state.nested);
    if (state.deadline != time) {
      if (fires(result)) cancel(context, state);
      return result;
    }
    state.deadline.reset();
    if (options.clear_on_timeout) state.nested = {};
    return purges(result) ? TriggerResult::fire_and_purge : TriggerResult::fire;
  }
  void merge(State& into, const State& other) requires can_merge<Nested> {
    trigger_detail::merge(nested, into.nested, other.nested);
    if (other.deadline && (!into.deadline || *other.deadline < *into.deadline))
      into.deadline = other.deadline;
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (auto wrong = window_detail::length_mistake("the timeout of a trigger", timeout))
      return wrong;
    if constexpr (requires { nested.mistake(); })
      return nested.mistake();
    else
      return {};
  }

 private:
  void cancel(TriggerContext& context, State& state) {
    if (state.deadline) context.cancel_timer(*state.deadline);
    state.deadline.reset();
  }
};

template <class Nested>
[[nodiscard]] TimeoutTrigger<Nested> timeout(Nested nested, Duration timeout,
                                             TimeoutOptions options = {}) {
  return {std::move(nested), timeout, options};
}

}  // namespace weir
