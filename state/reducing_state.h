// Values folded into one per key, as a member of a user's function.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "state/keyed_access.h"

namespace weir {

// Belongs to the current key of a keyed function, as ValueState does. F is (const T&, const T&) → T,
// such as std::plus<>.
template <class T, class F>
class ReducingState {
 public:
  using Value = T;

  ReducingState() = default;
  ReducingState(StateTtl ttl) : ttl_(ttl) {}
  ReducingState(F reduce, StateTtl ttl = {}) : reduce_(std::move(reduce)), ttl_(ttl) {}

  // Null if nothing was added for the key.
  [[nodiscard]] const T* get() const { return access().find(); }
  void add(T value) {
    if (T* reduced = access().find_to_change()) {
      *reduced = reduce_(std::as_const(*reduced), std::as_const(value));
    } else {
      access().find_or_insert() = std::move(value);
    }
  }
  void clear() { access().erase(); }

  // For the operator that owns the function.
  template <class K>
  [[nodiscard]] Result<void> bind(const KeyedStateScope<K>& scope, std::string_view name) {
    auto access = register_value<T>(scope, name, StateKind::reducing, ttl_);
    if (!access) return access.error();
    access_ = *std::move(access);
    return {};
  }

 private:
  [[nodiscard]] KeyedAccess<T>& access() const {
    WEIR_CHECK(access_ != nullptr);  // a state of a function that runs in no keyed operator
    return *access_;
  }

  F reduce_{};
  StateTtl ttl_;
  std::shared_ptr<KeyedAccess<T>> access_;  // shared type because functions are copied before
};

}  // namespace weir
