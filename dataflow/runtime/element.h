// What travels in a channel, in order.
#pragma once

#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "dataflow/batch.h"

namespace weir {

// No record with an earlier or equal time follows, but for late ones.
struct Watermark {
  EventTime time;
  friend bool operator==(const Watermark&, const Watermark&) = default;
};

// The channel has become idle: it sends nothing for now and does not hold back the watermark. Or
// active again.
struct WatermarkStatus {
  bool idle;
  friend bool operator==(const WatermarkStatus&, const WatermarkStatus&) = default;
};

// What came before it belongs to the checkpoint, what follows does not (Chandy and Lamport, 1985; Carbone et al.,
// "Lightweight Asynchronous Snapshots for Distributed Dataflows", 2015).
struct Barrier {
  CheckpointId checkpoint;
  friend bool operator==(const Barrier&, const Barrier&) = default;
};

// What a loop's head sends round to learn what is on its way. For a checkpoint; or, when its input has ended, to learn whether it may end, too:
// `active` if some head has put out records since its last one of these.
struct LoopMarker {
  bool active = false;
  CheckpointId checkpoint{};  // 0: for the end
  friend bool operator==(const LoopMarker&, const LoopMarker&) = default;
};

// Nothing follows in this channel.
struct EndOfInput {
  friend bool operator==(const EndOfInput&, const EndOfInput&) = default;
};

using Element = std::variant<BatchPtr, Watermark, WatermarkStatus, EndOfInput, Barrier, LoopMarker>;

}  // namespace weir
