// Splits of sources whose records have an index: positions of a vector, numbers of a sequence,
// calls of a generator.
#pragma once

#include <cstdint>
#include <limits>

#include "dataflow/connectors/listed_splits.h"
#include "dataflow/connectors/split_queue.h"

namespace weir {

// The indices next, next + stride, … below end.
struct IndexSplit {
  std::uint64_t next = 0;
  std::uint64_t end = 0;
  std::uint64_t stride = 1;
  friend bool operator==(const IndexSplit&, const IndexSplit&) = default;
};

// As a count: no end.
inline constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

// Each index below `count` is in exactly one split, and there are as many splits as readers, or as
// indices if those are fewer.
//
// Ranges whose lengths differ by one at most. Requires a count that is not endless.
[[nodiscard]] SplitList contiguous_index_splits(std::uint64_t count, std::uint32_t reader_count);
// Of n readers, r gets r, r + n, …: so together they advance through the indices in their order.
[[nodiscard]] SplitList strided_index_splits(std::uint64_t count, std::uint32_t reader_count);

// How many indices of the split are left.
[[nodiscard]] constexpr std::uint64_t remaining(const IndexSplit& split) {
  if (split.next >= split.end) return 0;
  return (split.end - split.next - 1) / split.stride + 1;
}

}  // namespace weir
