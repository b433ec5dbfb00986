// One hash table as it was at a barrier, while its owner goes on changing it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace weir {

template <class K, class V>
struct TableSlot {
  K key;
  V value;
};

// How an entry of a table is written. Called by the owner's thread and by the writer's, also at once.
template <class K, class V>
class EntryEncoder {
 public:
  virtual ~EntryEncoder() = default;
  // Appends the entry, or nothing if it shall not be in the snapshot.
  virtual void encode(ByteWriter& writer, const K& key, const V& value) const = 0;
};

// The memory of a table: its slots and, behind them, a tag for each; 0 means that the slot is free.
template <class K, class V>
struct TableBlock {
  using Slot = TableSlot<K, V>;

  Slot* slots = nullptr;
  std::uint8_t* tags = nullptr;
  std::size_t slot_count = 0;

  [[nodiscard]] static TableBlock allocate(std::size_t slot_count) {
    void* memory = ::operator new (slot_count*(sizeof(Slot) + 1), std::align_val_t{alignof(Slot)});
    auto* slots = static_cast<Slot*>(memory);
    return {slots, reinterpret_cast<std::uint8_t*>(slots + slot_count), slot_count};
  }
  void destroy_entries() const {
    if constexpr (!std::is_trivially_destructible_v<Slot>) {
      for (std::size_t i = 0; i < slot_count; ++i) {
        if (tags[i] != 0) slots[i].~Slot();
      }
    }
  }
  // With its entries.
  void release() const {
    if (slots == nullptr) return;
    destroy_entries();
    ::operator delete (static_cast<void*>(slots), std::align_val_t{alignof(Slot)});
  }
};

// Two threads share it: the table's owner and one writer. Slots are divided into pages, which the
// writer encodes one by one; the owner, before it first changes a slot of a page that is not
// encoded yet, encodes that page itself. Whoever comes second waits, for no longer than it takes to
// encode a page. What is not written any more, because its writer gave up, costs the owner nothing.
//
//   1. A page is encoded once, by whoever moves it from `untouched` to `busy`.
//   2. Slots and tags of a page that is not `done` do not change.
//   3. Only the owner appends to saved_, and only while some page is not `done`.
template <class K, class V>
class FrozenTable {
 public:
  static constexpr std::size_t page_slots = 64;

  // `block` belongs to the owner until it is handed over by keep().
  FrozenTable(TableBlock<K, V> block, std::shared_ptr<const EntryEncoder<K, V>> encoder)
      : block_(block),
        encoder_(std::move(encoder)),
        page_count_((block.slot_count + page_slots - 1) / page_slots),
        pages_(std::make_unique<std::atomic<std::uint8_t>[]>(page_count_)),
        pages_left_(page_count_) {}
  FrozenTable(const FrozenTable&) = delete;
  FrozenTable& operator=(const FrozenTable&) = delete;
  ~FrozenTable() {
    if (keeps_block_) block_.release();
  }

  // By the owner. Nobody will look at the table's memory any more.
  [[nodiscard]] bool is_over() const {
    return pages_left_.load(std::memory_order_acquire) == 0 ||
           given_up_.load(std::memory_order_acquire);
  }
  // By the owner, before it changes the slot.
  void save(std::size_t slot) {
    ByteWriter writer(saved_);
    encode_page(slot / page_slots, writer);
  }
  void save_all() {
    ByteWriter writer(saved_);
    for (std::size_t page = 0; page < page_count_; ++page) encode_page(page, writer);
  }
  // By the owner: hands over the memory with its entries, and does not touch it any more.
  void keep() { keeps_block_ = true; }

  // By the writer, once: appends all entries, in no order.
  void write(ByteWriter& writer) {
    for (std::size_t page = 0; page < page_count_; ++page) encode_page(page, writer);
    writer.bytes(saved_);
    Bytes().swap(saved_);
  }
  // By the writer: it will not write (again).
  void give_up() { given_up_.store(true, std::memory_order_release); }

 private:
  static constexpr std::uint8_t untouched = 0, busy = 1, done = 2;

  // Afterwards the page is done, whoever did it.
  void encode_page(std::size_t page, ByteWriter& writer) {
    std::atomic<std::uint8_t>& state = pages_[page];
    std::uint8_t seen = state.load(std::memory_order_acquire);
    if (seen == done) return;
    if (seen == untouched && state.compare_exchange_strong(seen, busy, std::memory_order_acquire)) {
      const std::size_t end = std::min(block_.slot_count, (page + 1) * page_slots);
      for (std::size_t i = page * page_slots; i < end; ++i) {
        if (block_.tags[i] != 0)
          encoder_->encode(writer, block_.slots[i].key, block_.slots[i].value);
      }
      state.store(done, std::memory_order_release);
      pages_left_.fetch_sub(1, std::memory_order_acq_rel);
      return;
    }
    wait_until_done(state);
  }

  static void wait_until_done(const std::atomic<std::uint8_t>& state) {
    constexpr int spins_max = 256;  // then the other thread may well have lost its processor
    for (int spins = 0; state.load(std::memory_order_acquire) != done; ++spins) {
      if (spins >= spins_max) std::this_thread::yield();
    }
  }

  TableBlock<K, V> block_;
  std::shared_ptr<const EntryEncoder<K, V>> encoder_;  // one for all tables of a state
  std::size_t page_count_;
  std::unique_ptr<std::atomic<std::uint8_t>[]> pages_;
  std::atomic<std::size_t> pages_left_;
  std::atomic<bool> given_up_{false};
  Bytes saved_;  // pages that the owner has encoded
  bool keeps_block_ = false;
};

}  // namespace weir
