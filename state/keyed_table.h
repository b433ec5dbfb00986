// The state of one name and namespace in one subtask, divided by key group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/ids.h"
#include "state/flat_table.h"
#include "state/frozen_groups.h"
#include "state/key_groups.h"

namespace weir {

// Where a walk over a KeyedTable stands; survives yields, not insertions or erasures.
struct TableCursor {
  std::size_t table = 0;
  std::size_t slot = 0;
};

// Maps keys to values, grouped by key group so that a group can be written to a snapshot, or handed
// to another subtask, by itself. Not thread-safe. A key whose group is not in the slice was routed
// wrongly: `owns` tells.
template <class K, class V>
class KeyedTable {
 public:
  // For so many keys at a time touch() reads ahead.
  static constexpr std::size_t touched_max = 32;

  explicit KeyedTable(KeyGroupSlice slice) : layout_(slice), tables_(layout_.count()) {
    WEIR_CHECK(slice.range.count > 0);
  }

  [[nodiscard]] bool owns(KeyHash hash) const {
    return slice().range.contains(layout_.group_of(hash));
  }
  [[nodiscard]] const KeyGroupSlice& slice() const { return layout_.slice(); }

  // Each requires owns(hash) and hash == hash_of(key). `find` is for changing the value, the const
  // one for reading it.
  V& find_or_insert(KeyHash hash, const K& key) { return at(hash).find_or_insert(hash, key); }
  [[nodiscard]] V* find(KeyHash hash, const K& key) { return at(hash).find(hash, key); }
  [[nodiscard]] const V* find(KeyHash hash, const K& key) const {
    return tables_[index_of(hash)].find(hash, key);
  }
  bool erase(KeyHash hash, const K& key) { return at(hash).erase(hash, key); }
  // For operators that do little for each key; others: touch().
  void prefetch(KeyHash hash) const { tables_[index_of(hash)].prefetch(hash); }

  // For operators that do much for each key: reads the memory that searches for the next keys will, which are hash_of_next(i)
  // for i below `count`, and calls visit(const V&) with what are probably their values, so that it may touch what those own.
  // Returns for how many, at most touched_max. Searches with work in between wait for memory one after the other; these loads
  // all at once. They are real ones since processors drop prefetches whose addresses they cannot translate quickly.
  template <class HashOfNext, class Visit>
  std::size_t touch(std::size_t count, HashOfNext hash_of_next, Visit visit) const {
    const GroupTables layout = layout_;
    const FlatTable<K, V>* const tables = tables_.data();
    count = std::min(count, touched_max);
    KeyHash hashes[touched_max];
    const FlatTable<K, V>* tables_of[touched_max];
    const V* found[touched_max];
    // All tags first: where a value is depends on them, and few such pairs of loads fit into the processor's window.
    for (std::size_t i = 0; i < count; ++i) {
      hashes[i] = hash_of_next(i);
      tables_of[i] = tables + layout.table_of(layout.group_of(hashes[i]));
      tables_of[i]->touch_tags(hashes[i]);
    }
    for (std::size_t i = 0; i < count; ++i) found[i] = tables_of[i]->touch(hashes[i]);
    for (std::size_t i = 0; i < count; ++i) {
      if (found[i] != nullptr) visit(*found[i]);
    }
    return count;
  }

  // Calls update(row, value) for every row of [begin, end), in order, with the value of
  // key_of(row), as find_or_insert would; memory is fetched ahead, which pays for tables beyond the
  // caches. Requires owns(hashes[row]).
  template <class KeyOf, class Update>
  void update_rows(const KeyHash* hashes, std::size_t begin, std::size_t end, KeyOf key_of,
                   Update update) {
    TablesAhead found;
    std::size_t known = look_ahead(hashes, begin, std::min(end, begin + rows_ahead), found);
    for (std::size_t row = begin; row < end;) {
      known = look_ahead(hashes, known, std::min(end, known + rows_at_once), found);
      for (const std::size_t until = std::min(end, row + rows_at_once); row < until; ++row) {
        update(row, found[row % ring_size]->find_or_insert(hashes[row], key_of(row)));
      }
    }
  }

  // Calls visit(key, value) from the cursor on, until it returns false or all entries were visited;
  // the cursor then stands behind the last one visited. Returns whether all were.
  template <class Visit>
  bool walk(TableCursor& cursor, Visit visit) const {
    for (; cursor.table < tables_.size(); ++cursor.table, cursor.slot = 0) {
      if (!walk_part(cursor.table, cursor.slot, visit)) return false;
    }
    return true;
  }

  // The tables it consists of. A key is in the part of the same number in all KeyedTables of a slice.
  [[nodiscard]] std::size_t part_count() const { return tables_.size(); }
  // walk() in one part, from the slot on.
  template <class Visit>
  bool walk_part(std::size_t part, std::size_t& slot, Visit visit) const {
    const auto& table = tables_[part];
    const std::size_t end = table.slot_count();
    for (slot = table.next_used(slot); slot < end;) {
      const bool go_on = visit(table.key_at(slot), table.value_at(slot));
      slot = table.next_used(slot + 1);
      if (!go_on) return false;
    }
    return true;
  }

  // Goes on round the table from the cursor, for so many of its slots. Of their values it changes those for which
  // needs_change(const V&), by change(V&), and erases them if it returns false. Any cursor will do; who goes round once, while
  // nothing is inserted, has looked at all. Requires slots <= slot_count().
  template <class NeedsChange, class Change>
  void change_or_erase(TableCursor& cursor, std::size_t slots, NeedsChange needs_change,
                       Change change) {
    WEIR_CHECK(slots <= slot_count());
    while (slots > 0) {
      auto& table = tables_[cursor.table];
      const std::size_t begin = std::min(cursor.slot, table.slot_count());
      const std::size_t end = begin + std::min(slots, table.slot_count() - begin);
      table.change_or_erase(begin, end, needs_change, change);
      slots -= end - begin;
      cursor.slot = end;
      if (end == table.slot_count()) cursor = {(cursor.table + 1) % tables_.size(), 0};
    }
  }
  [[nodiscard]] std::size_t slot_count() const {
    std::size_t total = 0;
    for (const auto& table : tables_) total += table.slot_count();
    return total;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t total = 0;
    for (const auto& table : tables_) total += table.size();
    return total;
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& table : tables_) total += table.bytes();
    return total;
  }

  // Drops all entries and keeps the memory, unless that is still being written to a snapshot.
  void clear() {
    for (auto& table : tables_) table.clear();
  }

  // The entries as they are now, to be written by another thread while this table goes on, and also
  // when it is gone. Takes time per table, not per entry. What an earlier freeze has not written
  // yet is encoded now.
  [[nodiscard]] FrozenGroups<K, V> freeze(std::shared_ptr<const EntryEncoder<K, V>> encoder) {
    if (layout_.groups_per_table() > 1)
      encoder = std::make_shared<const LabellingEncoder<K, V>>(layout_, std::move(encoder));
    typename FrozenGroups<K, V>::Tables frozen;
    frozen.reserve(tables_.size());
    const FreezePools pools;
    for (auto& table : tables_) frozen.push_back(table.freeze(encoder, pools));
    FrozenGroups<K, V> groups(layout_, std::move(frozen));
    being_written_ = groups.life();
    return groups;
  }

 private:
  [[nodiscard]] std::size_t index_of(KeyHash hash) const {
    return layout_.table_of(layout_.group_of(hash));
  }
  FlatTable<K, V>& at(KeyHash hash) { return tables_[index_of(hash)]; }

  // update_rows looks a few rows at a time up, so long before they are updated; the ring holds all in between.
  static constexpr std::size_t rows_at_once = 4;
  static constexpr std::size_t rows_ahead = 16;
  static constexpr std::size_t ring_size = 32;
  static_assert(rows_ahead + rows_at_once <= ring_size);
  using TablesAhead = FlatTable<K, V>* [ring_size];

  // Finds the tables of the rows of [row, end) and fetches their memory; returns `end`. For several rows at a time, with all
  // it needs in registers: between two updates, which may change any memory, it would load that for each row.
  [[gnu::always_inline]] std::size_t look_ahead(const KeyHash* hashes, std::size_t row,
                                                std::size_t end, TablesAhead& found) {
    const GroupTables layout = layout_;
    FlatTable<K, V>* const tables = tables_.data();
    for (std::size_t at = row; at < end; ++at) {
      const KeyHash hash = hashes[at];
      FlatTable<K, V>* const table = tables + layout.table_of(layout.group_of(hash));
      table->prefetch(hash);
      found[at % ring_size] = table;
    }
    if (!being_written_.expired()) [[unlikely]] {
      for (std::size_t at = row; at < end; ++at) found[at % ring_size]->prefetch_frozen(hashes[at]);
    }
    return end;
  }

  GroupTables layout_;
  std::vector<FlatTable<K, V>> tables_;
  std::weak_ptr<const void> being_written_;  // what was frozen last, as long as it is
};

}  // namespace weir
