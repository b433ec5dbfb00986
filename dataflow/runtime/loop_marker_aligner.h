// When a task has seen a marker of a loop on all of its input channels.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "dataflow/runtime/element.h"

namespace weir {

// The n-th markers of all channels are one: it goes on when the last of them is there, and says whether any of them was active. Channels
// that have ended count as inactive. Nobody is blocked: what matters is that all that was before a marker has passed.
//
// A pure state machine, not thread-safe. O(channels) per event.
class LoopMarkerAligner {
 public:
  // Requires channel_count > 0.
  explicit LoopMarkerAligner(std::size_t channel_count) : channels_(channel_count) {}

  // Each returns the markers that are complete now, in order.
  [[nodiscard]] std::vector<LoopMarker> on_marker(ChannelIndex index, LoopMarker marker) {
    Channel& channel = at(index);
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
    std::size_t seen = 0;
    bool ended = false;
  };

  Channel& at(ChannelIndex index) {
    WEIR_CHECK(index.value < channels_.size());
    return channels_[index.value];
  }
  [[nodiscard]] bool first_is_complete() const {
    for (const Channel& channel : channels_) {
      if (!channel.ended && channel.seen == passed_) return false;
    }
    return true;
  }
  std::vector<LoopMarker> complete() {
    std::vector<LoopMarker> markers;
    while (!active_.empty() && first_is_complete()) {
      markers.push_back({active_.front()});
      active_.pop_front();
      ++passed_;
    }
    return markers;
  }

  std::vector<Channel> channels_;
  std::deque<bool> active_;  // of markers that some channel has delivered and not all
  std::size_t passed_ = 0;
};

}  // namespace weir
