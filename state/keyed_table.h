// The state of one name and namespace in one subtask: a table per key group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "state/flat_table.h"
#include "state/key_groups.h"

namespace weir {

// The part of a job's keys that one subtask holds.
struct KeyGroupSlice {
  KeyGroupRange range;
  std::uint32_t max_parallelism = 0;

  friend bool operator==(const KeyGroupSlice&, const KeyGroupSlice&) = default;
};

// Where a walk over a KeyedTable stands; survives yields, not insertions or erasures.
struct TableCursor {
  std::uint32_t group = 0;  // from the range's first
  std::size_t slot = 0;
};

// Maps keys to values, grouped by key group so that a group can be written to a snapshot, or handed
// to another subtask, by itself. Not thread-safe. A key whose group is not in the slice was routed
// wrongly: `owns` tells.
template <class K, class V>
class KeyedTable {
 public:
  explicit KeyedTable(KeyGroupSlice slice) : slice_(slice), groups_(slice.range.count) {
    WEIR_CHECK(slice.range.count > 0);
  }

  [[nodiscard]] bool owns(KeyHash hash) const {
    return slice_.range.contains(key_group_of(hash, slice_.max_parallelism));
  }

  // Each requires owns(hash) and hash == hash_of(key).
  V& find_or_insert(KeyHash hash, const K& key) { return at(hash).find_or_insert(hash, key); }
  [[nodiscard]] V* find(KeyHash hash, const K& key) { return at(hash).find(hash, key); }
  bool erase(KeyHash hash, const K& key) { return at(hash).erase(hash, key); }
  void prefetch(KeyHash hash) const { groups_[index_of(hash)].prefetch(hash); }

  // Calls update(row, value) for every row of [begin, end), in order, with the value of
  // key_of(row), as find_or_insert would; memory is fetched ahead, which pays for tables beyond the
  // caches. Requires owns(hashes[row]).
  template <class KeyOf, class Update>
  void update_rows(const KeyHash* hashes, std::size_t begin, std::size_t end, KeyOf key_of,
                   Update update) {
    constexpr std::size_t ahead = 32;
    FlatTable<K, V>* tables[ahead];
    for (std::size_t first = begin; first < end; first += ahead) {
      const std::size_t count = end - first < ahead ? end - first : ahead;
      for (std::size_t i = 0; i < count; ++i) {
        tables[i] = &at(hashes[first + i]);
        tables[i]->prefetch(hashes[first + i]);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t row = first + i;
        update(row, tables[i]->find_or_insert(hashes[row], key_of(row)));
      }
    }
  }

  // Calls visit(key, value) from the cursor on, until it returns false or all entries were visited;
  // the cursor then stands behind the last one visited. Returns whether all were.
  template <class Visit>
  bool walk(TableCursor& cursor, Visit visit) {
    for (; cursor.group < groups_.size(); ++cursor.group, cursor.slot = 0) {
      auto& table = groups_[cursor.group];
      const std::size_t end = table.slot_count();
      for (cursor.slot = table.next_used(cursor.slot); cursor.slot < end;) {
        const bool go_on = visit(table.key_at(cursor.slot), table.value_at(cursor.slot));
        cursor.slot = table.next_used(cursor.slot + 1);
        if (!go_on) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t total = 0;
    for (const auto& table : groups_) total += table.size();
    return total;
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& table : groups_) total += table.bytes();
    return total;
  }

  // Drops all entries and keeps the memory.
  void clear() {
    for (auto& table : groups_) table.clear();
  }

 private:
  [[nodiscard]] std::size_t index_of(KeyHash hash) const {
    return key_group_of(hash, slice_.max_parallelism).value - slice_.range.first.value;
  }
  FlatTable<K, V>& at(KeyHash hash) { return groups_[index_of(hash)]; }

  KeyGroupSlice slice_;
  std::vector<FlatTable<K, V>> groups_;
};

}  // namespace weir
