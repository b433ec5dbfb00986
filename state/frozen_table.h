// One hash table as it was at a barrier, while its owner goes on changing it.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "state/tag_group.h"

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

// The memory of a table: its slots and, behind them, a tag for each; 0 means that the slot is free. The
// first tags are there once more behind the last, so that a group of them may begin at any slot.
template <class K, class V>
struct TableBlock {
  using Slot = TableSlot<K, V>;

  Slot* slots = nullptr;
  std::uint8_t* tags = nullptr;
  std::size_t slot_count = 0;

  // Requires that there are at least as many slots as tags in a group.
  [[nodiscard]] static TableBlock allocate(std::size_t slot_count) {
    WEIR_CHECK(slot_count >= TagGroup::size);
    TableBlock block{nullptr, nullptr, slot_count};
    void* memory = ::operator new (block.bytes(), std::align_val_t{alignof(Slot)});
    block.slots = static_cast<Slot*>(memory);
    block.tags = reinterpret_cast<std::uint8_t*>(block.slots + slot_count);
    block.clear_tags();
    return block;
  }
  [[nodiscard]] std::size_t bytes() const {
    return slot_count == 0 ? 0 : slot_count * sizeof(Slot) + tag_count();
  }
  void set_tag(std::size_t slot, std::uint8_t tag) const {
    tags[slot] = tag;
    if (slot < tags_repeated) tags[slot_count + slot] = tag;
  }
  void clear_tags() const { std::memset(tags, 0, tag_count()); }
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

 private:
  static constexpr std::size_t tags_repeated = TagGroup::size - 1;
  [[nodiscard]] std::size_t tag_count() const { return slot_count + tags_repeated; }
};

// Entries that are about to be changed. In chunks, because one buffer that grows would be copied now and then while a record
// waits.
template <class K, class V>
class SavedEntries {
 public:
  void add(const TableSlot<K, V>& entry, const EntryEncoder<K, V>& encoder) {
    if constexpr (copies) {
      if (next_ == end_) add_chunk();
      ::new (static_cast<void*>(next_++)) TableSlot<K, V>(entry);
    } else {
      if (chunks_.empty() || chunks_.back().size() > chunk_bytes * 3 / 4)
        chunks_.emplace_back().reserve(chunk_bytes);
      ByteWriter writer(chunks_.back());
      encoder.encode(writer, entry.key, entry.value);
    }
  }
  void prefetch() const {
    if constexpr (copies) __builtin_prefetch(next_, 1);
  }
  // All of them; none may be added any more. Leaves alone what prefetch() reads, which the owner may call meanwhile.
  void write(ByteWriter& writer, const EntryEncoder<K, V>& encoder) {
    for (const auto& chunk : chunks_) {
      if constexpr (copies) {
        const auto* entry = std::launder(reinterpret_cast<const TableSlot<K, V>*>(chunk.get()));
        const auto* const end = &chunk == &chunks_.back() ? next_ : entry + chunk_entries;
        for (; entry != end; ++entry) encoder.encode(writer, entry->key, entry->value);
      } else {
        writer.bytes(chunk);
      }
    }
    chunks_ = std::vector<Chunk>();
  }

 private:
  static constexpr bool copies = std::is_trivially_copyable_v<TableSlot<K, V>> &&
                                 alignof(TableSlot<K, V>) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  static constexpr std::size_t chunk_bytes = 4096;
  static constexpr std::size_t chunk_entries =
      std::max<std::size_t>(1, chunk_bytes / sizeof(TableSlot<K, V>));
  using Chunk = std::conditional_t<copies, std::unique_ptr<std::byte[]>, Bytes>;

  void add_chunk() {
    chunks_.emplace_back(new std::byte[chunk_entries * sizeof(TableSlot<K, V>)]);
    next_ = reinterpret_cast<TableSlot<K, V>*>(chunks_.back().get());
    end_ = next_ + chunk_entries;
  }

  TableSlot<K, V>* next_ = nullptr;  // where the next copy goes, in the last chunk
  TableSlot<K, V>* end_ = nullptr;
  std::vector<Chunk> chunks_;
};

// Two threads share it: the table's owner and one writer. Slots are divided into pages, which the
// writer encodes one by one. The owner, before it first changes a slot of a page that the writer has
// not come to, marks the slot and saves its entry: a copy, or where that is more than bytes, the
// entry encoded; then the writer takes that one. So a change costs the owner one entry, however
// large a page is, and it waits only if the writer is at that very page. What is not written any
// more, because its writer gave up, costs the owner nothing.
//
//   1. An entry is saved once by the owner, if it marked the slot before the page was claimed,
//      else the writer encodes it where it is.
//   2. Slots and tags do not change before they are marked or their page is done.
//   3. The owner counts a marked slot when its entry is in saved_. The writer, which knows from the
//      pages how many were marked in time, reads saved_ when so many are counted; from then on
//      the owner does not append.
template <class K, class V>
class FrozenTable {
 public:
  // `block` belongs to the owner until it is handed over by keep().
  FrozenTable(TableBlock<K, V> block, std::shared_ptr<const EntryEncoder<K, V>> encoder)
      : pages_(std::make_unique<std::atomic<std::uint64_t>[]>(pages_in(block))),
        block_(block),
        encoder_(std::move(encoder)),
        page_count_(pages_in(block)) {}
  FrozenTable(const FrozenTable&) = delete;
  FrozenTable& operator=(const FrozenTable&) = delete;
  ~FrozenTable() {
    if (keeps_block_) block_.release();
  }

  // By the owner. Nobody will look at the table's memory any more.
  [[nodiscard]] bool is_over() const { return over_.load(std::memory_order_acquire); }
  // By the owner, before it changes the slot, which holds an entry if it is used.
  void save(std::size_t slot, const TableSlot<K, V>& entry, bool is_used) {
    const std::size_t page = slot / page_slots;
    const std::uint64_t fresh = mark(page, std::uint64_t{1} << (slot % page_slots));
    if (fresh == 0) return;
    if (is_used) saved_.add(entry, *encoder_);
    count_saved(fresh);
  }
  void save_all() {
    for (std::size_t page = 0; page < page_count_; ++page) {
      const std::uint64_t fresh = mark(page, slots_of(page));
      for_each_entry(page, fresh, [this](const auto& entry) { saved_.add(entry, *encoder_); });
      count_saved(fresh);
    }
  }
  void prefetch(std::size_t slot) const {
    __builtin_prefetch(&pages_[slot / page_slots], 1);
    saved_.prefetch();
  }
  // By the owner: hands over the memory with its entries, and does not touch it any more.
  void keep() { keeps_block_ = true; }

  // By the writer, once: appends all entries, in no order.
  void write(ByteWriter& writer) {
    std::uint64_t marked = 0;
    for (std::size_t page = 0; page < page_count_; ++page) {
      const std::uint64_t left_out = pages_[page].fetch_or(claimed, std::memory_order_acq_rel);
      for_each_entry(page, slots_of(page) & ~left_out,
                     [&](const auto& entry) { encoder_->encode(writer, entry.key, entry.value); });
      pages_[page].store(claimed | done, std::memory_order_release);
      marked += static_cast<std::uint64_t>(std::popcount(left_out));
    }
    wait_until([&] { return saved_count_.load(std::memory_order_acquire) == marked; });
    saved_.write(writer, *encoder_);
    give_up();
  }
  // By the writer: it will not write (again).
  void give_up() { over_.store(true, std::memory_order_release); }

 private:
  // A page is a word: a bit for each slot that the owner has marked, and these of the writer.
  static constexpr std::size_t page_slots = 32;
  static constexpr std::uint64_t claimed = std::uint64_t{1} << 32, done = claimed << 1;

  static std::size_t pages_in(const TableBlock<K, V>& block) {
    return (block.slot_count + page_slots - 1) / page_slots;
  }
  [[nodiscard]] std::uint64_t slots_of(std::size_t page) const {
    return (std::uint64_t{1} << std::min(page_slots, block_.slot_count - page * page_slots)) - 1;
  }

  // Those of the slots that the owner has to save: none that was saved already or is the writer's.
  std::uint64_t mark(std::size_t page, std::uint64_t slots) {
    std::atomic<std::uint64_t>& state = pages_[page];
    const std::uint64_t before = state.load(std::memory_order_acquire);
    if ((before & done) != 0 || (before & slots) == slots) return 0;
    const std::uint64_t marked = state.fetch_or(slots, std::memory_order_acq_rel);
    if ((marked & claimed) != 0) {
      wait_until([&] { return (state.load(std::memory_order_acquire) & done) != 0; });
      return 0;
    }
    return slots & ~marked;
  }

  void count_saved(std::uint64_t slots) {
    const std::uint64_t count = saved_count_.load(std::memory_order_relaxed);
    saved_count_.store(count + static_cast<std::uint64_t>(std::popcount(slots)),
                       std::memory_order_release);
  }

  template <class Visit>
  void for_each_entry(std::size_t page, std::uint64_t slots, Visit visit) const {
    for (; slots != 0; slots &= slots - 1) {
      const std::size_t i = page * page_slots + static_cast<std::size_t>(std::countr_zero(slots));
      if (block_.tags[i] != 0) visit(block_.slots[i]);
    }
  }

  template <class Condition>
  static void wait_until(Condition condition) {
    constexpr int spins_max = 256;  // then the other thread may well have lost its processor
    for (int spins = 0; !condition(); ++spins) {
      if (spins >= spins_max) std::this_thread::yield();
    }
  }

  // What the owner needs of it for each entry, in a line of the cache.
  alignas(64) std::unique_ptr<std::atomic<std::uint64_t>[]> pages_;
  std::atomic<std::uint64_t> saved_count_{0};  // marked slots whose entries are in saved_
  std::atomic<bool> over_{false};
  SavedEntries<K, V> saved_;  // by the owner

  TableBlock<K, V> block_;
  std::shared_ptr<const EntryEncoder<K, V>> encoder_;  // one for all tables of a state
  std::size_t page_count_;
  bool keeps_block_ = false;
};

}  // namespace weir
