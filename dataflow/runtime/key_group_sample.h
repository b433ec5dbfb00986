// Which key group most records of a hash exchange belong to, by a sample of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "state/key_groups.h"

namespace weir {

// Looks at one record of 61: a prime, so that patterns in the input rarely meet it. Not thread-safe.
class KeyGroupSample {
 public:
  static constexpr std::size_t stride = 61;

  // For an exchange that is not hashed: counts nothing.
  KeyGroupSample() = default;
  explicit KeyGroupSample(std::uint32_t group_count) : records_of_(group_count) {}

  void add(std::span<const KeyHash> hashes) {
    if (records_of_.empty()) return;
    std::size_t at = skip_;
    for (; at < hashes.size(); at += stride) {
      const KeyGroup group =
          key_group_of(hashes[at], static_cast<std::uint32_t>(records_of_.size()));
      ++records_;
      if (++records_of_[group.value] > records_of_[largest_.value]) largest_ = group;
    }
    skip_ = at - hashes.size();
  }

  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] KeyGroup largest() const { return largest_; }
  [[nodiscard]] std::uint64_t records_of_largest() const {
    return records_of_.empty() ? 0 : records_of_[largest_.value];
  }

 private:
  std::vector<std::uint64_t> records_of_;  // by key group
  std::uint64_t records_ = 0;
  KeyGroup largest_{0};
  std::size_t skip_ = 0;  // records before the next to look at
};

}  // namespace weir
