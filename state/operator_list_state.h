// A list that belongs to an operator's instance, as a member of a user's function.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "state/state_backend.h"

namespace weir {

// What becomes of the lists of all instances when they are restored: dealt out among the new
// instances (each keeps its own if their number is the same), or all items to each.
enum class ListRedistribution : std::uint8_t { split, union_of_all };

// Items that belong to no key. The member's name is the state's name. Usable in the callbacks of a
// function without key.
template <class T>
class OperatorListState {
 public:
  using Value = T;

  OperatorListState() = default;
  OperatorListState(ListRedistribution redistribution) : redistribution_(redistribution) {}

  [[nodiscard]] const std::vector<T>& get() const { return items(); }
  void add(T item) { items().push_back(std::move(item)); }
  void add_all(const std::vector<T>& more) {
    items().insert(items().end(), more.begin(), more.end());
  }
  // Puts these in place of all.
  void update(std::vector<T> all) { items() = std::move(all); }
  void clear() { std::vector<T>().swap(items()); }

  // For the operator that owns the function.
  [[nodiscard]] Result<void> bind(StateBackend& backend, std::string_view name) {
    const bool split = redistribution_ == ListRedistribution::split;
    auto items =
        backend.list<T>(std::string(name), split ? StateKind::split_list : StateKind::union_list);
    if (!items) return items.error();
    items_ = *std::move(items);
    return {};
  }

 private:
  [[nodiscard]] std::vector<T>& items() const {
    WEIR_CHECK(items_ != nullptr);  // a state of a function that runs in no operator
    return *items_;
  }

  ListRedistribution redistribution_ = ListRedistribution::split;
  std::shared_ptr<std::vector<T>> items_;  // shared with the backend
};

}  // namespace weir
