// One firing of a window that is made of slices.
#pragma once

#include <cstddef>
#include <vector>

#include "dataflow/output.h"
#include "dataflow/window/slices.h"
#include "dataflow/window/window.h"
#include "state/keyed_table.h"

namespace weir {

// How far a firing has come in one part of the tables.
struct TurnPlace {
  std::size_t slice = 0;
  std::size_t slot = 0;
};

// The window, and its slices that hold something, oldest first. Refers to their tables.
//
// What a window sums up to is kept by a class of "totals", with these calls for each firing, of which the middle three may stop when the
// budget is spent, and are then made again with the same place:
//   begin(turn, slices)
//   for each part of the tables:
//     take_in(turn, part, place, budget)   all slices of the window are in the totals
//     walk(part, slot, visit)              visit(key, accumulator of the window), until it returns false
//     let_go(turn, part, place, budget)    those that leave are out of them
//   end(turn, slices)                      drops the tables that no window needs any more
// and between firings add(…), for a record that comes to a slice that was taken in. They can be made anew from the slices at any time.
template <class K, class Accumulator>
struct SliceTurn {
  using Table = KeyedTable<K, Accumulator>;
  struct Part {
    Slice slice;
    Table* table;
  };

  Window window{};
  std::vector<Part> slices;
  std::size_t first_new = 0;  // from here on they were in no window that has fired
  std::size_t leaving = 0;    // so many, from the oldest on, are in no window behind this one
  bool all_leave = false;

  // Calls visit(key, accumulator) for what the slices [first, last) have in a part. False if the budget is spent before.
  template <class Visit>
  bool walk(std::size_t first, std::size_t last, std::size_t part, TurnPlace& place,
            BudgetCheck& budget, Visit visit) const {
    for (; first + place.slice < last; ++place.slice, place.slot = 0) {
      if (!slices[first + place.slice].table->walk_part(part, place.slot,
                                                        [&](const K& key, const Accumulator& acc) {
                                                          visit(key, acc);
                                                          return !budget.spent();
                                                        })) {
        return false;
      }
    }
    return true;
  }
};

}  // namespace weir
