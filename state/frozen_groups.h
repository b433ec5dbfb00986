// The frozen tables of one KeyedTable, read by key group.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "state/frozen_table.h"
#include "state/key_groups.h"
#include "state/snapshot.h"

namespace weir {

// How the groups of a slice are divided among tables: one each as far as that makes
// limits::state_tables_max; beyond it neighbours share a table, so that a slice of many groups does
// not cost memory for as many tables.
class GroupTables {
 public:
  explicit GroupTables(KeyGroupSlice slice) : slice_(slice) {
    while (count() > limits::state_tables_max) ++shift_;
  }

  [[nodiscard]] const KeyGroupSlice& slice() const { return slice_; }
  [[nodiscard]] std::size_t count() const {
    return (std::size_t{slice_.range.count} + groups_per_table() - 1) >> shift_;
  }
  [[nodiscard]] std::size_t groups_per_table() const { return std::size_t{1} << shift_; }
  [[nodiscard]] std::size_t table_of(KeyGroup group) const {
    return (group.value - slice_.range.first.value) >> shift_;
  }
  // The group's place among those of its table.
  [[nodiscard]] std::size_t place_of(KeyGroup group) const {
    return (group.value - slice_.range.first.value) & (groups_per_table() - 1);
  }
  [[nodiscard]] KeyGroup group_of(KeyHash hash) const {
    return key_group_of(hash, slice_.max_parallelism);
  }

 private:
  KeyGroupSlice slice_;
  std::uint32_t shift_ = 0;
};

// Puts the group and the size before each entry, for tables that hold several groups.
template <class K, class V>
class LabellingEncoder final : public EntryEncoder<K, V> {
 public:
  LabellingEncoder(const GroupTables& tables, std::shared_ptr<const EntryEncoder<K, V>> entries)
      : tables_(tables), entries_(std::move(entries)) {}

  void encode(ByteWriter& writer, const K& key, const V& value) const override {
    writer.scalar(static_cast<std::uint32_t>(tables_.place_of(tables_.group_of(hash_of(key)))));
    const std::size_t size_at = writer.size();
    writer.scalar(std::uint32_t{0});
    entries_->encode(writer, key, value);
    writer.overwrite_u32(size_at, static_cast<std::uint32_t>(writer.size() - size_at - 4));
  }

 private:
  GroupTables tables_;
  std::shared_ptr<const EntryEncoder<K, V>> entries_;  // shared with the tables' owner
};

// For one thread, which may be another than the tables' owner. When it goes, what has not been
// written is given up.
template <class K, class V>
class FrozenGroups {
 public:
  // Null where a table is empty.
  using Tables = std::vector<std::shared_ptr<FrozenTable<K, V>>>;

  FrozenGroups(const GroupTables& layout, Tables tables)
      : layout_(layout), tables_(std::move(tables)) {}
  FrozenGroups(FrozenGroups&&) noexcept = default;
  FrozenGroups& operator=(FrozenGroups&&) = delete;
  ~FrozenGroups() {
    for (const auto& table : tables_) {
      if (table != nullptr) table->give_up();
    }
  }

  // Expires with this.
  [[nodiscard]] std::weak_ptr<const void> life() const { return life_; }

  // Appends the entries of a group. Each is asked for once.
  void write_group(KeyGroup group, ByteWriter& writer) {
    WEIR_CHECK(layout_.slice().range.contains(group));
    const std::size_t index = layout_.table_of(group);
    if (layout_.groups_per_table() == 1) {
      if (const auto table = std::move(tables_[index])) table->write(writer);
      return;
    }
    if (const auto table = std::move(tables_[index])) split(index, *table);
    if (split_.empty() || split_[index].empty()) return;
    Bytes& own = split_[index][layout_.place_of(group)];
    writer.bytes(own);
    Bytes().swap(own);
  }

 private:
  // Sorts the labelled entries of one table by group.
  void split(std::size_t index, FrozenTable<K, V>& table) {
    Bytes labelled;
    ByteWriter writer(labelled);
    table.write(writer);
    split_.resize(tables_.size());
    split_[index].resize(layout_.groups_per_table());
    ByteReader reader(labelled);
    while (!reader.at_end()) {
      Bytes& own = split_[index][reader.scalar<std::uint32_t>()];
      const auto entry = reader.block();
      own.insert(own.end(), entry.begin(), entry.end());
    }
  }

  GroupTables layout_;
  Tables tables_;
  std::vector<std::vector<Bytes>> split_;  // by table and place, of tables with several groups
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// A state that is one KeyedTable.
template <class K, class V>
class FrozenKeyedTable final : public FrozenKeyedState {
 public:
  FrozenKeyedTable(StateDescriptor descriptor, KeyGroupSlice slice, FrozenGroups<K, V> groups)
      : descriptor_(std::move(descriptor)), slice_(slice), groups_(std::move(groups)) {}

  [[nodiscard]] const StateDescriptor& descriptor() const override { return descriptor_; }
  [[nodiscard]] KeyGroupSlice slice() const override { return slice_; }
  void write_group(KeyGroup group, ByteWriter& writer) override {
    groups_.write_group(group, writer);
  }

 private:
  StateDescriptor descriptor_;
  KeyGroupSlice slice_;
  FrozenGroups<K, V> groups_;
};

}  // namespace weir
