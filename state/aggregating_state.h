// Values aggregated per key, as a member of a user's function.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/result.h"
#include "state/aggregate_function.h"
#include "state/keyed_access.h"

namespace weir {

// Belongs to the current key of a keyed function, as ValueState does. Agg is an AggregateFunction;
// its accumulator is what is stored.
template <class Agg>
class AggregatingState {
 public:
  using Value = typename Agg::Accumulator;

  AggregatingState() = default;
  AggregatingState(StateTtl ttl) : ttl_(ttl) {}
  AggregatingState(Agg aggregate, StateTtl ttl = {})
      : aggregate_(std::move(aggregate)), ttl_(ttl) {}

  // Nothing if nothing was added for the key.
  [[nodiscard]] std::optional<AggregateResult<Agg>> get() const {
    const Value* accumulator = access().find();
    if (accumulator == nullptr) return std::nullopt;
    return aggregate_.result(*accumulator);
  }
  template <class T>
  requires AggregateFunction<Agg, T>
  void add(const T& value) { aggregate_.add(access().find_or_insert(), value); }
  void clear() { access().erase(); }

  // For the operator that owns the function.
  template <class K>
  [[nodiscard]] Result<void> bind(const KeyedStateScope<K>& scope, std::string_view name) {
    auto access = register_value<Value>(scope, name, StateKind::aggregating, ttl_);
    if (!access) return access.error();
    access_ = *std::move(access);
    return {};
  }

 private:
  [[nodiscard]] KeyedAccess<Value>& access() const {
    WEIR_CHECK(access_ != nullptr);  // a state of a function that runs in no keyed operator
    return *access_;
  }

  Agg aggregate_{};
  StateTtl ttl_;
  std::shared_ptr<KeyedAccess<Value>> access_;  // shared type because functions are copied before
};

}  // namespace weir
