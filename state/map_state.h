// A map per key, as a member of a user's function.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "state/hash_map.h"
#include "state/keyed_access.h"

namespace weir {

// A map that belongs to the current key of a keyed function, as ValueState is a value; its own keys
// are UserKeys. A key whose map is empty takes no memory. With a time to live, entries expire one by
// one.
template <class UserKey, class V>
class MapState {
 public:
  using Value = V;

  MapState() = default;
  MapState(StateTtl ttl) : ttl_(ttl) {}

  // Null if absent. Valid until the callback returns or uses the state again.
  [[nodiscard]] const V* get(const UserKey& key) const {
    if (timed_ != nullptr) return find_timed(key);
    const auto* map = plain().find();
    if (map == nullptr) return nullptr;
    const auto found = map->find(key);
    return found == map->end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool contains(const UserKey& key) const { return get(key) != nullptr; }
  void put(const UserKey& key, V value) {
    if (timed_ != nullptr) {
      timed_->find_all_or_insert().entries[key] = {timed_->now().ms, std::move(value)};
    } else {
      plain().find_or_insert()[key] = std::move(value);
    }
  }
  void remove(const UserKey& key) {
    if (timed_ != nullptr) {
      auto* map = timed_->find_all_to_change();
      if (map != nullptr && map->entries.erase(key) > 0 && map->entries.empty()) timed_->erase();
    } else {
      auto* map = plain().find_to_change();
      if (map != nullptr && map->erase(key) > 0 && map->empty()) plain().erase();
    }
  }
  // Calls visit(const UserKey&, const V&) for all entries, in no order. It must not use the state.
  template <class Visit>
  void for_each(Visit visit) const {
    if (timed_ != nullptr) {
      const auto* map = timed_->find();
      if (map == nullptr) return;
      for (const auto& [key, timed] : map->entries) visit(key, timed.value);
      if (ttl_.update == TtlUpdate::on_read_and_write) refresh_all();
    } else if (const auto* map = plain().find()) {
      for (const auto& [key, value] : *map) visit(key, value);
    }
  }
  // A copy of them.
  [[nodiscard]] std::vector<std::pair<UserKey, V>> entries() const {
    std::vector<std::pair<UserKey, V>> copies;
    for_each([&](const UserKey& key, const V& value) { copies.emplace_back(key, value); });
    return copies;
  }
  [[nodiscard]] bool is_empty() const {
    if (timed_ == nullptr) return plain().find() == nullptr;
    return !has_some_left() && timed_->find() == nullptr;
  }
  void clear() { timed_ != nullptr ? timed_->erase() : plain().erase(); }

  // For the operator that owns the function.
  template <class K>
  [[nodiscard]] Result<void> bind(const KeyedStateScope<K>& scope, std::string_view name) {
    if (ttl_.is_on()) {
      auto timed = register_expiring_state<TimedMap<UserKey, V>>(scope, name, StateKind::map, ttl_);
      if (!timed) return timed.error();
      timed_ = *std::move(timed);
    } else {
      auto plain = register_state<HashMap<UserKey, V>>(scope, name, StateKind::map);
      if (!plain) return plain.error();
      plain_ = *std::move(plain);
    }
    return {};
  }

 private:
  const V* find_timed(const UserKey& key) const {
    const TimedMap<UserKey, V>* map = timed_->find_all();
    if (map == nullptr) return nullptr;
    const auto found = map->entries.find(key);
    if (found == map->entries.end()) return nullptr;
    const ProcessingTime now = timed_->now();
    if (has_expired(found->second, ttl_, now)) return remove_expired(key);
    if (ttl_.update != TtlUpdate::on_read_and_write) return &found->second.value;
    TimedValue<V>& changed = timed_->find_all_to_change()->entries.at(key);
    changed.updated_ms = now.ms;
    return &changed.value;
  }
  // Its value, if that may be seen once more. Requires that there is such an entry.
  const V* remove_expired(const UserKey& key) const {
    TimedMap<UserKey, V>& map = *timed_->find_all_to_change();
    const auto found = map.entries.find(key);
    const bool show_once = ttl_.visibility == TtlVisibility::return_expired_if_not_cleaned_up;
    if (show_once) shown_ = std::move(found->second.value);
    map.entries.erase(found);
    if (map.entries.empty()) timed_->erase();
    return show_once ? &*shown_ : nullptr;
  }
  [[nodiscard]] bool has_some_left() const {
    const TimedMap<UserKey, V>* map = timed_->find_all();
    if (map == nullptr) return false;
    return std::ranges::any_of(map->entries, [&, now = timed_->now()](const auto& entry) {
      return !has_expired(entry.second, ttl_, now);
    });
  }
  void refresh_all() const {
    TimedMap<UserKey, V>* map = timed_->find_to_change();
    if (map == nullptr) return;
    for (auto& entry : map->entries) entry.second.updated_ms = timed_->now().ms;
  }
  [[nodiscard]] KeyedAccess<HashMap<UserKey, V>>& plain() const {
    WEIR_CHECK(plain_ != nullptr);  // a state of a function that runs in no keyed operator
    return *plain_;
  }

  StateTtl ttl_;
  // One of them, once bound; shared type because functions are copied before.
  std::shared_ptr<KeyedAccess<HashMap<UserKey, V>>> plain_;
  std::shared_ptr<ExpiringAccess<TimedMap<UserKey, V>>> timed_;
  mutable std::optional<V> shown_;  // expired, and returned once
};

}  // namespace weir
