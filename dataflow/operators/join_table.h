// The rows of one side of a join of changelogs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/result.h"
#include "base/time.h"
#include "state/hash_map.h"
#include "state/keyed_access.h"
#include "state/ttl.h"

namespace weir {

// What makes two records of a changelog the same row: that they are equal. There may be several equal rows; each is taken back by
// itself.
struct EqualRows {
  template <class T>
  using Id = T;
};
// Or what `id` gives for them: then a row that is added replaces the one with its id.
template <class F>
struct IdentifiedRows {
  template <class T>
  using Id = std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>;
  F id;
};

// How often a row is there, and how many of these were told to have no partner.
struct RowCopies {
  std::uint32_t count = 0;
  std::uint32_t unmatched = 0;
};

// A row that is kept by its id.
template <class T>
struct IdentifiedRow {
  T row{};
  RowCopies copies{};
};

// Of the current key, by what identifies them; with a time to live if wanted, which is that of each row since it was last written. What
// it hands out is valid until it is changed.
template <class T, class Identity>
class JoinTable {
 public:
  using Id = typename Identity::template Id<T>;
  static constexpr bool by_id = !std::is_same_v<Identity, EqualRows>;

  struct Entry {
    const T* row;
    RowCopies* copies;
  };
  struct Removed {
    T row;
    bool was_unmatched;
  };

  JoinTable(Identity identity, StateTtl ttl) : identity_(std::move(identity)), ttl_(ttl) {}

  // The scope outlives it.
  template <class K>
  [[nodiscard]] Result<void> bind(const KeyedStateScope<K>& scope, std::string_view name) {
    if (ttl_.is_on()) {
      auto timed = register_expiring_state<TimedMap<Id, Stored>>(scope, name, StateKind::map, ttl_);
      if (!timed) return timed.error();
      timed_ = *std::move(timed);
    } else {
      auto plain = register_state<HashMap<Id, Stored>>(scope, name, StateKind::map);
      if (!plain) return plain.error();
      plain_ = *std::move(plain);
    }
    return {};
  }

  // Before each record: what has expired by `now` is not there. Rows stay where they are until the next one, also if time goes on.
  void begin_record(const Clock& clock) {
    if (timed_ != nullptr) now_ = clock.processing_time();
  }

  [[nodiscard]] bool is_empty() const {
    if (timed_ == nullptr) return plain_->find() == nullptr;
    const auto* map = timed_->find_all();
    return map == nullptr || std::ranges::none_of(map->entries, [this](const auto& entry) {
             return is_alive(entry.second);
           });
  }

  // Calls visit(const T&, const RowCopies&) for all rows, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    if (timed_ != nullptr) {
      if (const auto* map = timed_->find_all()) visit_all(map->entries, visit);
    } else if (const auto* map = plain_->find()) {
      visit_all(*map, visit);
    }
  }
  // The same for visit(const T&, RowCopies&).
  template <class Visit>
  void for_each_to_change(Visit visit) {
    if (timed_ != nullptr) {
      if (auto* map = timed_->find_all_to_change()) visit_all(map->entries, visit);
    } else if (auto* map = plain_->find_to_change()) {
      visit_all(*map, visit);
    }
  }

  // One more of it, or another one in place of that with its id. Whoever adds it says whether it has a partner.
  Entry add(const T& row) {
    if constexpr (by_id) {
      const auto [id, stored] = find_or_insert(std::invoke(identity_.id, row));
      *stored = {row, {.count = 1, .unmatched = 0}};
      return {&stored->row, &stored->copies};
    } else {
      const auto [id, copies] = find_or_insert(row);
      ++copies->count;
      return {id, copies};
    }
  }

  // One of it, one without partner first; nothing if there is none. By id: as it was added, whatever else `row` says.
  [[nodiscard]] std::optional<Removed> remove(const T& row) {
    if constexpr (by_id) {
      return remove_id(std::invoke(identity_.id, row), row);
    } else {
      return remove_id(row, row);
    }
  }

 private:
  using Stored = std::conditional_t<by_id, IdentifiedRow<T>, RowCopies>;

  template <class Map, class Visit>
  void visit_all(Map& map, Visit& visit) const {
    for (auto& [id, stored] : map) {
      if (!is_alive(stored)) continue;
      auto& value = value_of(stored);
      if constexpr (by_id) {
        visit(std::as_const(value.row), value.copies);
      } else {
        visit(id, value);
      }
    }
  }

  std::pair<const Id*, Stored*> find_or_insert(const Id& id) {
    if (timed_ == nullptr) {
      auto& [kept_id, stored] = *plain_->find_or_insert().try_emplace(id).first;
      return {&kept_id, &stored};
    }
    auto& [kept_id, timed] = *timed_->find_all_or_insert().entries.try_emplace(id).first;
    if (!is_alive(timed)) timed.value = {};
    timed.updated_ms = now_.ms;
    return {&kept_id, &timed.value};
  }

  std::optional<Removed> remove_id(const Id& id, const T& row) {
    if (timed_ != nullptr) {
      auto* map = timed_->find_all_to_change();
      return map == nullptr ? std::nullopt : remove_from(*timed_, map->entries, id, row);
    }
    auto* map = plain_->find_to_change();
    return map == nullptr ? std::nullopt : remove_from(*plain_, *map, id, row);
  }
  template <class Access, class Map>
  std::optional<Removed> remove_from(Access& access, Map& map, const Id& id, const T& row) const {
    const auto found = map.find(id);
    if (found == map.end()) return std::nullopt;
    Stored& stored = value_of(found->second);
    RowCopies& copies = copies_of(stored);
    std::optional<Removed> removed;
    if (is_alive(found->second)) {
      removed = Removed{row_of(stored, row), copies.unmatched > 0};
      if (removed->was_unmatched) --copies.unmatched;
      --copies.count;
    } else {
      copies.count = 0;
    }
    if (copies.count == 0) {
      map.erase(found);
      if (map.empty()) access.erase();
    }
    return removed;
  }

  [[nodiscard]] bool is_alive(const Stored& /*stored*/) const { return true; }
  [[nodiscard]] bool is_alive(const TimedValue<Stored>& timed) const {
    return !has_expired(timed, ttl_, now_);
  }

  static Stored& value_of(Stored& stored) { return stored; }
  static const Stored& value_of(const Stored& stored) { return stored; }
  static Stored& value_of(TimedValue<Stored>& timed) { return timed.value; }
  static const Stored& value_of(const TimedValue<Stored>& timed) { return timed.value; }
  static RowCopies& copies_of(Stored& stored) {
    if constexpr (by_id) {
      return stored.copies;
    } else {
      return stored;
    }
  }
  static T row_of(Stored& stored, const T& row) {
    if constexpr (by_id) {
      return std::move(stored.row);
    } else {
      return row;
    }
  }

  Identity identity_;
  StateTtl ttl_;
  ProcessingTime now_{};  // of the record
  // One of them, once bound; shared with nobody.
  std::shared_ptr<KeyedAccess<HashMap<Id, Stored>>> plain_;
  std::shared_ptr<ExpiringAccess<TimedMap<Id, Stored>>> timed_;
};

}  // namespace weir
