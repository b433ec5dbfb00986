// Cleaning of state that becomes useless as event time goes on.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"
#include "dataflow/output.h"
#include "state/keyed_table.h"

namespace weir {

// Goes round a table with each watermark, as far as makes a round in `round` of event time: so what is useless stays at most that
// much longer than it need. For state whose going nobody sees: memory is read in order, and nothing is remembered per key. To
// come for each key at its time is to wait for memory for each (of an interval join that was 40 % of the time). Not thread-safe.
class Sweep {
 public:
  // All before the watermark `from` has been swept. Requires a round of 1 ms or more.
  Sweep(EventTime from, Duration round) : swept_to_(from), round_(round) {
    WEIR_CHECK(round.count() > 0);
  }

  // Changes values as KeyedTable::change_or_erase does. Returns false if the budget is spent before it is as far as it should be at
  // this watermark: then it is to be called again.
  template <class Table, class NeedsChange, class Change>
  [[nodiscard]] bool go_on(EventTime watermark, Table& table, const StepBudget& budget,
                           NeedsChange needs_change, Change change) {
    const std::size_t all = table.slot_count();
    slots_left_ = std::min(slots_left_ + slots_until(watermark, all), all);
    BudgetCheck check(budget);
    while (slots_left_ > 0) {
      const std::size_t some = std::min(slots_left_, slots_at_once);
      table.change_or_erase(cursor_, some, needs_change, change);
      slots_left_ -= some;
      if (slots_left_ > 0 && check.spent()) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t slots_at_once = 64;

  std::size_t slots_until(EventTime watermark, std::size_t all) {
    if (watermark <= swept_to_) return 0;
    const std::uint64_t passed =
        static_cast<std::uint64_t>(watermark.ms) - static_cast<std::uint64_t>(swept_to_.ms);
    swept_to_ = watermark;
    const auto round = static_cast<std::uint64_t>(round_.count());
    if (passed >= round) return all;
    const double part = static_cast<double>(passed) / static_cast<double>(round);
    return static_cast<std::size_t>(std::ceil(part * static_cast<double>(all)));
  }

  EventTime swept_to_;
  Duration round_;
  TableCursor cursor_;
  std::size_t slots_left_ = 0;  // until it is as far as it should be
};

}  // namespace weir
