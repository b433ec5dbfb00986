// How the state of a user's function reaches the tables of its operator, always for the current key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/result.h"
#include "state/keyed_table.h"
#include "state/state_backend.h"
#include "state/ttl.h"

namespace weir {

// The key whose record or timer a function is being called for.
template <class K>
struct CurrentKey {
  K key{};
  KeyHash hash = 0;
  bool exists = true;  // false while a record without key is being processed
};

// What a function's states are bound to. All of it outlives them.
template <class K>
struct KeyedStateScope {
  StateBackend& backend;
  const CurrentKey<K>& current;
  const Clock& clock;  // for what expires
};

// The stored value of the current key. Its users do not know the type of the key. References are
// valid until the next call.
template <class S>
class KeyedAccess {
 public:
  virtual ~KeyedAccess() = default;
  // Null if there is none. The second is for changing it.
  [[nodiscard]] virtual const S* find() = 0;
  [[nodiscard]] virtual S* find_to_change() = 0;
  [[nodiscard]] virtual S& find_or_insert() = 0;
  virtual void erase() = 0;
};

// The stored value and, for what expires, the time. The calls of KeyedAccess look at all parts of what is stored and remove those that
// have expired; the others take time for the key alone, however many parts there are.
template <class S>
class ExpiringAccess : public KeyedAccess<S> {
 public:
  ExpiringAccess(const StateTtl& ttl, const Clock& clock) : ttl_(ttl), clock_(&clock) {}
  // With what has expired.
  [[nodiscard]] virtual const S* find_all() = 0;
  [[nodiscard]] virtual S* find_all_to_change() = 0;
  [[nodiscard]] virtual S& find_all_or_insert() = 0;
  [[nodiscard]] const StateTtl& ttl() const { return ttl_; }
  [[nodiscard]] ProcessingTime now() const { return clock_->processing_time(); }

 private:
  StateTtl ttl_;
  const Clock* clock_;
};

namespace state_detail {

template <class K>
const CurrentKey<K>& checked(const CurrentKey<K>& current) {
  if (!current.exists) [[unlikely]] {
    throw std::logic_error(
        "keyed state was used while a record without key was processed: it belongs to a key");
  }
  return current;
}

template <class K, class S>
class TableAccess final : public KeyedAccess<S> {
 public:
  TableAccess(std::shared_ptr<KeyedTable<K, S>> table, const CurrentKey<K>& current)
      : table_(std::move(table)), current_(&current) {}

  [[nodiscard]] const S* find() override {
    const auto& [key, hash, exists] = checked(*current_);
    return std::as_const(*table_).find(hash, key);
  }
  [[nodiscard]] S* find_to_change() override {
    const auto& [key, hash, exists] = checked(*current_);
    return table_->find(hash, key);
  }
  [[nodiscard]] S& find_or_insert() override {
    const auto& [key, hash, exists] = checked(*current_);
    return table_->find_or_insert(hash, key);
  }
  void erase() override {
    const auto& [key, hash, exists] = checked(*current_);
    table_->erase(hash, key);
  }

 private:
  std::shared_ptr<KeyedTable<K, S>> table_;  // shared with the backend
  const CurrentKey<K>* current_;
};

// Leaves out what has expired at the time of the freeze.
template <class K, class S>
class ExpiringEncoder final : public EntryEncoder<K, S> {
 public:
  ExpiringEncoder(const StateTtl& ttl, ProcessingTime now) : ttl_(ttl), now_(now) {}
  void encode(ByteWriter& writer, const K& key, const S& stored) const override {
    if (!has_expired(stored, ttl_, now_)) return encode_entry(writer, key, stored);
    S left = stored;
    if (expire(left, ttl_, now_)) encode_entry(writer, key, left);
  }

 private:
  static void encode_entry(ByteWriter& writer, const K& key, const S& stored) {
    weir::encode(writer, key);
    weir::encode(writer, stored);
  }
  StateTtl ttl_;
  ProcessingTime now_;
};

template <class K, class S>
class ExpiringTableAccess final : public ExpiringAccess<S> {
 public:
  ExpiringTableAccess(std::shared_ptr<KeyedTable<K, S>> table, const CurrentKey<K>& current,
                      const StateTtl& ttl, const Clock& clock)
      : ExpiringAccess<S>(ttl, clock), table_(std::move(table)), current_(&current) {}

  [[nodiscard]] const S* find() override {
    const auto& [key, hash, exists] = checked(*current_);
    const S* stored = std::as_const(*table_).find(hash, key);
    if (stored == nullptr || !has_expired(*stored, this->ttl(), this->now())) return stored;
    const bool show_once =
        this->ttl().visibility == TtlVisibility::return_expired_if_not_cleaned_up;
    if (show_once) shown_ = *stored;
    const S* left = remove_expired(key, hash);
    return show_once ? &shown_ : left;
  }
  [[nodiscard]] S* find_to_change() override {
    const auto& [key, hash, exists] = checked(*current_);
    return remove_expired(key, hash);
  }
  [[nodiscard]] S& find_or_insert() override {
    S& stored = find_all_or_insert();
    expire(stored, this->ttl(), this->now());
    return stored;
  }
  [[nodiscard]] const S* find_all() override {
    const auto& [key, hash, exists] = checked(*current_);
    return std::as_const(*table_).find(hash, key);
  }
  [[nodiscard]] S* find_all_to_change() override {
    const auto& [key, hash, exists] = checked(*current_);
    return table_->find(hash, key);
  }
  [[nodiscard]] S& find_all_or_insert() override {
    sweep();
    const auto& [key, hash, exists] = checked(*current_);
    return table_->find_or_insert(hash, key);
  }
  void erase() override {
    sweep();
    const auto& [key, hash, exists] = checked(*current_);
    table_->erase(hash, key);
  }

 private:
  static constexpr std::ptrdiff_t parts_swept_per_write = 5;

  S* remove_expired(const K& key, KeyHash hash) {
    S* stored = table_->find(hash, key);
    if (stored == nullptr || expire(*stored, this->ttl(), this->now())) return stored;
    table_->erase(hash, key);
    return nullptr;
  }

  // Looks at the next few entries, round and round, so that keys that are never used again go too. One of many parts counts as so many, and
  // then none are looked at for as many writes as that takes.
  void sweep() {
    to_sweep_ = std::min(to_sweep_ + parts_swept_per_write, parts_swept_per_write);
    if (to_sweep_ <= 0) return;
    const ProcessingTime now = this->now();
    std::vector<K> expired;
    const bool all = table_->walk(cursor_, [&](const K& key, const S& stored) {
      if (has_expired(stored, this->ttl(), now)) expired.push_back(key);
      to_sweep_ -= static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, part_count(stored)));
      return to_sweep_ > 0;
    });
    if (all) cursor_ = {};
    for (const K& key : expired) remove_expired(key, hash_of(key));
  }

  std::shared_ptr<KeyedTable<K, S>> table_;  // shared with the backend
  const CurrentKey<K>* current_;
  TableCursor cursor_;  // of sweep; what moves under it is seen in another round
  std::ptrdiff_t to_sweep_ = 0;
  S shown_{};  // expired, and returned once
};

// A value that expires, for those who want the value alone.
template <class V>
class TimedValueAccess final : public KeyedAccess<V> {
 public:
  explicit TimedValueAccess(std::shared_ptr<ExpiringAccess<TimedValue<V>>> timed)
      : timed_(std::move(timed)) {}

  [[nodiscard]] const V* find() override {
    const TimedValue<V>* stored = timed_->find();
    if (stored == nullptr) return nullptr;
    const bool refresh = timed_->ttl().update == TtlUpdate::on_read_and_write &&
                         !has_expired(*stored, timed_->ttl(), timed_->now());
    return refresh ? find_to_change() : &stored->value;
  }
  [[nodiscard]] V* find_to_change() override { return touched(timed_->find_to_change()); }
  [[nodiscard]] V& find_or_insert() override { return *touched(&timed_->find_or_insert()); }
  void erase() override { timed_->erase(); }

 private:
  V* touched(TimedValue<V>* stored) {
    if (stored == nullptr) return nullptr;
    stored->updated_ms = timed_->now().ms;
    return &stored->value;
  }

  std::shared_ptr<ExpiringAccess<TimedValue<V>>> timed_;
};

}  // namespace state_detail

// Registers a state that is stored as S, without respectively with a time to live.
template <class S, class K>
[[nodiscard]] Result<std::shared_ptr<KeyedAccess<S>>> register_state(
    const KeyedStateScope<K>& scope, std::string_view name, StateKind kind) {
  auto table = scope.backend.template keyed<K, S>(std::string(name), kind);
  if (!table) return table.error();
  return std::shared_ptr<KeyedAccess<S>>(
      std::make_shared<state_detail::TableAccess<K, S>>(*table, scope.current));
}
template <class S, class K>
[[nodiscard]] Result<std::shared_ptr<ExpiringAccess<S>>> register_expiring_state(
    const KeyedStateScope<K>& scope, std::string_view name, StateKind kind, const StateTtl& ttl) {
  auto table =
      scope.backend.template keyed<K, S>(std::string(name), kind, [ttl, clock = &scope.clock] {
        return std::make_shared<const state_detail::ExpiringEncoder<K, S>>(
            ttl, clock->processing_time());
      });
  if (!table) return table.error();
  return std::shared_ptr<ExpiringAccess<S>>(
      std::make_shared<state_detail::ExpiringTableAccess<K, S>>(*table, scope.current, ttl,
                                                                scope.clock));
}

// One value per key, with a time to live or without.
template <class V, class K>
[[nodiscard]] Result<std::shared_ptr<KeyedAccess<V>>> register_value(
    const KeyedStateScope<K>& scope, std::string_view name, StateKind kind, const StateTtl& ttl) {
  if (!ttl.is_on()) return register_state<V>(scope, name, kind);
  auto timed = register_expiring_state<TimedValue<V>>(scope, name, kind, ttl);
  if (!timed) return timed.error();
  return std::shared_ptr<KeyedAccess<V>>(
      std::make_shared<state_detail::TimedValueAccess<V>>(*std::move(timed)));
}

}  // namespace weir
