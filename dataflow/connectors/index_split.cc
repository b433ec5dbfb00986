#include "dataflow/connectors/index_split.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace weir {

SplitList contiguous_index_splits(std::uint64_t count, std::uint32_t reader_count) {
  WEIR_CHECK(count != endless);
  WEIR_CHECK(reader_count > 0);
  SplitList list{.splits = {}, .total_units = count};
  const std::uint64_t share = count / reader_count;
  const std::uint64_t longer_shares = count % reader_count;
  std::uint64_t begin = 0;
  for (std::uint32_t reader = 0; reader < reader_count && begin < count; ++reader) {
    const std::uint64_t end = begin + share + (reader < longer_shares ? 1 : 0);
    list.splits.push_back(make_split(std::to_string(begin) + ".." + std::to_string(end),
                                     IndexSplit{.next = begin, .end = end, .stride = 1}));
    begin = end;
  }
  WEIR_CHECK(begin == count);
  return list;
}

SplitList strided_index_splits(std::uint64_t count, std::uint32_t reader_count) {
  WEIR_CHECK(reader_count > 0);
  SplitList list;
  if (count != endless) list.total_units = count;
  for (std::uint32_t reader = 0; reader < std::min<std::uint64_t>(reader_count, count); ++reader) {
    list.splits.push_back(
        make_split("share " + std::to_string(reader) + " of " + std::to_string(reader_count),
                   IndexSplit{.next = reader, .end = count, .stride = reader_count}));
  }
  return list;
}

}  // namespace weir
