// An interval join by hand: one hash table of what waits on both sides.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/limits/keyed_count.h"

namespace weir::bench {

// What one pair adds to the hash of all.
[[nodiscard]] std::uint64_t pair_hash(std::uint64_t key, std::int64_t left_ms,
                                      std::int64_t right_ms);

// Joins records of equal keys whose times are at most `within_ms` apart. Requires both sides in the order of time; `keys` sizes the
// table. Records are taken in the order of time, meet what waits on the other side, and expire
// when they are met too late. Returns the sum of the pairs' hashes.
[[nodiscard]] std::uint64_t interval_join_by_hand(const std::vector<Record>& left,
                                                  const std::vector<Record>& right,
                                                  std::int64_t within_ms, std::size_t keys);

}  // namespace weir::bench
