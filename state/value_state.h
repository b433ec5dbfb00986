// One value per key, as a member of a user's function.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/ids.h"
#include "state/keyed_table.h"

namespace weir {

// The key whose record or timer a function is being called for.
template <class K>
struct CurrentKey {
  K key{};
  KeyHash hash = 0;
};

// What a ValueState asks its backend, always for the current key.
template <class V>
class ValueAccess {
 public:
  virtual ~ValueAccess() = default;
  [[nodiscard]] virtual V* find() = 0;
  [[nodiscard]] virtual V& find_or_insert() = 0;
  virtual void erase() = 0;
};

// In memory: no serialisation on access.
template <class K, class V>
class MemoryValueAccess final : public ValueAccess<V> {
 public:
  // `current` outlives the access.
  MemoryValueAccess(KeyGroupSlice slice, const CurrentKey<K>& current)
      : table_(slice), current_(&current) {}

  [[nodiscard]] V* find() override { return table_.find(current_->hash, current_->key); }
  [[nodiscard]] V& find_or_insert() override {
    return table_.find_or_insert(current_->hash, current_->key);
  }
  void erase() override { table_.erase(current_->hash, current_->key); }

 private:
  KeyedTable<K, V> table_;
  const CurrentKey<K>* current_;
};

// A value that belongs to the current key of a keyed function. The member's name is the state's
// name. Usable only inside the function's callbacks. References are valid until the callback
// returns or changes the state.
template <class V>
class ValueState {
 public:
  using Value = V;

  // Null if the key has none.
  [[nodiscard]] const V* get() const { return access().find(); }
  [[nodiscard]] V value_or(V otherwise) const {
    const V* value = get();
    return value == nullptr ? std::move(otherwise) : *value;
  }
  void set(V value) { access().find_or_insert() = std::move(value); }
  // The key's value for changing it in place, V{} at first.
  [[nodiscard]] V& update() { return access().find_or_insert(); }
  void clear() { access().erase(); }

  // For the operator that owns the function.
  void bind(std::shared_ptr<ValueAccess<V>> access) { access_ = std::move(access); }

 private:
  [[nodiscard]] ValueAccess<V>& access() const {
    WEIR_CHECK(access_ != nullptr);  // a state of a function that runs in no keyed operator
    return *access_;
  }

  std::shared_ptr<ValueAccess<V>>
      access_;  // shared type because functions are copied before they are bound
};

}  // namespace weir
