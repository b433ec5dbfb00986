// What a window keeps of its records, and what its function gets of that.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "base/time.h"
#include "dataflow/api/aggregates.h"
#include "dataflow/window/evictor.h"
#include "dataflow/window/window.h"
#include "dataflow/window/window_elements.h"

namespace weir {

// How a firing ended, and whether the window still has contents then.
enum class Fired : std::uint8_t {
  stopped,  // is not done: it goes on by the same call, with `resumes`
  kept,
  emptied,
};

// Each has a Kept, which begins as Kept{}; add and merge; and fire, which calls use(what the function gets), unless nothing is left
// for it; use returns whether it is done.

// Folds every record at once.
template <class T, class Agg>
class AggregateContents {
 public:
  using Kept = typename Agg::Accumulator;
  using Given = AggregateResult<Agg>;

  explicit AggregateContents(Agg aggregate) : aggregate_(std::move(aggregate)) {}

  void add(Kept& kept, const T& value, EventTime /*time*/) { aggregate_.add(kept, value); }
  void merge(Kept& into, Kept&& other) { aggregate_.merge(into, other); }
  template <class Use>
  Fired fire(Kept& kept, const Window& /*window*/, bool /*resumes*/, Use use) {
    return use(aggregate_.result(kept)) ? Fired::kept : Fired::stopped;
  }

 private:
  Agg aggregate_;
};

// Keeps all elements, for a function that wants them.
template <class T, class Evictor>
class ElementContents {
 public:
  using Kept = WindowElements<T>;
  using Given = std::span<const T>;

  explicit ElementContents(Evictor evictor) : evictor_(std::move(evictor)) {}

  void add(Kept& kept, const T& value, EventTime time) { kept.add(value, time); }
  void merge(Kept& into, Kept&& other) { into.append(std::move(other)); }
  template <class Use>
  Fired fire(Kept& kept, const Window& window, bool resumes, Use use) {
    if (!resumes && eviction_of(evictor_) == Eviction::before) evictor_.evict(kept, window);
    if (!use(Given(kept.values))) return Fired::stopped;
    if (eviction_of(evictor_) == Eviction::after) evictor_.evict(kept, window);
    return kept.empty() ? Fired::emptied : Fired::kept;
  }

 private:
  Evictor evictor_;
};

// Keeps all elements because an evictor chooses among them, and folds them when the window fires.
template <class T, class Agg, class Evictor>
class EvictedAggregateContents {
 public:
  using Kept = WindowElements<T>;
  using Given = AggregateResult<Agg>;

  EvictedAggregateContents(Agg aggregate, Evictor evictor)
      : aggregate_(std::move(aggregate)), elements_(std::move(evictor)) {}

  void add(Kept& kept, const T& value, EventTime time) { kept.add(value, time); }
  void merge(Kept& into, Kept&& other) { into.append(std::move(other)); }
  template <class Use>
  Fired fire(Kept& kept, const Window& window, bool resumes, Use use) {
    return elements_.fire(kept, window, resumes, [&](std::span<const T> values) {
      if (values.empty()) return true;
      typename Agg::Accumulator folded{};
      for (const T& value : values) aggregate_.add(folded, value);
      return use(aggregate_.result(folded));
    });
  }

 private:
  Agg aggregate_;
  ElementContents<T, Evictor> elements_;
};

}  // namespace weir
