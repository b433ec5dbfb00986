// The enumerator of sources whose splits are all known once the job starts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "dataflow/source.h"

namespace weir {

struct SplitList {
  std::vector<Split> splits;
  std::optional<std::uint64_t> total_units;  // see SplitEnumerator::total_units
};

// Lists the splits for so many readers. Called by open(), so it may block.
using ListSplits = std::function<Result<SplitList>(std::uint32_t reader_count)>;

// Hands the splits out in their order, one at a time, to whoever asks; those added back come first.
// The last ones are kept for readers that have not had two yet (or their share, if that is less): a
// reader that is up before the others does not take all of a small input.
[[nodiscard]] std::unique_ptr<SplitEnumerator> enumerate_list(ListSplits list);

}  // namespace weir
