// Up to which watermark the windows of each key group have fired.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "base/time.h"
#include "dataflow/operator.h"
#include "state/key_groups.h"
#include "state/state_backend.h"

namespace weir {

// After a restore an instance begins with the least watermark of those that had its keys before. For the keys of the others windows have
// fired beyond it, which must not fire again as long as they can be told from their slices. This remembers it, as a part of the
// operator's snapshots, until the watermark has caught up. Not thread-safe.
class FiredGroups {
 public:
  // Groups [first, first + count).
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    EventTime until;
  };

  // Registers its state.
  [[nodiscard]] Result<void> open(const OperatorContext& context) {
    keys_ = context.keys;
    auto ranges = context.state->list<Range>("windows fired", StateKind::union_list);
    if (!ranges) return ranges.error();
    ranges_ = *std::move(ranges);
    ahead_.assign(keys_.range.count, context.watermark);
    for (const Range& range : *ranges_) {
      for (std::uint32_t i = 0; i < keys_.range.count; ++i) {
        const std::uint32_t group = keys_.range.first.value + i;
        if (group - range.first < range.count) ahead_[i] = std::max(ahead_[i], range.until);
      }
    }
    reach(context.watermark);
    return {};
  }

  // All windows up to the watermark have fired.
  void reach(EventTime watermark) {
    watermark_ = watermark;
    if (!ahead_.empty() && std::ranges::max(ahead_) <= watermark) ahead_.clear();
  }
  void prepare_snapshot() {
    ranges_->clear();
    if (ahead_.empty()) {
      ranges_->push_back({keys_.range.first.value, keys_.range.count, watermark_});
      return;
    }
    for (std::uint32_t i = 0; i < keys_.range.count; ++i) {
      const EventTime until = std::max(ahead_[i], watermark_);
      if (!ranges_->empty() && ranges_->back().until == until) {
        ++ranges_->back().count;
      } else {
        ranges_->push_back({keys_.range.first.value + i, 1, until});
      }
    }
  }

  // Whether any group is ahead of the watermark.
  [[nodiscard]] bool any_ahead() const { return !ahead_.empty(); }
  // Of a key's group, if that is ahead; else EventTime::min().
  [[nodiscard]] EventTime ahead(KeyHash hash) const {
    if (ahead_.empty()) return EventTime::min();
    return ahead_[key_group_of(hash, keys_.max_parallelism).value - keys_.range.first.value];
  }

 private:
  KeyGroupSlice keys_;
  std::shared_ptr<std::vector<Range>> ranges_;  // shared with the backend
  std::vector<EventTime> ahead_;                // by group of the slice; empty if none is ahead
  EventTime watermark_ = EventTime::min();
};

}  // namespace weir
