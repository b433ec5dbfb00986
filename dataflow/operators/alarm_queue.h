// Which keys of an operator want to be looked at, and when.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "base/ids.h"
#include "dataflow/operators/chunked_queue.h"

namespace weir {

// A queue of (time, key), earliest first, of equal times the first pushed. What it holds is derived from the operator's state,
// which also says whether an alarm that comes still means anything; so it is no part of snapshots, and nothing is removed.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster Algorithms for the Shortest Path Problem", 1990): time goes on, so
// entries need to be told apart only as finely as they are near. Times are numbers of eight digits of eight bits. A bucket per
// highest digit in which a time differs from the last one popped, and per value of that; the nearest bucket is dealt out when its
// turn comes. Pushing takes constant time, an entry is moved at most once per digit that differs (mostly twice, if it is for
// within a minute), and memory is gone through in order and used again. What is pushed for a time before the last one popped
// comes next. Not thread-safe.
template <class K>
class AlarmQueue {
 public:
  struct Entry {
    std::int64_t time_ms{};
    KeyHash hash{};
    K key{};
  };

  void push(Entry entry) {
    place(std::move(entry));
    ++size_;
  }

  // Takes the earliest at or before `now_ms`, which never goes back.
  [[nodiscard]] std::optional<Entry> pop_due(std::int64_t now_ms) {
    if (now_.empty() && !deal_out(now_ms)) return std::nullopt;
    --size_;
    return now_.take_front(memory_);
  }

  [[nodiscard]] std::optional<std::int64_t> next_time_ms() const {
    if (!now_.empty()) return now_.front().time_ms;
    if (used_levels_ == 0) return std::nullopt;
    return first_bucket().least_ms;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Calls visit(const Entry&) for those that come next, in their order, as far as that is known; until it returns false.
  template <class Visit>
  void visit_next(Visit visit) const {
    if (!now_.visit(visit) || levels_[0] == nullptr) return;
    const Level& level = *levels_[0];
    for (std::size_t digit = level.next_used(0); digit < digit_values;
         digit = level.next_used(digit + 1)) {
      if (!level.buckets[digit].entries.visit(visit)) return;
    }
  }

  // Drops the entries for which keep(entry) is false.
  template <class Keep>
  void drop_unless(Keep keep) {
    Entries all = std::exchange(now_, {});
    for (std::size_t at = 0; at < digits; ++at) {
      if (levels_[at] == nullptr) continue;
      for (Bucket& bucket : levels_[at]->buckets) all.append(std::move(bucket.entries));
      levels_[at].reset();
    }
    used_levels_ = 0;
    size_ = 0;
    while (!all.empty()) {
      Entry entry = all.take_front(memory_);
      if (keep(std::as_const(entry))) push(std::move(entry));
    }
  }

 private:
  using Entries = ChunkedQueue<Entry>;

  struct Bucket {
    Entries entries;
    std::int64_t least_ms = std::numeric_limits<std::int64_t>::max();
  };

  static constexpr unsigned digit_bits = 8, digits = 64 / digit_bits;
  static constexpr std::size_t digit_values = std::size_t{1} << digit_bits;

  struct Level {
    std::array<Bucket, digit_values> buckets;
    std::array<std::uint64_t, digit_values / 64> used{};  // a bit per bucket

    // The first used bucket at or behind `digit`; digit_values if there is none.
    [[nodiscard]] std::size_t next_used(std::size_t digit) const {
      for (std::size_t word = digit / 64; word < used.size(); ++word) {
        const std::uint64_t from =
            word == digit / 64 ? ~std::uint64_t{0} << (digit % 64) : ~std::uint64_t{0};
        if ((used[word] & from) != 0)
          return word * 64 + static_cast<std::size_t>(std::countr_zero(used[word] & from));
      }
      return digit_values;
    }
    void mark(std::size_t digit) { used[digit / 64] |= std::uint64_t{1} << (digit % 64); }
    void unmark(std::size_t digit) { used[digit / 64] &= ~(std::uint64_t{1} << (digit % 64)); }
  };

  // Requires that there is one.
  [[nodiscard]] std::size_t first_level() const {
    return static_cast<std::size_t>(std::countr_zero(used_levels_));
  }
  [[nodiscard]] const Bucket& first_bucket() const {
    const Level& level = *levels_[first_level()];
    return level.buckets[level.next_used(0)];
  }

  void place(Entry entry) {
    if (entry.time_ms <= last_ms_) {
      now_.push(std::move(entry), memory_);
      return;
    }
    // Flipped, it makes the order of signed times that of digits.
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const std::uint64_t time = static_cast<std::uint64_t>(entry.time_ms) ^ sign;
    const std::uint64_t differing = time ^ (static_cast<std::uint64_t>(last_ms_) ^ sign);
    const auto at = static_cast<std::size_t>(std::bit_width(differing) - 1) / digit_bits;
    const std::size_t digit = (time >> (at * digit_bits)) % digit_values;
    if (levels_[at] == nullptr) [[unlikely]]
      levels_[at] = std::make_unique<Level>();
    Bucket& bucket = levels_[at]->buckets[digit];
    if (bucket.entries.empty()) {
      levels_[at]->mark(digit);
      used_levels_ |= 1U << at;
    }
    bucket.least_ms = std::min(bucket.least_ms, entry.time_ms);
    bucket.entries.push(std::move(entry), memory_);
  }

  // Moves on to the next time, if that has come. Requires that nothing is due now.
  bool deal_out(std::int64_t now_ms) {
    if (used_levels_ == 0) return false;
    const std::size_t at = first_level();
    Level& level = *levels_[at];
    const std::size_t digit = level.next_used(0);
    if (level.buckets[digit].least_ms > now_ms) return false;
    Bucket dealt = std::exchange(level.buckets[digit], {});
    last_ms_ = dealt.least_ms;
    level.unmark(digit);
    if (level.next_used(0) == digit_values) used_levels_ &= ~(1U << at);
    if (at == 0) {  // all of one time
      now_ = std::move(dealt.entries);
    } else {
      while (!dealt.entries.empty()) place(dealt.entries.take_front(memory_));
    }
    return true;
  }

  typename Entries::Memory memory_;
  std::array<std::unique_ptr<Level>, digits>
      levels_;                     // by the digit's weight; null until one is used
  std::uint32_t used_levels_ = 0;  // a bit per level
  Entries now_;                    // those at last_ms_ and before
  std::int64_t last_ms_ = std::numeric_limits<std::int64_t>::min();
  std::size_t size_ = 0;
};

}  // namespace weir
