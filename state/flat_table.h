// A hash table for the state of one key group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/ids.h"
#include "state/frozen_table.h"
#include "state/tag_group.h"

namespace weir {

// Maps keys to values in one flat array with linear probing. The caller brings the hash, computed
// once per record.
//
// A byte per slot, its tag, holds 7 bits of the hash. A probe looks at eight tags at once, wherever
// its home is: that finds nearly every key without a branch that depends on where in the group it
// is, which the processor cannot predict. The bits that choose the slot (low), the tag (25…31) and
// the key group (32…63) are disjoint. At most 5/8 of the slots are used, where probes are still
// short; the table allocates nothing while it is empty. Erasing shifts the entries behind back (Knuth, TAOCP 3, 6.4 R), so there are no
// tombstones. References are valid until the next insertion, erasure or freeze. Not thread-safe.
//
// freeze() gives another thread the table as it is now, without a copy: see FrozenTable. Until that
// is written, what this table changes first is saved first; otherwise it costs a test for null.
template <class K, class V>
class FlatTable {
 public:
  FlatTable() = default;
  FlatTable(FlatTable&& other) noexcept { swap(other); }
  FlatTable& operator=(FlatTable&& other) noexcept {
    FlatTable moved(std::move(other));
    swap(moved);
    return *this;
  }
  FlatTable(const FlatTable&) = delete;
  FlatTable& operator=(const FlatTable&) = delete;
  ~FlatTable() { release(); }

  // The key's value, made by V{} if absent. Requires hash == hash_of(key).
  V& find_or_insert(KeyHash hash, const K& key) {
    const std::uint8_t tag = tag_of(hash);
    for (std::size_t first = hash & mask_;; first = (first + TagGroup::size) & mask_) {
      const auto group = TagGroup::load(tags_ + first);
      for (auto match = group.like(tag); match.any(); match.drop_first()) {
        const std::size_t i = (first + match.first()) & mask_;
        if (!keys_equal(slots_[i].key, key)) [[unlikely]]
          continue;
        if (frozen_ != nullptr) [[unlikely]]
          save(i);
        return slots_[i].value;
      }
      const auto unused = group.unused();
      if (unused.any()) return insert_at((first + unused.first()) & mask_, tag, hash, key);
    }
  }

  // Null if absent. The first is for changing the value.
  [[nodiscard]] V* find(KeyHash hash, const K& key) {
    const std::size_t slot = slot_of(hash, key);
    if (slot == absent) return nullptr;
    if (frozen_ != nullptr) [[unlikely]]
      save(slot);
    return &slots_[slot].value;
  }
  [[nodiscard]] const V* find(KeyHash hash, const K& key) const {
    const std::size_t slot = slot_of(hash, key);
    return slot == absent ? nullptr : &slots_[slot].value;
  }

  // Returns whether the key was there.
  bool erase(KeyHash hash, const K& key) {
    const std::size_t slot = slot_of(hash, key);
    if (slot == absent) return false;
    erase_slot(slot);
    return true;
  }

  // Of the values in the slots [begin, end): changes those for which needs_change(const V&), by change(V&), and erases them if
  // it returns false. An entry of this range may be looked at twice, and ends up in it or before.
  template <class NeedsChange, class Change>
  void change_or_erase(std::size_t begin, std::size_t end, NeedsChange needs_change,
                       Change change) {
    for (std::size_t i = next_used(begin, end); i < end;) {
      if (needs_change(std::as_const(slots_[i].value))) {
        if (frozen_ != nullptr) [[unlikely]]
          save(i);
        if (!change(slots_[i].value)) {
          erase_slot(i);
          i = next_used(i, end);  // another one may have moved there
          continue;
        }
      }
      i = next_used(i + 1, end);
    }
  }

  void prefetch(KeyHash hash) const {
    __builtin_prefetch(&tags_[hash & mask_]);
    __builtin_prefetch(&slots_[hash & mask_], 1);
  }
  // The first half of touch(), for those who touch several keys.
  void touch_tags(KeyHash hash) const {
    (void)*reinterpret_cast<const volatile std::uint8_t*>(tags_ + (hash & mask_));
  }
  // Reads the memory that a search for the key will, and returns what is probably its value; null if there is probably none.
  [[nodiscard]] const V* touch(KeyHash hash) const {
    if (slots_ == nullptr) return nullptr;
    const std::size_t first = hash & mask_;
    const auto match = TagGroup::load(tags_ + first).like(tag_of(hash));
    const Slot& slot = slots_[(first + (match.any() ? match.first() : 0)) & mask_];
    const auto* const bytes = reinterpret_cast<const volatile std::byte*>(&slot);
    (void)bytes[0];
    (void)bytes[sizeof(Slot) - 1];
    return match.any() ? &slot.value : nullptr;
  }
  // What a change of the entry needs besides, while the table is frozen.
  void prefetch_frozen(KeyHash hash) const {
    if (frozen_ != nullptr) frozen_->prefetch(hash & mask_);
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // Position of a resumable walk, from 0 to slot_count(). `next_used` returns the first used slot
  // at or behind `slot`, or slot_count().
  [[nodiscard]] std::size_t slot_count() const { return slots_ == nullptr ? 0 : mask_ + 1; }
  [[nodiscard]] std::size_t next_used(std::size_t slot) const {
    return next_used(slot, slot_count());
  }
  // Or `end`, which is at most slot_count().
  [[nodiscard]] std::size_t next_used(std::size_t slot, std::size_t end) const {
    while (slot < end) {
      const std::size_t first = slot - slot % TagGroup::size;
      const auto used = TagGroup::load(tags_ + first).used().from(slot - first);
      if (used.any()) return std::min(first + used.first(), end);
      slot = first + TagGroup::size;
    }
    return end;
  }
  // Requires that `slot` is used.
  [[nodiscard]] const K& key_at(std::size_t slot) const { return slots_[slot].key; }
  [[nodiscard]] const V& value_at(std::size_t slot) const { return slots_[slot].value; }

  // Drops all entries and keeps the memory, unless that is still being written to a snapshot.
  void clear() {
    if (size_ == 0) return;
    if (frozen_ != nullptr && leave_to_frozen()) return;
    block().destroy_entries();
    block().clear_tags();
    size_ = 0;
  }

  // The entries as they are now, for one other thread to write; null if there are none. What an
  // earlier freeze has not written yet is saved now. If the result is not going to be written, its
  // give_up() must be called. Tables of one thread may share the pools.
  [[nodiscard]] std::shared_ptr<FrozenTable<K, V>> freeze(
      std::shared_ptr<const EntryEncoder<K, V>> encoder, const FreezePools& pools) {
    save_all();
    if (size_ == 0) return nullptr;
    frozen_ = std::make_shared<FrozenTable<K, V>>(block(), std::move(encoder), pools);
    return frozen_;
  }

  // Memory held, with what keys and values own elsewhere; O(size) when they own something.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = block().bytes();
    if constexpr (has_heap<K> || has_heap<V>) {
      for (std::size_t i = next_used(0); i < slot_count(); i = next_used(i + 1)) {
        total += heap_bytes(slots_[i].key) + heap_bytes(slots_[i].value);
      }
    }
    return total;
  }

 private:
  using Slot = TableSlot<K, V>;
  static constexpr std::size_t initial_slots = 8;
  static constexpr std::size_t absent = ~std::size_t{0};
  // What an empty table probes; never written.
  static inline std::uint8_t no_tags[TagGroup::size] = {};

  static std::uint8_t tag_of(KeyHash hash) {
    return static_cast<std::uint8_t>(0x80U | ((hash >> 25) & 0x7fU));
  }

  [[nodiscard]] std::size_t slot_of(KeyHash hash, const K& key) const {
    const std::uint8_t tag = tag_of(hash);
    for (std::size_t first = hash & mask_;; first = (first + TagGroup::size) & mask_) {
      const auto group = TagGroup::load(tags_ + first);
      for (auto match = group.like(tag); match.any(); match.drop_first()) {
        const std::size_t i = (first + match.first()) & mask_;
        if (keys_equal(slots_[i].key, key)) [[likely]]
          return i;
      }
      if (group.unused().any()) return absent;
    }
  }

  V& insert_at(std::size_t slot, std::uint8_t tag, KeyHash hash, const K& key) {
    if ((size_ + 1) * 8 > slot_count() * 5) [[unlikely]] {
      grow();
      slot = free_slot(hash);
    }
    if (frozen_ != nullptr) [[unlikely]]
      save(slot);
    ::new (static_cast<void*>(&slots_[slot])) Slot{key, V{}};
    block().set_tag(slot, tag);
    ++size_;
    return slots_[slot].value;
  }

  [[nodiscard]] std::size_t free_slot(KeyHash hash) const {
    std::size_t i = hash & mask_;
    while (tags_[i] != 0) i = (i + 1) & mask_;
    return i;
  }

  void grow() {
    // Entries that are only copied stay for the writer, in the memory that `bigger` leaves to it.
    if constexpr (!std::is_trivially_copyable_v<Slot>) save_all();
    FlatTable bigger;
    bigger.allocate(slots_ == nullptr ? initial_slots : (mask_ + 1) * 2);
    for (std::size_t i = next_used(0); i < slot_count(); i = next_used(i + 1)) {
      const KeyHash hash = hash_of(slots_[i].key);
      const std::size_t to = bigger.free_slot(hash);
      ::new (static_cast<void*>(&bigger.slots_[to])) Slot(std::move(slots_[i]));
      bigger.block().set_tag(to, tags_[i]);
    }
    bigger.size_ = size_;
    swap(bigger);
  }

  void erase_slot(std::size_t hole) {
    if (frozen_ != nullptr) [[unlikely]]
      save(hole);
    slots_[hole].~Slot();
    block().set_tag(hole, 0);
    --size_;
    for (std::size_t i = (hole + 1) & mask_; tags_[i] != 0; i = (i + 1) & mask_) {
      const std::size_t home = hash_of(slots_[i].key) & mask_;
      const bool may_fill_hole = ((i - home) & mask_) >= ((i - hole) & mask_);
      if (!may_fill_hole) continue;
      if (frozen_ != nullptr) [[unlikely]]
        save(i);
      ::new (static_cast<void*>(&slots_[hole])) Slot(std::move(slots_[i]));
      block().set_tag(hole, tags_[i]);
      slots_[i].~Slot();
      block().set_tag(i, 0);
      hole = i;
    }
  }

  [[nodiscard]] TableBlock<K, V> block() const { return {slots_, tags_, slot_count()}; }

  void allocate(std::size_t slot_count) {
    const auto block = TableBlock<K, V>::allocate(slot_count);
    slots_ = block.slots;
    tags_ = block.tags;
    mask_ = slot_count - 1;
  }

  void release() {
    if (slots_ == nullptr || (frozen_ != nullptr && leave_to_frozen())) return;
    block().release();
  }

  // Out of line, so that the calls cost the common path a jump that is not taken.
  [[gnu::noinline]] void save(std::size_t slot) {
    if (frozen_->is_over()) {
      frozen_.reset();
    } else {
      frozen_->save(slot, slots_[slot], tags_[slot] != 0);
    }
  }
  void save_all() {
    if (frozen_ != nullptr && !frozen_->is_over()) frozen_->save_all();
    frozen_.reset();
  }
  // All memory, to be written and freed there; the table begins anew. False if nobody needs it.
  bool leave_to_frozen() {
    const auto frozen = std::move(frozen_);
    if (frozen->is_over()) return false;
    frozen->keep();
    slots_ = nullptr;
    tags_ = no_tags;
    mask_ = 0;
    size_ = 0;
    return true;
  }

  void swap(FlatTable& other) noexcept {
    std::swap(slots_, other.slots_);
    std::swap(tags_, other.tags_);
    std::swap(mask_, other.mask_);
    std::swap(size_, other.size_);
    std::swap(frozen_, other.frozen_);
  }

  Slot* slots_ = nullptr;         // owned block
  std::uint8_t* tags_ = no_tags;  // inside the block, unless there is none; 0 = free
  std::size_t mask_ = 0;          // slot count − 1
  std::size_t size_ = 0;
  std::shared_ptr<FrozenTable<K, V>> frozen_;  // shared with its writer; null if there is none
};

}  // namespace weir
