// The timers of one time domain of one keyed operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/hash.h"
#include "base/ids.h"
#include "state/frozen_groups.h"
#include "state/keyed_table.h"
#include "state/snapshot.h"

namespace weir {

// Which of an operator's named timers, by the position of its member.
using TimerIndex = StrongId<struct TimerTag, std::uint32_t>;

// One registration; the same (time, timer, key) is registered once however often it is asked for.
template <class K>
struct TimerEntry {
  std::int64_t time_ms{};
  TimerIndex timer;
  K key{};
};

// The high half, and so the key group, is that of the key.
template <class K>
struct KeyTraits<TimerEntry<K>> {
  static constexpr bool parts_hashable = Hashable<K>;
  static constexpr KeyHash hash(const TimerEntry<K>& entry) {
    const KeyHash of_key = hash_of(entry.key);
    const KeyHash of_all = hash_detail::hash_in_order(entry.time_ms, entry.timer, of_key);
    return (of_key & 0xffff'ffff'0000'0000U) | (of_all & 0xffff'ffffU);
  }
  static constexpr bool equal(const TimerEntry<K>& a, const TimerEntry<K>& b) {
    return a.time_ms == b.time_ms && a.timer == b.timer && keys_equal(a.key, b.key);
  }
};

// Yields timers in the order of their times, those of equal time in the order of registration,
// which a restore does not keep. A binary heap beside a table of what is registered: what was
// deleted stays in the heap until its turn comes, or until it is most of the heap, so that functions
// which move a timer with every record do not fill the memory. Not thread-safe.
template <class K>
class TimerQueue {
 public:
  // Each key that is used must belong to the slice.
  explicit TimerQueue(KeyGroupSlice slice) : registered_(slice) {}

  // Returns whether it was not registered yet.
  bool add(const TimerEntry<K>& entry) {
    std::uint64_t& sequence = registered_.find_or_insert(hash_of(entry), entry);
    if (sequence != 0) return false;
    sequence = ++last_sequence_;
    ++size_;
    if (heap_.size() > 2 * size_ + heap_slack) drop_deleted();
    heap_.push_back({entry, last_sequence_});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
    return true;
  }

  // Returns whether it was registered.
  bool remove(const TimerEntry<K>& entry) {
    const bool was_registered = registered_.erase(hash_of(entry), entry);
    if (was_registered) --size_;
    return was_registered;
  }

  // Takes the earliest registered timer at or before `now_ms`.
  [[nodiscard]] std::optional<TimerEntry<K>> pop_due(std::int64_t now_ms) {
    while (!heap_.empty() && heap_.front().entry.time_ms <= now_ms) {
      std::pop_heap(heap_.begin(), heap_.end(), is_later);
      HeapItem item = std::move(heap_.back());
      heap_.pop_back();
      if (!is_registered(item)) continue;
      (void)remove(item.entry);
      return std::move(item.entry);
    }
    return std::nullopt;
  }

  // At or before the earliest registered timer; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> next_time_ms() const {
    if (size_ == 0) return std::nullopt;
    return heap_.front().entry.time_ms;
  }

  // The timers as they are now, with the names of their members instead of the positions. Takes
  // time per key group; see KeyedTable::freeze.
  [[nodiscard]] std::unique_ptr<FrozenKeyedState> freeze(
      StateDescriptor descriptor, std::shared_ptr<const std::vector<std::string>> names) {
    return std::make_unique<FrozenKeyedTable<TimerEntry<K>, std::uint64_t>>(
        std::move(descriptor), registered_.slice(),
        registered_.freeze(std::make_shared<const Encoder>(std::move(names))));
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  // With the deleted ones that are still in memory.
  [[nodiscard]] std::size_t held() const { return heap_.size(); }

 private:
  static constexpr std::size_t heap_slack = 64;

  class Encoder final : public EntryEncoder<TimerEntry<K>, std::uint64_t> {
   public:
    explicit Encoder(std::shared_ptr<const std::vector<std::string>> names)
        : names_(std::move(names)) {}
    void encode(ByteWriter& writer, const TimerEntry<K>& entry,
                const std::uint64_t& /*sequence*/) const override {
      writer.scalar(entry.time_ms);
      writer.text((*names_)[entry.timer.value]);
      weir::encode(writer, entry.key);
    }

   private:
    std::shared_ptr<const std::vector<std::string>> names_;  // shared with the queue's owner
  };

  struct HeapItem {
    TimerEntry<K> entry;
    std::uint64_t sequence;  // of the registration: one that was deleted and made again has another
  };
  static bool is_later(const HeapItem& a, const HeapItem& b) {
    if (a.entry.time_ms != b.entry.time_ms) return a.entry.time_ms > b.entry.time_ms;
    return a.sequence > b.sequence;
  }

  [[nodiscard]] bool is_registered(const HeapItem& item) const {
    const std::uint64_t* sequence = registered_.find(hash_of(item.entry), item.entry);
    return sequence != nullptr && *sequence == item.sequence;
  }

  void drop_deleted() {
    std::erase_if(heap_, [this](const HeapItem& item) { return !is_registered(item); });
    std::make_heap(heap_.begin(), heap_.end(), is_later);
  }

  std::vector<HeapItem> heap_;
  KeyedTable<TimerEntry<K>, std::uint64_t>
      registered_;        // with the sequence of the registration, from 1
  std::size_t size_ = 0;  // of registered_, which is asked with each record
  std::uint64_t last_sequence_ = 0;
};

}  // namespace weir
