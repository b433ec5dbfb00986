// Fires when a window has had so many records.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataflow/window/trigger.h"

namespace weir {

// With every `count`th record of a window. A count below 1 is a mistake of the plan.
struct CountTrigger {
  static constexpr bool other_timers = false;

  struct State {
    std::int64_t records = 0;  // since the last firing
    friend bool operator==(const State&, const State&) = default;
  };

  std::int64_t count = 1;

  template <class T>
  TriggerResult on_element(const T& /*value*/, EventTime /*time*/, TriggerContext& /*context*/,
                           State& state) const {
    if (++state.records < count) return TriggerResult::continue_;
    state.records = 0;
    return TriggerResult::fire;
  }
  void merge(State& into, const State& other) const { into.records += other.records; }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (count >= 1) return {};
    return "the count of a count trigger is " + std::to_string(count) + ": it must be above 0";
  }
};

}  // namespace weir
