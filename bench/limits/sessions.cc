#include "bench/limits/sessions.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/random.h"

namespace weir::bench {
namespace {

struct Visit {
  std::uint64_t key;
  std::int64_t time_ms;
  friend bool operator<(const Visit& a, const Visit& b) {
    return a.key != b.key ? a.key < b.key : a.time_ms < b.time_ms;
  }
};

constexpr std::size_t part_count = 1024;

std::size_t part_of(std::uint64_t key) {
  return mix64(key) % part_count;
}

// Requires that the visits are sorted.
std::uint64_t hash_sessions(const Visit* visit, const Visit* end, std::int64_t gap_ms) {
  std::uint64_t hash = 0;
  while (visit != end) {
    const Visit* last = visit;
    std::int64_t count = 1;
    // Sessions that touch are one.
    while (last + 1 != end && last[1].key == last->key &&
           last[1].time_ms - last->time_ms <= gap_ms) {
      ++last;
      ++count;
    }
    hash += row_hash(last->key, count, last->time_ms + gap_ms);
    visit = last + 1;
  }
  return hash;
}

}  // namespace

std::vector<Record> make_disordered_records(std::size_t count, std::size_t keys, double per_ms,
                                            std::int64_t disorder_ms) {
  auto records = make_records(count, keys, per_ms);
  Random random(43);
  for (Record& record : records) {
    record.time_ms -=
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(disorder_ms)));
  }
  return records;
}

std::uint64_t sessions_by_hand(const std::vector<Record>& records, std::int64_t gap_ms) {
  std::array<std::size_t, part_count + 1> ends{};
  for (const Record& record : records) ++ends[part_of(record.key) + 1];
  for (std::size_t part = 0; part < part_count; ++part) ends[part + 1] += ends[part];
  std::vector<Visit> visits(records.size());
  auto next = ends;
  for (const Record& record : records)
    visits[next[part_of(record.key)]++] = {record.key, record.time_ms};
  std::uint64_t hash = 0;
  for (std::size_t part = 0; part < part_count; ++part) {
    Visit* const begin = visits.data() + ends[part];
    Visit* const end = visits.data() + ends[part + 1];
    std::sort(begin, end);
    hash += hash_sessions(begin, end, gap_ms);
  }
  return hash;
}

}  // namespace weir::bench
