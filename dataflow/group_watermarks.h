// How far the watermark of a keyed operator has come, for each of its key groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "state/key_groups.h"
#include "state/state_backend.h"

namespace weir {

// A watermark is state: what a keyed operator has fired is in its snapshots, so what it took for late must be, too. It is kept by key group,
// since instances can be at different watermarks and share their groups anew in a restore.
//
// An instance begins again with the least watermark of its groups, which is exactly its own if it has the groups it had. Groups that were
// further are *ahead* until it has caught up: their windows have fired beyond its watermark, and their records are late for what
// has fired. The chain keeps this for its operators. Not thread-safe.
class GroupWatermarks {
 public:
  // Groups [first, first + count).
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    EventTime reached;
  };

  // Registers it as a state of the instance.
  [[nodiscard]] Result<void> open(StateBackend& state) {
    keys_ = state.slice();
    auto ranges = state.list<Range>("watermarks reached", StateKind::union_list);
    if (!ranges) return ranges.error();
    ranges_ = *std::move(ranges);
    bool any = false;
    for (const Range& range : *ranges_) {
      const auto [first, last] = shared_with(range);
      if (first >= last) continue;
      watermark_ = any ? std::min(watermark_, range.reached) : range.reached;
      any = true;
    }
    ahead_.assign(keys_.range.count, watermark_);
    for (const Range& range : *ranges_) {
      const auto [first, last] = shared_with(range);
      for (std::uint32_t group = first; group < last; ++group)
        ahead_[group - keys_.range.first.value] = range.reached;
    }
    reach(watermark_);
    return {};
  }

  // What all groups have reached.
  [[nodiscard]] EventTime watermark() const { return watermark_; }
  // Requires that it does not go back.
  void reach(EventTime watermark) {
    watermark_ = watermark;
    if (!ahead_.empty() && std::ranges::max(ahead_) <= watermark) ahead_.clear();
  }

  // Whether any group is ahead of the watermark: hardly ever.
  [[nodiscard]] bool any_ahead() const { return !ahead_.empty(); }
  // What the group of a key had reached, if any is ahead; else EventTime::min().
  [[nodiscard]] EventTime ahead(KeyHash hash) const {
    if (ahead_.empty()) return EventTime::min();
    return ahead_[key_group_of(hash, keys_.max_parallelism).value - keys_.range.first.value];
  }

  void prepare_snapshot() {
    ranges_->clear();
    if (ahead_.empty()) {
      ranges_->push_back({keys_.range.first.value, keys_.range.count, watermark_});
      return;
    }
    for (std::uint32_t i = 0; i < keys_.range.count; ++i) {
      const EventTime reached = std::max(ahead_[i], watermark_);
      if (!ranges_->empty() && ranges_->back().reached == reached) {
        ++ranges_->back().count;
      } else {
        ranges_->push_back({keys_.range.first.value + i, 1, reached});
      }
    }
  }

 private:
  // The instance's own groups among those of a range: from the first to before the second, if that is greater.
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> shared_with(const Range& range) const {
    const KeyGroupRange& own = keys_.range;
    return {std::max(range.first, own.first.value),
            std::min(range.first + range.count, own.first.value + own.count)};
  }

  KeyGroupSlice keys_;
  std::shared_ptr<std::vector<Range>> ranges_;  // shared with the backend
  std::vector<EventTime> ahead_;                // by group of the slice; empty if none is ahead
  EventTime watermark_ = EventTime::min();
};

}  // namespace weir
