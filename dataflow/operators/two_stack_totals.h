// Totals of aggregates that can be merged and not taken back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "dataflow/operators/slice_turn.h"
#include "state/aggregate_function.h"
#include "state/keyed_table.h"
#include "state/namespaced_tables.h"

namespace weir {

// The two-stacks method (Tangwongsan, Hirzel, Schneider, Wu, "General Incremental Sliding-Window Aggregation", 2015): the slices of
// a window are divided into a front, which slices leave, and a back, which they enter. Per key there is the total of each; and
// per front slice and key of it, the total of the front slices behind it, which is what is left of the front when it leaves. When a
// slice is to leave and is not in the front, all slices become the front. So a slice of a key is merged twice, however
// many windows it is in. For the calls see SliceTurn. Not thread-safe.
template <class K, class Agg>
class TwoStackTotals {
  static_assert(MergesAggregates<Agg>);

 public:
  using Accumulator = typename Agg::Accumulator;
  using Turn = SliceTurn<K, Accumulator>;
  using Slices = NamespacedTables<Slice, K, Accumulator>;

  TwoStackTotals(KeyGroupSlice keys, Agg aggregate)
      : aggregate_(std::move(aggregate)), totals_(keys), behind_(keys) {}

  void begin(const Turn& turn, Slices& /*slices*/) {
    turns_over_ =
        turn.leaving > 0 && !turn.all_leave && !is_front(turn.slices[turn.leaving - 1].slice);
    if (!turns_over_) return;
    ++generation_;
    behind_.drop_all();
    last_of_front_ = turn.slices.back().slice;
  }
  bool take_in(const Turn& turn, std::size_t part, TurnPlace& place, BudgetCheck& budget) {
    if (turns_over_) return turn_over(turn, part, place, budget);
    return turn.walk(turn.first_new, turn.slices.size(), part, place, budget,
                     [this](const K& key, const Accumulator& acc) {
                       aggregate_.merge(back_of(totals_.find_or_insert(hash_of(key), key)), acc);
                     });
  }
  template <class Visit>
  bool walk(std::size_t part, std::size_t& slot, Visit visit) const {
    return totals_.walk_part(part, slot, [&](const K& key, const Total& total) {
      if (!has(total.front)) return visit(key, total.back.sum);
      if (!has(total.back)) return visit(key, total.front.sum);
      Accumulator both = total.front.sum;
      aggregate_.merge(both, total.back.sum);
      return visit(key, std::as_const(both));
    });
  }
  bool let_go(const Turn& turn, std::size_t part, TurnPlace& place, BudgetCheck& budget) {
    if (turn.all_leave) return true;
    for (; place.slice < turn.leaving; ++place.slice, place.slot = 0) {
      const auto& leaving = turn.slices[place.slice];
      auto& behind = behind_.table_of(leaving.slice);
      const bool all =
          leaving.table->walk_part(part, place.slot, [&](const K& key, const Accumulator& /*acc*/) {
            const KeyHash hash = hash_of(key);
            Total& total = *totals_.find(hash, key);
            total.front = std::exchange(*behind.find(hash, key), Half{});
            if (!has(total.front) && !has(total.back)) (void)totals_.erase(hash, key);
            return !budget.spent();
          });
      if (!all) return false;
    }
    return true;
  }
  void end(const Turn& turn, Slices& slices) {
    if (turn.all_leave) {
      totals_.clear();
      behind_.drop_all();
      last_of_front_.reset();
    }
    for (std::size_t i = 0; i < turn.leaving; ++i) {
      if (!behind_.empty() && behind_.first() == slices.first()) behind_.drop_first();
      slices.drop_first();
    }
  }

  // `is_first`: the slice had nothing of the key before.
  template <class Add>
  void add(const Slice& slice, KeyHash hash, const K& key, bool is_first, Add add) {
    Total& total = totals_.find_or_insert(hash, key);
    if (!is_front(slice)) {
      add(back_of(total));
      return;
    }
    // What is behind this slice is also behind the last one before it that has the key, or, without one, the whole front.
    Half behind_this = total.front;
    behind_.for_each([&](const Slice& other, KeyedTable<K, Half>& table) {
      if (other >= slice) return false;
      if (Half* behind = table.find(hash, key)) {
        behind_this = *behind;
        add(begun(*behind));
      }
      return true;
    });
    if (is_first) behind_.table_of(slice).find_or_insert(hash, key) = std::move(behind_this);
    add(begun(total.front));
  }

 private:
  // Something only in the generation it was written in: so all are emptied at once when the slices are turned over.
  struct Half {
    Accumulator sum{};
    std::uint64_t generation = 0;
  };
  struct Total {
    Half front;
    Half back;
  };

  [[nodiscard]] bool has(const Half& half) const { return half.generation == generation_; }
  Accumulator& begun(Half& half) {
    if (!has(half)) half = {Accumulator{}, generation_};
    return half.sum;
  }
  Accumulator& back_of(Total& total) { return begun(total.back); }
  [[nodiscard]] bool is_front(const Slice& slice) const {
    return last_of_front_ && slice <= *last_of_front_;
  }

  // Makes the front anew from all slices, the newest first.
  bool turn_over(const Turn& turn, std::size_t part, TurnPlace& place, BudgetCheck& budget) {
    for (; place.slice < turn.slices.size(); ++place.slice, place.slot = 0) {
      const auto& taken = turn.slices[turn.slices.size() - 1 - place.slice];
      auto& behind = behind_.table_of(taken.slice);
      const bool all =
          taken.table->walk_part(part, place.slot, [&](const K& key, const Accumulator& acc) {
            const KeyHash hash = hash_of(key);
            Half& front = totals_.find_or_insert(hash, key).front;
            Half with_this{acc, generation_};
            if (has(front)) aggregate_.merge(with_this.sum, front.sum);
            behind.find_or_insert(hash, key) = std::exchange(front, std::move(with_this));
            return !budget.spent();
          });
      if (!all) return false;
    }
    return true;
  }

  Agg aggregate_;
  KeyedTable<K, Total> totals_;
  NamespacedTables<Slice, K, Half> behind_;  // of each front slice
  std::optional<Slice> last_of_front_;       // up to here slices are the front
  std::uint64_t generation_ = 1;
  bool turns_over_ = false;  // in this firing
};

}  // namespace weir
