// Keeps the newest elements.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "dataflow/batch.h"
#include "dataflow/window/evictor.h"
#include "dataflow/window/window_assigner.h"

namespace weir {

// Elements that are `keep` older than the newest, or more, go; none do where elements have no event time. A duration that is not
// above 0 is a mistake of the plan.
struct TimeEvictor {
  Duration keep{};
  Eviction when = Eviction::before;

  template <class T>
  void evict(WindowElements<T>& elements, const Window& /*window*/) const {
    if (elements.empty() || elements.times.front() == no_timestamp) return;
    const EventTime newest = *std::max_element(elements.times.begin(), elements.times.end());
    const EventTime gone = newest - keep;
    elements.erase_if([gone](const T&, EventTime time) { return time <= gone; });
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    return window_detail::length_mistake("the duration of a time evictor", keep);
  }
};

}  // namespace weir
