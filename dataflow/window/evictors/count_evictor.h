// Keeps the last elements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataflow/window/evictor.h"

namespace weir {

// All but the last `count` go. A count below 1 is a mistake of the plan.
struct CountEvictor {
  std::int64_t count = 1;
  Eviction when = Eviction::before;

  template <class T>
  void evict(WindowElements<T>& elements, const Window& /*window*/) const {
    const auto kept = static_cast<std::size_t>(count);
    if (elements.size() > kept) elements.erase_front(elements.size() - kept);
  }
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (count >= 1) return {};
    return "the count of a count evictor is " + std::to_string(count) + ": it must be above 0";
  }
};

}  // namespace weir
