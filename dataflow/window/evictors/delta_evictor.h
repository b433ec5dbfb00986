// Keeps the elements near the last one.
#pragma once

#include <functional>
#include <utility>

#include "dataflow/window/evictor.h"

namespace weir {

// Elements whose delta(element, last) is the threshold or more go.
template <class Delta>
struct DeltaEvictor {
  double threshold = 0;
  Delta delta;
  Eviction when = Eviction::before;

  template <class T>
  void evict(WindowElements<T>& elements, const Window& /*window*/) const {
    if (elements.empty()) return;
    const T last = elements.values.back();
    elements.erase_if(
        [&](const T& value, EventTime) { return std::invoke(delta, value, last) >= threshold; });
  }
};

// delta(const T& element, const T& last) → a number.
template <class Delta>
[[nodiscard]] DeltaEvictor<Delta> delta_evictor(double threshold, Delta delta,
                                                Eviction when = Eviction::before) {
  return {threshold, std::move(delta), when};
}

}  // namespace weir
