// A list per key, as a member of a user's function.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "state/keyed_access.h"

namespace weir {

// A list that belongs to the current key of a keyed function, as ValueState is a value. A key
// without items takes no memory. With a time to live, items expire one by one.
template <class T>
class ListState {
 public:
  using Value = T;

  ListState() = default;
  ListState(StateTtl ttl) : ttl_(ttl) {}

  // Empty if the key has no items. Valid until the callback returns or uses the state again.
  [[nodiscard]] const std::vector<T>& get() const {
    if (timed_ != nullptr) return values_of(timed_->find());
    const std::vector<T>* values = plain().find();
    return values == nullptr ? none() : *values;
  }
  void add(T value) {
    if (timed_ != nullptr) {
      TimedList<T>& list = timed_->find_all_or_insert();
      list.values.push_back(std::move(value));
      list.updated_ms.push_back(timed_->now().ms);
    } else {
      plain().find_or_insert().push_back(std::move(value));
    }
  }
  void add_all(std::vector<T> values) {
    if (values.empty()) return;
    for (T& value : values) add(std::move(value));
  }
  // Puts these in place of all.
  void update(std::vector<T> values) {
    if (values.empty()) return clear();
    if (timed_ != nullptr) {
      TimedList<T>& list = timed_->find_all_or_insert();
      list.updated_ms.assign(values.size(), timed_->now().ms);
      list.values = std::move(values);
    } else {
      plain().find_or_insert() = std::move(values);
    }
  }
  void clear() { timed_ != nullptr ? timed_->erase() : plain().erase(); }

  // For the operator that owns the function.
  template <class K>
  [[nodiscard]] Result<void> bind(const KeyedStateScope<K>& scope, std::string_view name) {
    if (ttl_.is_on()) {
      auto timed = register_expiring_state<TimedList<T>>(scope, name, StateKind::list, ttl_);
      if (!timed) return timed.error();
      timed_ = *std::move(timed);
    } else {
      auto plain = register_state<std::vector<T>>(scope, name, StateKind::list);
      if (!plain) return plain.error();
      plain_ = *std::move(plain);
    }
    return {};
  }

 private:
  static const std::vector<T>& none() {
    static const std::vector<T> empty;
    return empty;
  }
  const std::vector<T>& values_of(const TimedList<T>* list) const {
    if (list == nullptr) return none();
    const bool refresh =
        ttl_.update == TtlUpdate::on_read_and_write && !has_expired(*list, ttl_, timed_->now());
    if (!refresh) return list->values;
    TimedList<T>& changed = *timed_->find_to_change();
    changed.updated_ms.assign(changed.values.size(), timed_->now().ms);
    return changed.values;
  }
  [[nodiscard]] KeyedAccess<std::vector<T>>& plain() const {
    WEIR_CHECK(plain_ != nullptr);  // a state of a function that runs in no keyed operator
    return *plain_;
  }

  StateTtl ttl_;
  // One of them, once bound; shared type because functions are copied before.
  std::shared_ptr<KeyedAccess<std::vector<T>>> plain_;
  std::shared_ptr<ExpiringAccess<TimedList<T>>> timed_;
};

}  // namespace weir
