#include "dataflow/runtime/input_gate.h"

#include <utility>

#include "base/check.h"

namespace weir {

InputGate::InputGate(std::vector<InputPort> channel_ports) {
  channels_.resize(channel_ports.size());
  for (std::size_t i = 0; i < channel_ports.size(); ++i) channels_[i].port = channel_ports[i];
}

void InputGate::put(ChannelIndex channel, ChargedElement content) {
  Channel& to = at(channel);
  WEIR_CHECK(!to.ended);
  to.ended = std::holds_alternative<EndOfInput>(content.element);
  queued_bytes_ += content.charged_bytes;
  to.queue.push_back(std::move(content));
  ++queued_;
}

std::optional<GateItem> InputGate::take(InputSelection selection) {
  if (queued_ == 0) return std::nullopt;
  for (std::size_t tried = 0; tried < channels_.size(); ++tried) {
    const std::size_t index = next_;
    next_ = next_ + 1 == channels_.size() ? 0 : next_ + 1;
    Channel& channel = channels_[index];
    if (channel.queue.empty() || channel.blocked || !selection.allows(channel.port)) continue;
    GateItem item{.channel = {static_cast<std::uint32_t>(index)},
                  .port = channel.port,
                  .content = std::move(channel.queue.front())};
    channel.queue.pop_front();
    --queued_;
    queued_bytes_ -= item.content.charged_bytes;
    return item;
  }
  return std::nullopt;
}

std::vector<GateItem> InputGate::drain() {
  std::vector<GateItem> all;
  for (std::uint32_t i = 0; i < channels_.size(); ++i) {
    for (auto& content : channels_[i].queue) {
      all.push_back({.channel = {i}, .port = channels_[i].port, .content = std::move(content)});
    }
    channels_[i].queue.clear();
  }
  queued_ = 0;
  queued_bytes_ = 0;
  return all;
}

InputGate::Channel& InputGate::at(ChannelIndex channel) {
  WEIR_CHECK(channel.value < channels_.size());
  return channels_[channel.value];
}

}  // namespace weir
