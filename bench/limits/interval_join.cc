#include "bench/limits/interval_join.h"

#include <cstddef>

#include "base/hash.h"
#include "bench/limits/key_slots.h"

namespace weir::bench {
namespace {

constexpr std::uint32_t nothing = ~std::uint32_t{0};

// The records of one side that wait: per key a list, the newest first, through the side's own order.
struct Side {
  explicit Side(const std::vector<Record>& all) : records(all), older(all.size(), nothing) {}
  const std::vector<Record>& records;
  std::vector<std::uint32_t> older;  // the one before of the same key
  std::size_t next = 0;              // to be taken
};

struct Slot {
  std::uint64_t key = 0;
  std::uint32_t newest[2] = {nothing, nothing};
  bool is_used = false;

  [[nodiscard]] bool used() const { return is_used; }
  void take(std::uint64_t new_key) {
    key = new_key;
    is_used = true;
  }
};

}  // namespace

std::uint64_t pair_hash(std::uint64_t key, std::int64_t left_ms, std::int64_t right_ms) {
  return mix64(key ^ static_cast<std::uint64_t>(left_ms) * 31 ^
               static_cast<std::uint64_t>(right_ms) * 131);
}

std::uint64_t interval_join_by_hand(const std::vector<Record>& left,
                                    const std::vector<Record>& right, std::int64_t within_ms,
                                    std::size_t keys) {
  KeySlots<Slot> table(keys);
  Side sides[2] = {Side(left), Side(right)};
  std::uint64_t hash = 0;
  while (true) {
    const bool left_ended = sides[0].next == left.size();
    const bool right_ended = sides[1].next == right.size();
    if (left_ended && right_ended) return hash;
    const bool from_right =
        left_ended || (!right_ended && right[sides[1].next].time_ms < left[sides[0].next].time_ms);
    Side& own = sides[from_right ? 1 : 0];
    Side& other = sides[from_right ? 0 : 1];
    const auto index = static_cast<std::uint32_t>(own.next++);
    const Record& record = own.records[index];
    Slot& slot = table.slot_of(record.key);
    std::uint32_t* link = &slot.newest[from_right ? 0 : 1];
    while (*link != nothing) {
      const Record& partner = other.records[*link];
      if (record.time_ms - partner.time_ms > within_ms) {
        *link = nothing;  // it and all before it have expired
        break;
      }
      hash += from_right ? pair_hash(record.key, partner.time_ms, record.time_ms)
                         : pair_hash(record.key, record.time_ms, partner.time_ms);
      link = &other.older[*link];
    }
    std::uint32_t& newest = slot.newest[from_right ? 1 : 0];
    own.older[index] = newest;
    newest = index;
  }
}

}  // namespace weir::bench
