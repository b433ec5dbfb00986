// Session windows by hand: all records sorted, then one pass over them.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/limits/keyed_count.h"

namespace weir::bench {

// `count` records over `keys` distinct keys, `per_ms` of them per millisecond, each up to `disorder_ms` behind the order of time.
[[nodiscard]] std::vector<Record> make_disordered_records(std::size_t count, std::size_t keys,
                                                          double per_ms, std::int64_t disorder_ms);

// Counts per key and session with this gap: the records are divided by hash into parts that fit the caches, each is sorted by
// key and time, and sessions are read off. Returns the sum of row_hash(key, count, session end).
[[nodiscard]] std::uint64_t sessions_by_hand(const std::vector<Record>& records,
                                             std::int64_t gap_ms);

}  // namespace weir::bench
