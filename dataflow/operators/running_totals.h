// Totals of aggregates that can be taken back: slices enter them and leave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/hash.h"
#include "dataflow/operators/slice_turn.h"
#include "state/aggregate_function.h"
#include "state/keyed_table.h"
#include "state/namespaced_tables.h"

namespace weir {

// Per key one accumulator and the number of slices in it: a merge for each slice of a key, and taking it back. For the calls see
// SliceTurn. Not thread-safe.
template <class K, class Agg>
class RunningTotals {
  static_assert(RetractsAggregates<Agg>);

 public:
  using Accumulator = typename Agg::Accumulator;
  using Turn = SliceTurn<K, Accumulator>;
  using Slices = NamespacedTables<Slice, K, Accumulator>;

  RunningTotals(KeyGroupSlice keys, Agg aggregate)
      : aggregate_(std::move(aggregate)), totals_(keys) {}

  void begin(const Turn& /*turn*/, Slices& /*slices*/) {}
  bool take_in(const Turn& turn, std::size_t part, TurnPlace& place, BudgetCheck& budget) {
    return turn.walk(turn.first_new, turn.slices.size(), part, place, budget,
                     [this](const K& key, const Accumulator& acc) {
                       Total& total = totals_.find_or_insert(hash_of(key), key);
                       aggregate_.merge(total.sum, acc);
                       ++total.slices;
                     });
  }
  template <class Visit>
  bool walk(std::size_t part, std::size_t& slot, Visit visit) const {
    return totals_.walk_part(
        part, slot, [&](const K& key, const Total& total) { return visit(key, total.sum); });
  }
  bool let_go(const Turn& turn, std::size_t part, TurnPlace& place, BudgetCheck& budget) {
    if (turn.all_leave) return true;
    return turn.walk(0, turn.leaving, part, place, budget,
                     [this](const K& key, const Accumulator& acc) {
                       const KeyHash hash = hash_of(key);
                       Total& total = *totals_.find(hash, key);
                       if (--total.slices == 0) {
                         (void)totals_.erase(hash, key);
                       } else {
                         aggregate_.retract(total.sum, acc);
                       }
                     });
  }
  void end(const Turn& turn, Slices& slices) {
    if (turn.all_leave) totals_.clear();
    for (std::size_t i = 0; i < turn.leaving; ++i) slices.drop_first();
  }

  // `is_first`: the slice had nothing of the key before.
  template <class Add>
  void add(const Slice& /*slice*/, KeyHash hash, const K& key, bool is_first, Add add) {
    Total& total = totals_.find_or_insert(hash, key);
    add(total.sum);
    if (is_first) ++total.slices;
  }

 private:
  struct Total {
    Accumulator sum{};
    std::uint32_t slices = 0;
  };

  Agg aggregate_;
  KeyedTable<K, Total> totals_;
};

}  // namespace weir
