// The hand-written loop that a keyed, windowed count is held against: no batches, no key groups, no
// operators.
#pragma once

#include <cstdint>
#include <vector>

namespace weir::bench {

struct Record {
  std::uint64_t key = 0;
  std::int64_t time_ms = 0;
  std::int64_t value = 0;
};
static_assert(sizeof(Record) == 24);

inline constexpr std::int64_t window_ms = 10'000;

// `count` records in the order of their times, `per_ms` of them per millisecond, over `keys`
// distinct keys.
[[nodiscard]] std::vector<Record> make_records(std::size_t count, std::size_t keys, double per_ms);
// The same divided into two halves that cover the same times, as two sources see them, one after
// the other in memory.
[[nodiscard]] std::vector<Record> make_parallel_records(std::size_t count, std::size_t keys,
                                                        double per_ms);
// The halves of those merged in the order of their times.
[[nodiscard]] std::vector<Record> merged_halves(const std::vector<Record>& records);

// What one result row adds to the hash of all, whatever their order.
[[nodiscard]] std::uint64_t row_hash(std::uint64_t key, std::int64_t count,
                                     std::int64_t window_end);

// Counts per key and tumbling window with one linear-probing table. Requires records in the order
// of time. Returns the sum of the rows' hashes. `keys` sizes the table.
[[nodiscard]] std::uint64_t count_by_hand(const std::vector<Record>& records, std::size_t keys);

// Bytes per second that one core reads from memory.
[[nodiscard]] double memory_bandwidth();

}  // namespace weir::bench
