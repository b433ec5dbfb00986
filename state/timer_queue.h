// The timers of one time domain of one keyed operator.
#pragma once

#include <algorithm>
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

// Yields timers in the order of their times, those of equal time in the order of registration. A binary heap with
// deletion by absence: what was deleted stays in the heap and is skipped when its turn comes. Not thread-safe.
template <class K>
class TimerQueue {
 public:
  // Returns whether it was not registered yet.
  bool add(const TimerEntry<K>& entry) {
    bool& registered = registered_.find_or_insert(hash_of(entry), entry);
    if (registered) return false;
    registered = true;
    heap_.push_back({entry, sequence_++});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
    return true;
  }

  // Returns whether it was registered.
  bool remove(const TimerEntry<K>& entry) { return registered_.erase(hash_of(entry), entry); }

  // Takes the earliest registered timer at or before `now_ms`.
  [[nodiscard]] std::optional<TimerEntry<K>> pop_due(std::int64_t now_ms) {
    while (!heap_.empty() && heap_.front().entry.time_ms <= now_ms) {
      std::pop_heap(heap_.begin(), heap_.end(), is_later);
      TimerEntry<K> entry = std::move(heap_.back().entry);
      heap_.pop_back();
      if (registered_.erase(hash_of(entry), entry)) return entry;
    }
    return std::nullopt;
  }

  // At or before the earliest registered timer; nothing if there is none.
  [[nodiscard]] std::optional<std::int64_t> next_time_ms() const {
    if (registered_.empty()) return std::nullopt;
    return heap_.front().entry.time_ms;
  }

  [[nodiscard]] std::size_t size() const { return registered_.size(); }

 private:
  struct HeapItem {
    TimerEntry<K> entry;
    std::uint64_t sequence;
  };
  static bool is_later(const HeapItem& a, const HeapItem& b) {
    if (a.entry.time_ms != b.entry.time_ms) return a.entry.time_ms > b.entry.time_ms;
    return a.sequence > b.sequence;
  }

  std::vector<HeapItem> heap_;
  FlatTable<TimerEntry<K>, bool> registered_;
  std::uint64_t sequence_ = 0;
};

}  // namespace weir
