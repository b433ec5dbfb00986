// What leaves a window when it fires.
#pragma once

#include <concepts>
#include <cstdint>

#include "dataflow/window/window.h"
#include "dataflow/window/window_elements.h"

namespace weir {

// Before the window's function sees the elements, or after: then they are gone for the next firing.
enum class Eviction : std::uint8_t { before, after };

// An evictor is a value that removes elements of a window that fires:
//   void evict(WindowElements<T>&, const Window&) const;
//   Eviction when;                                        // a member; without, before
//   std::optional<std::string> mistake() const;           // what is wrong with its settings; may be left out
// What it removes is gone for good. A window with an evictor keeps all its elements, also for an aggregate.
template <class Evictor, class T>
concept EvictorOf = std::copy_constructible<Evictor> &&
    requires(const Evictor& evictor, WindowElements<T>& elements, const Window& window) {
  evictor.evict(elements, window);
};

// Of windows without one.
struct NoEvictor {
  template <class T>
  void evict(WindowElements<T>& /*elements*/, const Window& /*window*/) const {}
};

template <class Evictor>
[[nodiscard]] Eviction eviction_of(const Evictor& evictor) {
  if constexpr (requires { evictor.when; })
    return evictor.when;
  else
    return Eviction::before;
}

}  // namespace weir
