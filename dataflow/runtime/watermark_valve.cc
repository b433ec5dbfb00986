#include "dataflow/runtime/watermark_valve.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir {

WatermarkValve::WatermarkValve(std::size_t channel_count) : channels_(channel_count) {
  WEIR_CHECK(channel_count > 0);
}

ValveOutput WatermarkValve::on_watermark(ChannelIndex index, EventTime watermark) {
  WEIR_CHECK(index.value < channels_.size());
  Channel& channel = channels_[index.value];
  if (channel.idle || watermark <= channel.watermark) return {};
  channel.watermark = watermark;
  if (!channel.aligned && watermark >= current_) channel.aligned = true;
  return settle();
}

ValveOutput WatermarkValve::on_status(ChannelIndex index, bool idle) {
  WEIR_CHECK(index.value < channels_.size());
  Channel& channel = channels_[index.value];
  if (channel.idle == idle) return {};
  channel.idle = idle;
  channel.aligned = !idle && channel.watermark >= current_;
  if (!idle) {
    const bool woke = !channel.ended() && std::exchange(idle_, false);
    return {.watermark = {}, .idle = woke ? std::optional(false) : std::nullopt};
  }
  // Only a channel that defined the minimum was holding the others back.
  const bool was_last = std::ranges::all_of(channels_, &Channel::silent);
  if (!was_last || channel.watermark != current_) return settle();
  EventTime largest = current_;
  for (const Channel& other : channels_) {
    if (!other.ended()) largest = std::max(largest, other.watermark);
  }
  const auto flushed = advance_to(largest);
  ValveOutput output = settle();
  output.watermark = flushed;
  return output;
}

std::optional<ChannelIndex> WatermarkValve::holder() const {
  std::optional<ChannelIndex> result;
  for (std::uint32_t i = 0; i < channels_.size(); ++i) {
    if (channels_[i].silent() || !channels_[i].aligned) continue;
    if (!result || channels_[i].watermark < channels_[result->value].watermark) {
      result = ChannelIndex{i};
    }
  }
  return result;
}

ValveOutput WatermarkValve::settle() {
  if (std::ranges::all_of(channels_, &Channel::ended)) {
    return {.watermark = advance_to(EventTime::max()), .idle = {}};
  }
  if (std::ranges::all_of(channels_, &Channel::silent)) {
    return {.watermark = {},
            .idle = std::exchange(idle_, true) ? std::nullopt : std::optional(true)};
  }
  const auto holding = holder();
  if (!holding) return {};
  return {.watermark = advance_to(channels_[holding->value].watermark), .idle = {}};
}

std::optional<EventTime> WatermarkValve::advance_to(EventTime watermark) {
  if (watermark <= current_) return std::nullopt;
  current_ = watermark;
  return watermark;
}

}  // namespace weir
