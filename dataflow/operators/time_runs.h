// Rows of a batch that are near each other in time.
#pragma once

#include <cstddef>

#include "base/time.h"

namespace weir {

// The first of the rows [row, end) whose time is not in [from, to). Blocks are looked at without a branch per row: nearly always all
// rows of a batch are in the window of its first.
[[nodiscard]] inline std::size_t end_of_run(const EventTime* times, std::size_t row,
                                            std::size_t end, EventTime from, EventTime to) {
  constexpr std::size_t block = 64;
  for (; row + block <= end; row += block) {
    unsigned outside = 0;
    for (std::size_t i = row; i < row + block; ++i) {
      outside |= static_cast<unsigned>(times[i] < from) | static_cast<unsigned>(times[i] >= to);
    }
    if (outside != 0) break;
  }
  while (row < end && times[row] >= from && times[row] < to) ++row;
  return row;
}

}  // namespace weir
