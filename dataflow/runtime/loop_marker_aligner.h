// When a task has seen a marker of a loop on all of its input channels.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "dataflow/runtime/element.h"

namespace weir {

// The n-th markers for the end of all channels are one: it goes on when the last of them is there, and says whether any of them was active.
// Those for a checkpoint are one, too, in which a channel counts that has delivered a later one: its head did not take part in that. Channels
// that have ended count as inactive, and for all. Nobody is blocked: what matters is that all that was before a marker has passed.
//
// Heads whose input has ended send markers for the end while others still send those for checkpoints; so they are told apart.
//
// A pure state machine, not thread-safe. O(channels) per event.
class LoopMarkerAligner {
 public:
  // Requires channel_count > 0.
  explicit LoopMarkerAligner(std::size_t channel_count) : channels_(channel_count) {}

  // Each returns the markers that are complete now, in order.
  [[nodiscard]] std::vector<LoopMarker> on_marker(ChannelIndex index, LoopMarker marker) {
    Channel& channel = at(index);
    if (marker.checkpoint > CheckpointId{}) {
      channel.checkpoint = std::max(channel.checkpoint, marker.checkpoint);
      checkpoints_.insert(marker.checkpoint);
      return complete();
    }
    const std::size_t position = channel.seen++ - passed_;
    if (position >= active_.size()) active_.resize(position + 1, false);
    active_[position] = active_[position] || marker.active;
    return complete();
  }
  [[nodiscard]] std::vector<LoopMarker> on_end_of_input(ChannelIndex index) {
    at(index).ended = true;
    return complete();
  }

 private:
  struct Channel {
    std::size_t seen = 0;       // for the end
    CheckpointId checkpoint{};  // the last one
    bool ended = false;
  };

  Channel& at(ChannelIndex index) {
    WEIR_CHECK(index.value < channels_.size());
    return channels_[index.value];
  }
  template <class HasDelivered>
  [[nodiscard]] bool by_all(HasDelivered has_delivered) const {
    return std::ranges::all_of(
        channels_, [&](const Channel& channel) { return channel.ended || has_delivered(channel); });
  }
  std::vector<LoopMarker> complete() {
    std::vector<LoopMarker> markers;
    const auto has_first = [this](const Channel& channel) {
      return channel.checkpoint >= *checkpoints_.begin();
    };
    while (!checkpoints_.empty() && by_all(has_first)) {
      markers.push_back({false, *checkpoints_.begin()});
      checkpoints_.erase(checkpoints_.begin());
    }
    const auto has_next = [this](const Channel& channel) { return channel.seen > passed_; };
    while (!active_.empty() && by_all(has_next)) {
      markers.push_back({active_.front()});
      active_.pop_front();
      ++passed_;
    }
    return markers;
  }

  std::vector<Channel> channels_;
  // Of markers that some channel has delivered and not all.
  std::set<CheckpointId> checkpoints_;
  std::deque<bool> active_;  // for the end
  std::size_t passed_ = 0;   // likewise
};

}  // namespace weir
