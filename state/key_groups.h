// How keys map to key groups and key groups to subtasks.
//
// A key group is the smallest unit of keyed state that moves between subtasks when a job is
// rescaled; their number is the job's maximum parallelism and never changes. The rules are Apache
// Flink's (KeyGroupRangeAssignment); the hash is ours (base/hash.h). All of it is part of the
// savepoint format.
#pragma once

#include <compare>
#include <cstdint>

#include "base/ids.h"

namespace weir {

using KeyGroup = StrongId<struct KeyGroupTag, std::uint32_t>;

inline constexpr std::uint32_t parallelism_max = 32'768;

// Key groups first … last, both included. The default is one range over nothing.
struct KeyGroupRange {
  KeyGroup first{0};
  std::uint32_t count{0};

  [[nodiscard]] constexpr KeyGroup last() const { return {first.value + count - 1}; }
  [[nodiscard]] constexpr bool contains(KeyGroup group) const {
    return group.value - first.value < count;
  }
  friend constexpr bool operator==(const KeyGroupRange&, const KeyGroupRange&) = default;
};

// The part of a job's keys that one subtask holds.
struct KeyGroupSlice {
  KeyGroupRange range;
  std::uint32_t max_parallelism = 0;

  friend constexpr bool operator==(const KeyGroupSlice&, const KeyGroupSlice&) = default;
};

// Uses the high half of the hash; tables place their slots by the low bits, so that the keys of one
// group still spread over its table (the same bits cost a factor of three).
[[nodiscard]] constexpr KeyGroup key_group_of(KeyHash hash, std::uint32_t max_parallelism) {
  return {static_cast<std::uint32_t>(((hash >> 32) * max_parallelism) >> 32)};
}

// Requires 1 <= parallelism <= max_parallelism and group < max_parallelism.
[[nodiscard]] constexpr SubtaskIndex subtask_of(KeyGroup group, std::uint32_t parallelism,
                                                std::uint32_t max_parallelism) {
  return {static_cast<std::uint32_t>(std::uint64_t{group.value} * parallelism / max_parallelism)};
}

// The groups of one subtask; the ranges of all subtasks are disjoint and cover 0 … max_parallelism
// − 1.
[[nodiscard]] constexpr KeyGroupRange key_group_range_of(SubtaskIndex subtask,
                                                         std::uint32_t parallelism,
                                                         std::uint32_t max_parallelism) {
  const std::uint64_t index = subtask.value;
  const std::uint64_t first = (index * max_parallelism + parallelism - 1) / parallelism;
  const std::uint64_t last = ((index + 1) * max_parallelism - 1) / parallelism;
  return {.first = {static_cast<std::uint32_t>(first)},
          .count = static_cast<std::uint32_t>(last - first + 1)};
}

// What a job gets that names none: 1.5 times the parallelism, rounded up to a power of two, within
// 128 … 32,768.
[[nodiscard]] std::uint32_t default_max_parallelism(std::uint32_t parallelism);

}  // namespace weir
