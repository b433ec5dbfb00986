// The hash table of the limits: the least that a table by key can be.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace weir::bench {

// Open addressing in memory that never grows. Slot has a `key`, used() and take(key), after which it is used.
template <class Slot>
class KeySlots {
 public:
  explicit KeySlots(std::size_t keys_max)
      : slots_(std::bit_ceil(keys_max * 2)), mask_(slots_.size() - 1) {}

  // The key's; taken if there was none.
  Slot& slot_of(std::uint64_t key) {
    for (std::uint64_t i = mix64(key) & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (!slot.used()) {
        slot.take(key);
        return slot;
      }
      if (slot.key == key) return slot;
    }
  }
  void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[mix64(key) & mask_], 1); }
  [[nodiscard]] std::vector<Slot>& all() { return slots_; }

 private:
  std::vector<Slot> slots_;
  std::uint64_t mask_;
};

}  // namespace weir::bench
