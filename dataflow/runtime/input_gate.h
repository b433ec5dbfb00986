// Where a task's input waits: a queue per channel, and the choice of which is read next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "dataflow/operator.h"
#include "dataflow/runtime/element.h"

namespace weir {

// An element with what its sender was charged for it in credit; whoever consumes or drops it gives
// that back.
struct ChargedElement {
  Element element;
  std::uint64_t charged_bytes = 0;
};

struct GateItem {
  ChannelIndex channel;
  InputPort port;
  ChargedElement content;
};

// Queues per input channel, read round-robin so that no channel starves. Message handlers put
// elements in; the task's step takes them out, so a channel can be blocked (barrier alignment) or
// its port paused (an operator that reads another input first) while its elements wait here,
// bounded by the credit they were sent under. Not thread-safe.
class InputGate {
 public:
  // The port that each channel leads to, in the order of channel indices. May be empty (sources).
  explicit InputGate(std::vector<InputPort> channel_ports);

  // Requires a known channel that has not ended.
  void put(ChannelIndex channel, ChargedElement content);

  // The next element of a channel that is not blocked and whose port the selection allows.
  [[nodiscard]] std::optional<GateItem> take(InputSelection selection);

  void set_blocked(ChannelIndex channel, bool blocked) { at(channel).blocked = blocked; }

  [[nodiscard]] std::size_t channel_count() const { return channels_.size(); }
  [[nodiscard]] InputPort port_of(ChannelIndex channel) const {
    return channels_[channel.value].port;
  }
  [[nodiscard]] bool has_ended(ChannelIndex channel) const {
    return channels_[channel.value].ended;
  }
  [[nodiscard]] bool empty() const { return queued_ == 0; }
  [[nodiscard]] std::size_t queued_elements() const { return queued_; }
  // What the senders of the queued elements were charged.
  [[nodiscard]] std::uint64_t queued_bytes() const { return queued_bytes_; }

  // Everything still queued, for giving back its credit when the task ends early. Leaves the gate
  // empty.
  [[nodiscard]] std::vector<GateItem> drain();

 private:
  struct Channel {
    InputPort port;
    bool blocked = false;
    bool ended = false;  // EndOfInput is in the queue or was taken
    std::deque<ChargedElement> queue;
  };
  Channel& at(ChannelIndex channel);

  std::vector<Channel> channels_;
  std::size_t next_ = 0;  // where the round-robin goes on
  std::size_t queued_ = 0;
  std::uint64_t queued_bytes_ = 0;
};

}  // namespace weir
