// Which keys of an operator want to be looked at, and when.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace weir {

// A queue of (time, key), earliest first, of equal times the first pushed. What it holds is derived from the operator's state,
// which also says whether an alarm that comes still means anything; so it is no part of snapshots, and nothing is removed.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster Algorithms for the Shortest Path Problem", 1990): time goes on, so
// entries need to be told apart only as finely as they are near. Times are numbers of 16 digits of four bits. A bucket per
// highest digit in which a time differs from the last one popped, and per value of that; the nearest bucket is dealt out when its
// turn comes. Pushing takes constant time, an entry is moved at most once per digit that differs, and memory is gone through in
// order. What is pushed for a time before the last one popped comes next. Not thread-safe.
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
    if (next_of_now_ == now_.size() && !deal_out(now_ms)) return std::nullopt;
    --size_;
    return std::move(now_[next_of_now_++]);
  }

  [[nodiscard]] std::optional<std::int64_t> next_time_ms() const {
    if (next_of_now_ < now_.size()) return now_[next_of_now_].time_ms;
    if (used_levels_ == 0) return std::nullopt;
    return first_bucket().least_ms;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Those that come next, as far as that is known.
  [[nodiscard]] std::span<const Entry> next() const {
    return std::span(now_).subspan(next_of_now_);
  }

  // Drops the entries for which keep(entry) is false.
  template <class Keep>
  void drop_unless(Keep keep) {
    std::vector<Entry> all;
    for (std::size_t i = next_of_now_; i < now_.size(); ++i) all.push_back(std::move(now_[i]));
    now_.clear();
    next_of_now_ = 0;
    for (auto& level : buckets_) {
      for (Bucket& bucket : level) {
        for (Entry& entry : bucket.entries) all.push_back(std::move(entry));
        bucket = {};
      }
    }
    used_ = {};
    used_levels_ = 0;
    size_ = 0;
    for (Entry& entry : all) {
      if (keep(std::as_const(entry))) push(std::move(entry));
    }
  }

 private:
  struct Bucket {
    std::vector<Entry> entries;
    std::int64_t least_ms = std::numeric_limits<std::int64_t>::max();
  };
  static constexpr std::size_t entries_kept_max = 4096;  // as memory of an empty bucket

  static constexpr unsigned digit_bits = 4, digits = 64 / digit_bits;
  static constexpr std::size_t digit_values = std::size_t{1} << digit_bits;

  struct Position {
    std::size_t level;  // of the highest digit in which a time differs from last_ms_
    std::size_t digit;  // its value there
  };
  // Requires ms > last_ms_.
  [[nodiscard]] Position position_of(std::int64_t ms) const {
    // Flipped, it makes the order of signed times that of digits.
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const std::uint64_t time = static_cast<std::uint64_t>(ms) ^ sign;
    const std::uint64_t differing = time ^ (static_cast<std::uint64_t>(last_ms_) ^ sign);
    const auto level = static_cast<std::size_t>(std::bit_width(differing) - 1) / digit_bits;
    return {level, (time >> (level * digit_bits)) % digit_values};
  }
  [[nodiscard]] Position first_position() const {
    const auto level = static_cast<std::size_t>(std::countr_zero(used_levels_));
    return {level, static_cast<std::size_t>(std::countr_zero(used_[level]))};
  }
  [[nodiscard]] const Bucket& first_bucket() const {
    const auto [level, digit] = first_position();
    return buckets_[level][digit];
  }

  void place(Entry entry) {
    if (entry.time_ms <= last_ms_) {
      if (next_of_now_ == now_.size()) {
        now_.clear();
        next_of_now_ = 0;
      }
      now_.push_back(std::move(entry));
      return;
    }
    const auto [level, digit] = position_of(entry.time_ms);
    Bucket& bucket = buckets_[level][digit];
    bucket.least_ms = std::min(bucket.least_ms, entry.time_ms);
    bucket.entries.push_back(std::move(entry));
    used_[level] = static_cast<std::uint16_t>(used_[level] | (1U << digit));
    used_levels_ = static_cast<std::uint16_t>(used_levels_ | (1U << level));
  }

  // Moves on to the next time, if that has come.
  bool deal_out(std::int64_t now_ms) {
    if (used_levels_ == 0) return false;
    const auto [level, digit] = first_position();
    Bucket& bucket = buckets_[level][digit];
    if (bucket.least_ms > now_ms) return false;
    last_ms_ = bucket.least_ms;
    Bucket dealt;
    std::swap(dealt, bucket);
    used_[level] = static_cast<std::uint16_t>(used_[level] & ~(1U << digit));
    if (used_[level] == 0) used_levels_ = static_cast<std::uint16_t>(used_levels_ & ~(1U << level));
    for (Entry& entry : dealt.entries) place(std::move(entry));
    if (dealt.entries.capacity() <= entries_kept_max) {
      dealt.entries.clear();
      bucket.entries = std::move(dealt.entries);
    }
    return true;
  }

  std::array<std::array<Bucket, digit_values>, digits> buckets_;  // by level and digit
  std::array<std::uint16_t, digits> used_{};                      // by level: a bit per digit
  std::uint16_t used_levels_ = 0;                                 // a bit per level
  std::vector<Entry> now_;                                        // those at last_ms_ and before
  std::size_t next_of_now_ = 0;
  std::int64_t last_ms_ = std::numeric_limits<std::int64_t>::min();
  std::size_t size_ = 0;
};

}  // namespace weir
