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
#include "state/asymmetric_barrier.h"
#include "state/chunk_pool.h"
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
    void* memory = ::operator new(block.bytes(), alignment);
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
    ::operator delete(static_cast<void*>(slots), alignment);
  }

 private:
  static constexpr std::size_t tags_repeated = TagGroup::size - 1;
  static constexpr std::size_t line = 64;  // of the cache: slots that fill lines begin at one
  static constexpr std::align_val_t alignment{
      sizeof(Slot) % line == 0 ? std::max(line, alignof(Slot)) : alignof(Slot)};
  [[nodiscard]] std::size_t tag_count() const { return slot_count + tags_repeated; }
};

// Entries that are about to be changed. In chunks, because one buffer that grows would be copied now and then while a record
// waits.
template <class K, class V>
class SavedEntries {
 public:
  // `pool` is used by the owners of all tables of a state, which is one thread.
  explicit SavedEntries(std::shared_ptr<ChunkPool> pool) : pool_(std::move(pool)) {}
  SavedEntries(const SavedEntries&) = delete;
  SavedEntries& operator=(const SavedEntries&) = delete;
  ~SavedEntries() { free_chunks(); }

  void add(const TableSlot<K, V>& entry, const EntryEncoder<K, V>& encoder) {
    if constexpr (copies) {
      if (next_ == end_) add_chunk();
      ::new (static_cast<void*>(next_++)) TableSlot<K, V>(entry);
    } else {
      if (chunks_.empty() || chunks_.back().size() > ChunkPool::chunk_bytes * 3 / 4)
        chunks_.emplace_back().reserve(ChunkPool::chunk_bytes);
      ByteWriter writer(chunks_.back());
      encoder.encode(writer, entry.key, entry.value);
    }
  }
  void prefetch() const {
    if constexpr (copies) __builtin_prefetch(next_, 1);
  }
  // All of them; none may be added any more. Leaves alone what prefetch() reads, which the owner may call meanwhile.
  void write(ByteWriter& writer, const EntryEncoder<K, V>& encoder) {
    for (const Chunk& chunk : chunks_) {
      if constexpr (copies) {
        const auto* entry = std::launder(reinterpret_cast<const TableSlot<K, V>*>(chunk));
        const auto* const end = &chunk == &chunks_.back() ? next_ : entry + chunk_entries;
        for (; entry != end; ++entry) encoder.encode(writer, entry->key, entry->value);
      } else {
        writer.bytes(chunk);
      }
    }
    free_chunks();
    pool_.reset();
  }

 private:
  using Slot = TableSlot<K, V>;
  static constexpr std::size_t chunk_entries = ChunkPool::chunk_bytes / sizeof(Slot);
  static constexpr bool copies = std::is_trivially_copyable_v<Slot> && chunk_entries > 0 &&
                                 alignof(Slot) <= ChunkPool::chunk_bytes;
  using Chunk = std::conditional_t<copies, std::byte*, Bytes>;  // the pool's

  void add_chunk() {
    chunks_.push_back(pool_->take());
    next_ = reinterpret_cast<Slot*>(chunks_.back());
    end_ = next_ + chunk_entries;
  }
  void free_chunks() {
    if constexpr (copies) {
      for (std::byte* const chunk : chunks_) pool_->give_back(chunk);
    }
    chunks_ = std::vector<Chunk>();
  }

  Slot* next_ = nullptr;  // where the next copy goes, in the last chunk
  Slot* end_ = nullptr;
  std::vector<Chunk> chunks_;
  std::shared_ptr<ChunkPool> pool_;  // null once all is written
};

// Two threads share it: the table's owner and one writer. Slots are divided into pages, which the
// writer encodes one by one. The owner, before it first changes a slot of a page that the writer has
// not come to, marks the slot and saves its entry: a copy, or where that is more than bytes, the
// entry encoded; then the writer takes that one. So a change costs the owner one entry, however
// large a page is, and it waits only if the writer is at that very page. What is not written any
// more, because its writer gave up, costs the owner nothing.
//
//   1. The writer claims a page, then reads its marks; the owner marks, then reads what is claimed. At least one sees the
//      other. If both do, the owner waits and does what the writer says it left to it. So an entry is saved once by the owner
//      or encoded where it is.
//   2. Slots and tags do not change before the owner has saved them or their page is done.
//   3. The owner counts a marked slot when its entry is in saved_. The writer, which knows from the
//      pages how many were left to the owner, reads saved_ when so many are counted; from then on
//      the owner does not append.
//
// Marking a slot costs two stores, which leaves the processor free to begin with the next record, until the writer comes
// to this table: that takes one barrier for both. Then, and for small tables, each mark takes a locked operation.
template <class K, class V>
class FrozenTable {
 public:
  // `block` belongs to the owner until it is handed over by keep().
  FrozenTable(TableBlock<K, V> block, std::shared_ptr<const EntryEncoder<K, V>> encoder,
              const FreezePools& pools)
      : is_contended_(pages_in(block) < large || !has_asymmetric_barriers()),
        saved_(pools.saved),
        block_(block),
        encoder_(std::move(encoder)),
        page_count_(pages_in(block)) {
    if (page_count_ < large) {
      own_marks_ = std::make_unique<std::uint32_t[]>(page_count_);
      marks_ = own_marks_.get();
    } else {
      constexpr std::size_t chunk = ChunkPool::chunk_bytes;
      const std::size_t bytes = page_count_ * sizeof(std::uint32_t);
      marks_pool_ = pools.marks;
      marks_ =
          reinterpret_cast<std::uint32_t*>(marks_pool_->take_zeroed((bytes + chunk - 1) / chunk));
    }
  }
  FrozenTable(const FrozenTable&) = delete;
  FrozenTable& operator=(const FrozenTable&) = delete;
  ~FrozenTable() {
    if (keeps_block_) block_.release();
  }

  // By the owner. Nobody will look at the table's memory any more.
  [[nodiscard]] bool is_over() const { return over_.load(std::memory_order_acquire); }
  // By the owner, before it changes the slot, which holds an entry if it is used.
  void save(std::size_t slot, const TableSlot<K, V>& entry, bool is_used) {
    const std::uint32_t fresh = mark(slot / page_slots, std::uint32_t{1} << (slot % page_slots));
    if (fresh == 0) return;
    if (is_used) saved_.add(entry, *encoder_);
    count_saved(fresh);
  }
  void save_all() {
    for (std::size_t page = 0; page < page_count_; ++page) {
      const std::uint32_t fresh = mark(page, slots_of(page));
      for_each_entry(page, fresh, [this](const auto& entry) { saved_.add(entry, *encoder_); });
      count_saved(fresh);
    }
  }
  void prefetch(std::size_t slot) const {
    __builtin_prefetch(&marks_[slot / page_slots], 1);
    saved_.prefetch();
  }
  // By the owner: hands over the memory with its entries, and does not touch it any more.
  void keep() { keeps_block_ = true; }

  // By the writer, once: appends all entries, in no order.
  void write(ByteWriter& writer) {
    if (!is_contended_.load(std::memory_order_relaxed)) {
      is_contended_.store(true, std::memory_order_relaxed);
      heavy_barrier();
    }
    left_out_ = std::make_unique<std::uint32_t[]>(page_count_);
    std::uint64_t left_out = 0;
    for (std::size_t page = 0; page < page_count_; ++page) {
      claimed_.fetch_add(1, std::memory_order_acq_rel);
      const std::uint32_t marked = marks_of(page).load(std::memory_order_relaxed);
      for_each_entry(page, slots_of(page) & ~marked,
                     [&](const auto& entry) { encoder_->encode(writer, entry.key, entry.value); });
      left_out_[page] = marked;
      done_.store(page + 1, std::memory_order_release);
      left_out += static_cast<std::uint64_t>(std::popcount(marked));
    }
    wait_until([&] { return saved_count_.load(std::memory_order_acquire) == left_out; });
    saved_.write(writer, *encoder_);
    give_up();
  }
  // By the writer: it will not write (again).
  void give_up() { over_.store(true, std::memory_order_release); }

 private:
  static constexpr std::size_t page_slots = 32;
  static constexpr std::size_t large = 256;  // pages; fewer stay in the processor's caches

  static std::size_t pages_in(const TableBlock<K, V>& block) {
    return (block.slot_count + page_slots - 1) / page_slots;
  }
  [[nodiscard]] std::uint32_t slots_of(std::size_t page) const {
    const std::size_t count = std::min(page_slots, block_.slot_count - page * page_slots);
    return ~std::uint32_t{0} >> (page_slots - count);
  }

  // Those of the slots that the owner has to save: none that was saved already or is the writer's.
  std::uint32_t mark(std::size_t page, std::uint32_t slots) {
    const auto marks = marks_of(page);
    const std::uint32_t before = marks.load(std::memory_order_relaxed);
    const std::uint32_t fresh = slots & ~before;
    if (fresh == 0 || page < done_.load(std::memory_order_acquire)) return 0;
    marks.store(before | slots, std::memory_order_relaxed);
    light_barrier();
    if (!is_contended_.load(std::memory_order_relaxed)) return fresh;
    // Both add to one number, so one of them comes first, and the other one sees what it stored before.
    if (page >= claimed_.fetch_add(0, std::memory_order_acq_rel)) return fresh;
    wait_until([&] { return page < done_.load(std::memory_order_acquire); });
    return fresh & left_out_[page];
  }

  [[nodiscard]] std::atomic_ref<std::uint32_t> marks_of(std::size_t page) const {
    return std::atomic_ref(marks_[page]);
  }

  void count_saved(std::uint32_t slots) {
    const std::uint64_t count = saved_count_.load(std::memory_order_relaxed);
    saved_count_.store(count + static_cast<std::uint64_t>(std::popcount(slots)),
                       std::memory_order_release);
  }

  template <class Visit>
  void for_each_entry(std::size_t page, std::uint32_t slots, Visit visit) const {
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

  // What the owner needs of it for each entry, in two lines of the cache.
  alignas(64) std::uint32_t* marks_;           // by page: a bit for each slot
  std::atomic<std::uint64_t> saved_count_{0};  // marked slots whose entries are in saved_
  std::atomic<std::size_t> claimed_{0};        // pages that the writer has come to
  std::atomic<std::size_t> done_{0};           // pages that it is through with
  std::atomic<bool> is_contended_;             // the writer has come to this table
  std::atomic<bool> over_{false};
  SavedEntries<K, V> saved_;  // by the owner

  TableBlock<K, V> block_;
  std::shared_ptr<const EntryEncoder<K, V>> encoder_;  // one for all tables of a state
  std::size_t page_count_;
  std::unique_ptr<std::uint32_t[]> own_marks_;  // of a small table
  std::shared_ptr<ChunkPool> marks_pool_;       // of a large one
  std::unique_ptr<std::uint32_t[]> left_out_;   // by the writer, to be read of pages that are done
  bool keeps_block_ = false;
};

}  // namespace weir
