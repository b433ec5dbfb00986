// What of an operator's state goes into a checkpoint, and comes back from one. Frozen at a barrier by the
// StateBackend, written elsewhere, read again into RestoredState.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "state/key_groups.h"

namespace weir {

// Part of the snapshot format: numbers are never reused.
enum class StateKind : std::uint8_t {
  // Keyed: belong to a key, and move with its key group.
  value = 0,
  list = 1,
  map = 2,
  reducing = 3,
  aggregating = 4,
  windows = 5,
  event_timers = 6,
  processing_timers = 7,
  // Of an operator instance.
  split_list = 16,  // items are dealt out among the instances
  union_list = 17,  // every instance gets all items
  broadcast = 18,   // a map that is the same in every instance
};

[[nodiscard]] constexpr bool is_keyed(StateKind kind) {
  return kind < StateKind::split_list;
}

// A state's identity within its operator, and what its entries are made of.
struct StateDescriptor {
  std::string name;
  StateKind kind{};
  std::string schema;  // of key, namespace and value, see base/schema.h
  friend bool operator==(const StateDescriptor&, const StateDescriptor&) = default;
};

// One keyed state as it was at the barrier. It may be read by another thread while the operator goes on, and
// after that has ended; by one thread at a time. Each group is asked for once.
class FrozenKeyedState {
 public:
  virtual ~FrozenKeyedState() = default;
  [[nodiscard]] virtual const StateDescriptor& descriptor() const = 0;
  [[nodiscard]] virtual KeyGroupSlice slice() const = 0;
  // Appends the entries of one group of the slice; nothing if there are none.
  virtual void write_group(KeyGroup group, ByteWriter& writer) = 0;
};

// A list or broadcast state: small, so it is encoded at the barrier. An item is an element of a list, or an entry
// of a map.
struct OperatorStateItems {
  StateDescriptor descriptor;
  std::vector<Bytes> items;
  friend bool operator==(const OperatorStateItems&, const OperatorStateItems&) = default;
};

// All states of one operator instance.
struct FrozenState {
  std::vector<std::unique_ptr<FrozenKeyedState>> keyed;
  std::vector<OperatorStateItems> items;
};

// What an instance is restored from: the groups that are now its own, the items that are dealt to it.
struct RestoredKeyedState {
  StateDescriptor descriptor;
  std::vector<std::pair<KeyGroup, Bytes>> groups;  // a group may come in several pieces
};
struct RestoredState {
  std::vector<RestoredKeyedState> keyed;
  std::vector<OperatorStateItems> items;
};

}  // namespace weir
