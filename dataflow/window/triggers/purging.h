// A trigger that leaves nothing behind.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "dataflow/window/trigger.h"

namespace weir {

// As the nested trigger; where that fires, the window's contents go as well.
template <class Nested>
struct Purging {
  using State = TriggerState<Nested>;
  static constexpr bool other_timers = sets_other_timers<Nested>();

  Nested nested;

  template <class T>
  requires TriggerOf<Nested, T> TriggerResult on_element(const T& value, EventTime time,
                                                         TriggerContext& context, State& state) {
    return purged(trigger_detail::on_element(nested, value, time, context, state));
  }
  TriggerResult on_event_time(EventTime time, TriggerContext& context, State& state) {
    return purged(trigger_detail::on_event_time(nested, time, context, state));
  }
  TriggerResult on_processing_time(ProcessingTime time, TriggerContext& context, State& state) {
    return purged(trigger_detail::on_processing_time(nested, time, context, state));
  }
  void merge(State& into, const State& other) requires can_merge<Nested> {
    trigger_detail::merge(nested, into, other);
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if constexpr (requires { nested.mistake(); })
      return nested.mistake();
    else
      return {};
  }

 private:
  static TriggerResult purged(TriggerResult result) {
    return fires(result) ? TriggerResult::fire_and_purge : result;
  }
};

template <class Nested>
[[nodiscard]] Purging<Nested> purging(Nested nested) {
  return {std::move(nested)};
}

}  // namespace weir
