// Keyed state in namespaces, such as the windows of a keyed operator.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/codec.h"
#include "state/frozen_groups.h"
#include "state/keyed_table.h"
#include "state/snapshot.h"

namespace weir {

// A table per namespace N, made when it is first asked for and dropped whole. They are kept in the
// order of N. Not thread-safe.
template <class N, class K, class V>
class NamespacedTables {
 public:
  using Table = KeyedTable<K, V>;

  explicit NamespacedTables(KeyGroupSlice slice) : slice_(slice) {}

  // Valid until the namespace is dropped.
  [[nodiscard]] Table& table_of(const N& space) {
    auto& table = tables_[space];
    if (table == nullptr) table = spare_ ? std::move(spare_) : std::make_unique<Table>(slice_);
    return *table;
  }

  // Calls visit(space, table) for each in the order of N, until it returns false.
  template <class Visit>
  void for_each(Visit visit) {
    for (auto& [space, table] : tables_) {
      if (!visit(space, *table)) return;
    }
  }

  [[nodiscard]] bool empty() const { return tables_.empty(); }
  [[nodiscard]] std::size_t size() const { return tables_.size(); }
  // The first in the order of N. Each requires !empty().
  [[nodiscard]] const N& first() const { return tables_.begin()->first; }
  [[nodiscard]] Table& first_table() { return *tables_.begin()->second; }
  // The memory of one dropped table serves the next.
  void drop_first() { drop(tables_.begin()); }
  // Requires that the namespace has a table.
  void drop(const N& space) {
    const auto at = tables_.find(space);
    WEIR_CHECK(at != tables_.end());
    drop(at);
  }
  void drop_all() {
    while (!empty()) drop_first();
  }

  // All tables as they are now; takes time per table. See KeyedTable::freeze.
  [[nodiscard]] std::unique_ptr<FrozenKeyedState> freeze(StateDescriptor descriptor) {
    std::vector<FrozenGroups<K, V>> frozen;
    frozen.reserve(tables_.size());
    for (auto& [space, table] : tables_)
      frozen.push_back(table->freeze(std::make_shared<const Encoder>(space)));
    return std::make_unique<Frozen>(std::move(descriptor), slice_, std::move(frozen));
  }

 private:
  // The namespace, the key, the value.
  class Encoder final : public EntryEncoder<K, V> {
   public:
    explicit Encoder(const N& space) : space_(space) {}
    void encode(ByteWriter& writer, const K& key, const V& value) const override {
      weir::encode(writer, space_);
      weir::encode(writer, key);
      weir::encode(writer, value);
    }

   private:
    N space_;
  };

  class Frozen final : public FrozenKeyedState {
   public:
    Frozen(StateDescriptor descriptor, KeyGroupSlice slice, std::vector<FrozenGroups<K, V>> tables)
        : descriptor_(std::move(descriptor)), slice_(slice), tables_(std::move(tables)) {}

    [[nodiscard]] const StateDescriptor& descriptor() const override { return descriptor_; }
    [[nodiscard]] KeyGroupSlice slice() const override { return slice_; }
    void write_group(KeyGroup group, ByteWriter& writer) override {
      for (auto& table : tables_) table.write_group(group, writer);
    }

   private:
    StateDescriptor descriptor_;
    KeyGroupSlice slice_;
    std::vector<FrozenGroups<K, V>> tables_;
  };

  void drop(typename std::map<N, std::unique_ptr<Table>>::iterator at) {
    at->second->clear();
    spare_ = std::move(at->second);
    tables_.erase(at);
  }

  KeyGroupSlice slice_;
  std::map<N, std::unique_ptr<Table>> tables_;
  std::unique_ptr<Table> spare_;
};

}  // namespace weir
