// Totals of windows that begin together: nothing leaves before the last has fired.
#pragma once

#include <cstddef>
#include <utility>

#include "base/hash.h"
#include "dataflow/operators/slice_turn.h"
#include "state/aggregate_function.h"
#include "state/keyed_table.h"
#include "state/namespaced_tables.h"

namespace weir {

// What is complete is moved from its slices to one table, the slice without length where the stretch begins: it is state, and
// the only state of its size, however many steps a stretch has. For the calls see SliceTurn. Not thread-safe.
template <class K, class Agg>
class CumulativeTotals {
  static_assert(MergesAggregates<Agg>);

 public:
  using Accumulator = typename Agg::Accumulator;
  using Turn = SliceTurn<K, Accumulator>;
  using Slices = NamespacedTables<Slice, K, Accumulator>;

  [[nodiscard]] static Slice place_of_total(EventTime stretch) { return {stretch, stretch}; }

  CumulativeTotals(KeyGroupSlice /*keys*/, Agg aggregate) : aggregate_(std::move(aggregate)) {}

  // Requires that the total is none of the turn's slices.
  void begin(const Turn& turn, Slices& slices) {
    total_ = &slices.table_of(place_of_total(turn.window.start));
  }
  bool take_in(const Turn& turn, std::size_t part, TurnPlace& place, BudgetCheck& budget) {
    return turn.walk(0, turn.slices.size(), part, place, budget,
                     [this](const K& key, const Accumulator& acc) {
                       aggregate_.merge(total_->find_or_insert(hash_of(key), key), acc);
                     });
  }
  template <class Visit>
  bool walk(std::size_t part, std::size_t& slot, Visit visit) const {
    return std::as_const(*total_).walk_part(part, slot, visit);
  }
  bool let_go(const Turn& /*turn*/, std::size_t /*part*/, TurnPlace& /*place*/,
              BudgetCheck& /*budget*/) {
    return true;
  }
  void end(const Turn& turn, Slices& slices) {
    for (const auto& taken : turn.slices) slices.drop(taken.slice);
    if (!turn.all_leave) return;
    slices.drop(place_of_total(turn.window.start));
    total_ = nullptr;
  }

  // Where records of slices that were taken in go. Null if the last window has fired.
  [[nodiscard]] KeyedTable<K, Accumulator>* total() { return total_; }

 private:
  Agg aggregate_;
  KeyedTable<K, Accumulator>* total_ = nullptr;
};

}  // namespace weir
