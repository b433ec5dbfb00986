// Fires when records have moved far enough.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "dataflow/window/trigger.h"

namespace weir {

// With a record whose delta(last, record) is above the threshold; `last` is the record of the last such firing, at first the
// window's first. Cannot merge.
template <class T, class Delta>
struct DeltaTrigger {
  static constexpr bool other_timers = false;

  struct State {
    std::optional<T> last;
  };

  double threshold = 0;
  Delta delta;

  TriggerResult on_element(const T& value, EventTime /*time*/, TriggerContext& /*context*/,
                           State& state) const {
    if (state.last && !(std::invoke(delta, *state.last, value) > threshold))
      return TriggerResult::continue_;
    const bool is_first = !state.last;
    state.last = value;
    return is_first ? TriggerResult::continue_ : TriggerResult::fire;
  }
};

// delta(const T& last, const T& record) → a number.
template <class T, class Delta>
[[nodiscard]] DeltaTrigger<T, Delta> delta_trigger(double threshold, Delta delta) {
  return {threshold, std::move(delta)};
}

}  // namespace weir
