#include "snapshot/barrier_aligner.h"

#include <algorithm>

#include "base/check.h"

namespace weir {

BarrierAligner::BarrierAligner(std::size_t channel_count, CheckpointMode mode)
    : mode_(mode), open_(channel_count, true) {
  WEIR_CHECK(channel_count > 0);
}

Alignment BarrierAligner::on_barrier(ChannelIndex channel, CheckpointId id, MonotonicTime now) {
  WEIR_CHECK(is_open(channel));
  WEIR_CHECK(!is_blocked(channel));
  Alignment alignment;
  if (id > newest_) begin(id, now, alignment);
  const auto pending = std::ranges::find(pending_, id, &Pending::id);
  if (pending == pending_.end()) return alignment;  // of an aborted one

  pending->arrived[channel.value] = true;
  if (is_aligned(*pending)) {
    finish_aligned(now, alignment);
  } else {
    alignment.blocks = mode_ == CheckpointMode::exactly_once;
  }
  check_invariants();
  return alignment;
}

Alignment BarrierAligner::on_end_of_input(ChannelIndex channel, MonotonicTime now) {
  WEIR_CHECK(is_open(channel));
  WEIR_CHECK(!is_blocked(channel));
  open_[channel.value] = false;
  Alignment alignment;
  finish_aligned(now, alignment);
  check_invariants();
  return alignment;
}

Alignment BarrierAligner::on_injected(CheckpointId id) {
  WEIR_CHECK(std::ranges::find(open_, true) == open_.end());
  Alignment alignment;
  if (id <= newest_) return alignment;
  newest_ = id;
  alignment.complete = {{.id = id, .alignment = {}}};
  return alignment;
}

Alignment BarrierAligner::on_cancel(CheckpointId id) {
  Alignment alignment;
  newest_ = std::max(newest_, id);
  const auto pending = std::ranges::find(pending_, id, &Pending::id);
  if (pending != pending_.end()) {
    pending_.erase(pending);
    alignment.aborted = {id};
    alignment.unblocks = mode_ == CheckpointMode::exactly_once;
  }
  check_invariants();
  return alignment;
}

bool BarrierAligner::is_blocked(ChannelIndex channel) const {
  return mode_ == CheckpointMode::exactly_once && !pending_.empty() && is_open(channel) &&
         pending_.front().arrived[channel.value];
}

bool BarrierAligner::is_aligned(const Pending& pending) const {
  for (std::size_t i = 0; i < open_.size(); ++i) {
    if (open_[i] && !pending.arrived[i]) return false;
  }
  return true;
}

void BarrierAligner::begin(CheckpointId id, MonotonicTime now, Alignment& alignment) {
  newest_ = id;
  if (mode_ == CheckpointMode::exactly_once && !pending_.empty()) {
    alignment.aborted = {pending_.front().id};
    alignment.unblocks = true;
    pending_.clear();
  }
  pending_.push_back({.id = id, .started = now, .arrived = std::vector<bool>(open_.size())});
}

// An older one that a newer overtakes can never align in order: a channel has skipped it.
void BarrierAligner::finish_aligned(MonotonicTime now, Alignment& alignment) {
  const auto aligned = [&](const Pending& pending) { return is_aligned(pending); };
  const auto last = std::find_if(pending_.rbegin(), pending_.rend(), aligned).base();
  for (auto at = pending_.begin(); at != last; ++at) {
    if (is_aligned(*at)) {
      alignment.complete.push_back({.id = at->id, .alignment = now - at->started});
    } else {
      alignment.aborted.push_back(at->id);
    }
  }
  if (last == pending_.begin()) return;
  pending_.erase(pending_.begin(), last);
  alignment.unblocks = mode_ == CheckpointMode::exactly_once;
}

void BarrierAligner::check_invariants() const {
  WEIR_CHECK(mode_ == CheckpointMode::at_least_once || pending_.size() <= 1);
  for (const Pending& pending : pending_) WEIR_CHECK(!is_aligned(pending));
  WEIR_CHECK(pending_.empty() || pending_.back().id <= newest_);
}

}  // namespace weir
