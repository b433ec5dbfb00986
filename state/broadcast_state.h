// A map that is the same in all instances of an operator, as a member of a user's function.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "state/hash_map.h"
#include "state/state_backend.h"

namespace weir {

// Read by both sides of a function that connects a stream with a broadcast one, and changed by the
// broadcast side only, which all instances see: so it stays the same in all of them. A change from
// elsewhere is an exception, which fails the task. The member's name is the state's name.
template <class K, class V>
class BroadcastState {
 public:
  using Value = V;

  // Null if absent. Valid until the state changes.
  [[nodiscard]] const V* get(const K& key) const {
    const auto found = entries_now().find(key);
    return found == entries_now().end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool contains(const K& key) const { return get(key) != nullptr; }
  [[nodiscard]] bool is_empty() const { return entries_now().empty(); }
  // Calls visit(const K&, const V&) for all entries, in no order. It must not change the state.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [key, value] : entries_now()) visit(key, value);
  }
  // A copy of them.
  [[nodiscard]] std::vector<std::pair<K, V>> entries() const {
    return {entries_now().begin(), entries_now().end()};
  }
  void put(const K& key, V value) { entries_to_change()[key] = std::move(value); }
  void remove(const K& key) { entries_to_change().erase(key); }
  void clear() { entries_to_change().clear(); }

  // For the operator that owns the function; `may_change` outlives it and says which side is being
  // called.
  [[nodiscard]] Result<void> bind(StateBackend& backend, std::string_view name,
                                  const bool& may_change) {
    auto map = backend.broadcast<K, V>(std::string(name));
    if (!map) return map.error();
    map_ = *std::move(map);
    name_ = name;
    may_change_ = &may_change;
    return {};
  }

 private:
  [[nodiscard]] HashMap<K, V>& entries_now() const {
    WEIR_CHECK(map_ != nullptr);  // a state of a function that runs in no operator
    return *map_;
  }
  [[nodiscard]] HashMap<K, V>& entries_to_change() const {
    HashMap<K, V>& entries = entries_now();
    if (!*may_change_) {
      throw std::logic_error("the broadcast state '" + name_ +
                             "' can only be changed by on_element2, for records of the broadcast "
                             "stream: other records are not the same in all subtasks");
    }
    return entries;
  }

  std::string name_;
  std::shared_ptr<HashMap<K, V>> map_;  // shared with the backend
  const bool* may_change_ = nullptr;
};

}  // namespace weir
