// Which keys of an operator want to be looked at, and when.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace weir {

// A queue of (time, key), earliest first, of equal times the first pushed. What it holds is derived from the operator's state,
// which also says whether an alarm that comes still means anything; so it is no part of snapshots, and nothing is removed.
//
// A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan, "Faster Algorithms for the Shortest Path Problem", 1990): time goes on, so
// entries need to be told apart only as finely as they are near. A bucket per highest bit in which a time differs from the last
// one popped; the nearest bucket is dealt out when its turn comes. Pushing takes constant time, an entry is moved at most once
// per bit, and memory is gone through in order. What is pushed for a time before the last one popped comes next. Not
// thread-safe.
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
    if (used_ == 0) return std::nullopt;
    return buckets_[first_bucket()].least_ms;
  }
  [[nodiscard]] std::size_t size() const { return size_; }

  // Calls visit(entry) for the one that comes after `ahead` others, if it is known: for fetching its memory.
  template <class Visit>
  void peek(std::size_t ahead, Visit visit) const {
    if (next_of_now_ + ahead < now_.size()) visit(now_[next_of_now_ + ahead]);
  }

  // Drops the entries for which keep(entry) is false.
  template <class Keep>
  void drop_unless(Keep keep) {
    std::vector<Entry> all;
    for (std::size_t i = next_of_now_; i < now_.size(); ++i) all.push_back(std::move(now_[i]));
    now_.clear();
    next_of_now_ = 0;
    for (Bucket& bucket : buckets_) {
      for (Entry& entry : bucket.entries) all.push_back(std::move(entry));
      bucket = {};
    }
    used_ = 0;
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

  [[nodiscard]] std::size_t first_bucket() const {
    return static_cast<std::size_t>(std::countr_zero(used_));
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
    const auto differing =
        static_cast<std::uint64_t>(entry.time_ms) ^ static_cast<std::uint64_t>(last_ms_);
    const auto index = static_cast<std::size_t>(std::bit_width(differing)) - 1;
    Bucket& bucket = buckets_[index];
    bucket.least_ms = std::min(bucket.least_ms, entry.time_ms);
    bucket.entries.push_back(std::move(entry));
    used_ |= std::uint64_t{1} << index;
  }

  // Moves on to the next time, if that has come.
  bool deal_out(std::int64_t now_ms) {
    if (used_ == 0) return false;
    const std::size_t index = first_bucket();
    Bucket& bucket = buckets_[index];
    if (bucket.least_ms > now_ms) return false;
    last_ms_ = bucket.least_ms;
    Bucket dealt;
    std::swap(dealt, bucket);
    used_ &= ~(std::uint64_t{1} << index);
    for (Entry& entry : dealt.entries) place(std::move(entry));
    if (dealt.entries.capacity() <= entries_kept_max) {
      dealt.entries.clear();
      bucket.entries = std::move(dealt.entries);
    }
    return true;
  }

  std::array<Bucket, 64> buckets_;  // by highest bit that differs from last_ms_
  std::uint64_t used_ = 0;          // a bit per bucket
  std::vector<Entry> now_;          // those at last_ms_ and before
  std::size_t next_of_now_ = 0;
  std::int64_t last_ms_ = std::numeric_limits<std::int64_t>::min();
  std::size_t size_ = 0;
};

}  // namespace weir
