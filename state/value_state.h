// One value per key, as a member of a user's function.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "state/keyed_access.h"

namespace weir {

// A value that belongs to the current key of a keyed function. The member's name is the state's
// name. Usable only inside the function's callbacks. References are valid until the callback
// returns or changes the state; of one with a time to live, also until it reads it again.
template <class V>
class ValueState {
 public:
  using Value = V;

  ValueState() = default;
  ValueState(StateTtl ttl) : ttl_(ttl) {}

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
  template <class K>
  [[nodiscard]] Result<void> bind(const KeyedStateScope<K>& scope, std::string_view name) {
    auto access = register_value<V>(scope, name, StateKind::value, ttl_);
    if (!access) return access.error();
    access_ = *std::move(access);
    return {};
  }

 private:
  [[nodiscard]] KeyedAccess<V>& access() const {
    WEIR_CHECK(access_ != nullptr);  // a state of a function that runs in no keyed operator
    return *access_;
  }

  StateTtl ttl_;
  std::shared_ptr<KeyedAccess<V>>
      access_;  // shared type because functions are copied before they are bound
};

}  // namespace weir
