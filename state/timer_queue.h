// The timers of one time domain of one keyed operator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/hash.h"
#include "base/ids.h"
#include "state/flat_table.h"

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

// Yields timers in the order of their times, those of equal time in the order of registration. A
// binary heap beside a table of what is registered: what was deleted stays in the heap until its
// turn comes, or until it is most of the heap, so that functions which move a timer with every
// record do not fill the memory. Not thread-safe.
template <class K>
class TimerQueue {
 public:
  // Returns whether it was not registered yet.
  bool add(const TimerEntry<K>& entry) {
    std::uint64_t& sequence = registered_.find_or_insert(hash_of(entry), entry);
    if (sequence != 0) return false;
    sequence = ++last_sequence_;
    if (heap_.size() > 2 * registered_.size() + heap_slack) drop_deleted();
    heap_.push_back({entry, last_sequence_});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
    return true;
  }

  // Returns whether it was registered.
  bool remove(const TimerEntry<K>& entry) { return registered_.erase(hash_of(entry), entry); }

  // Takes the earliest registered timer at or before `now_ms`.
  [[nodiscard]] std::optional<TimerEntry<K>> pop_due(std::int64_t now_ms) {
    while (!heap_.empty() && heap_.front().entry.time_ms <= now_ms) {
      std::pop_heap(heap_.begin(), heap_.end(), is_later);
      HeapItem item = std::move(heap_.back());
      heap_.pop_back();
      if (!is_registered(item)) continue;
      registered_.erase(hash_of(item.entry), item.entry);
      return std::move(item.entry);
    }
    return std::nullopt;
  }

  // At or before the earliest registered timer; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> next_time_ms() const {
    if (registered_.empty()) return std::nullopt;
    return heap_.front().entry.time_ms;
  }

  [[nodiscard]] std::size_t size() const { return registered_.size(); }
  // With the deleted ones that are still in memory.
  [[nodiscard]] std::size_t held() const { return heap_.size(); }

 private:
  static constexpr std::size_t heap_slack = 64;

  struct HeapItem {
    TimerEntry<K> entry;
    std::uint64_t sequence;  // of the registration: one that was deleted and made again has another
  };
  static bool is_later(const HeapItem& a, const HeapItem& b) {
    if (a.entry.time_ms != b.entry.time_ms) return a.entry.time_ms > b.entry.time_ms;
    return a.sequence > b.sequence;
  }

  [[nodiscard]] bool is_registered(const HeapItem& item) {
    const std::uint64_t* sequence = registered_.find(hash_of(item.entry), item.entry);
    return sequence != nullptr && *sequence == item.sequence;
  }

  void drop_deleted() {
    std::erase_if(heap_, [this](const HeapItem& item) { return !is_registered(item); });
    std::make_heap(heap_.begin(), heap_.end(), is_later);
  }

  std::vector<HeapItem> heap_;
  FlatTable<TimerEntry<K>, std::uint64_t>
      registered_;  // with the sequence of the registration, from 1
  std::uint64_t last_sequence_ = 0;
};

}  // namespace weir
