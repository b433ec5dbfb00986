// Merges the watermarks of a task's input channels into one that never goes back.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace weir {

// What one event let through: at most one watermark, then at most one change of status.
struct ValveOutput {
  std::optional<EventTime> watermark;
  std::optional<bool> idle;
  friend bool operator==(const ValveOutput&, const ValveOutput&) = default;
};

// The rules of Apache Flink's StatusWatermarkValve: the result is the minimum over the channels
// that are active and aligned. A channel that wakes with a smaller watermark than was let through
// is unaligned, and ignored until it has caught up. When the last active channel becomes idle, the
// largest watermark of all is let through first. Unlike there, a channel at EventTime::max() has
// ended and takes no part: the result becomes max() only when all channels have, so that an ended
// one does not fire what an idle one still feeds (FLINK-38477).
//
// A pure state machine, not thread-safe. O(channels) per event.
class WatermarkValve {
 public:
  // Requires channel_count > 0. All channels start active, at EventTime::min().
  explicit WatermarkValve(std::size_t channel_count);

  [[nodiscard]] ValveOutput on_watermark(ChannelIndex channel, EventTime watermark);
  [[nodiscard]] ValveOutput on_status(ChannelIndex channel, bool idle);

  // The last watermark let through.
  [[nodiscard]] EventTime current() const { return current_; }
  // The channel that holds the result back, for people: an active, aligned one at the minimum; none
  // if all are idle.
  [[nodiscard]] std::optional<ChannelIndex> holder() const;

 private:
  struct Channel {
    EventTime watermark = EventTime::min();
    bool idle = false;
    bool aligned = true;
    [[nodiscard]] bool ended() const { return watermark == EventTime::max(); }
    [[nodiscard]] bool silent() const { return idle || ended(); }
  };

  [[nodiscard]] ValveOutput settle();
  [[nodiscard]] std::optional<EventTime> advance_to(EventTime watermark);

  std::vector<Channel> channels_;
  EventTime current_ = EventTime::min();
  bool idle_ = false;
};

}  // namespace weir
