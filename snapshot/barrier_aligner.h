// Decides when a task has seen the barrier of a checkpoint on all of its input channels.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "snapshot/checkpoint_settings.h"

namespace weir {

// A checkpoint whose barrier every channel has delivered.
struct AlignedCheckpoint {
  CheckpointId id{};
  // From its first barrier to its last: how long the first channel waited, for the statistics.
  std::chrono::nanoseconds alignment{0};
  friend bool operator==(const AlignedCheckpoint&, const AlignedCheckpoint&) = default;
};

// What one event changed, to be carried out in the order of the members.
struct Alignment {
  // Given up, because a newer barrier overtook them: the coordinator is told, and the chain passes nothing on.
  std::vector<CheckpointId> aborted{};
  // Snapshot now, before reading any further record; then all channels may be read again. Exactly-once has at most
  // one; at-least-once several, oldest first, only when a channel that ended held them all back.
  std::vector<AlignedCheckpoint> complete{};
  bool unblocks = false;  // channels that were blocked may be read again …
  bool blocks = false;    // … and the one of this event must not be, until a later event unblocks
  friend bool operator==(const Alignment&, const Alignment&) = default;
};

// Aligns checkpoint barriers across the input channels of one task.
//
// A snapshot for checkpoint N is exactly-once only if the state holds every record before barrier N
// and none after it. So a channel that has delivered N is blocked, and the caller must not read it,
// until N is complete or aborted. At-least-once blocks nobody and only counts, so several
// checkpoints may be under way.
//
// A pure state machine: no clock, thread, I/O or actor. Not thread-safe. O(channels) per event.
//
// Invariants:
//  (1) Exactly-once: at most one checkpoint is pending, and a channel is blocked iff it is open and has delivered the
//      pending barrier. At-least-once: no channel is blocked.
//  (2) For each pending checkpoint, some open channel has not delivered its barrier.
//  (3) Ids of begun checkpoints strictly increase, and so do those that complete; barriers of older and of aborted ones
//      are ignored.
class BarrierAligner {
 public:
  // Requires channel_count > 0. All channels start open and unblocked.
  BarrierAligner(std::size_t channel_count, CheckpointMode mode);

  // Requires that `channel` is open and not blocked.
  [[nodiscard]] Alignment on_barrier(ChannelIndex channel, CheckpointId id, MonotonicTime now);

  // The channel will deliver nothing more and counts as arrived, for this checkpoint and all later ones.
  // Requires that `channel` is open and not blocked.
  [[nodiscard]] Alignment on_end_of_input(ChannelIndex channel, MonotonicTime now);

  // The barrier comes from elsewhere, as no channel is left. Requires that all have ended.
  [[nodiscard]] Alignment on_injected(CheckpointId id);

  // The coordinator gave the checkpoint up (declined, expired, cancelled): nothing waits for it any more, and
  // its barriers still to come are ignored. While an older one is pending, a newer one's cancel does not touch it:
  // it may still align, and its snapshot is then refused. `aborted` says whether it was pending.
  [[nodiscard]] Alignment on_cancel(CheckpointId id);

  [[nodiscard]] bool is_blocked(ChannelIndex channel) const;
  [[nodiscard]] bool is_aligning() const { return !pending_.empty(); }

 private:
  struct Pending {
    CheckpointId id;
    MonotonicTime started;
    std::vector<bool> arrived;  // by channel
  };

  [[nodiscard]] bool is_open(ChannelIndex channel) const { return open_.at(channel.value); }
  [[nodiscard]] bool is_aligned(const Pending& pending) const;
  void begin(CheckpointId id, MonotonicTime now, Alignment& alignment);
  void finish_aligned(MonotonicTime now, Alignment& alignment);
  void check_invariants() const;

  CheckpointMode mode_;
  std::vector<bool> open_;
  std::deque<Pending> pending_;  // oldest first
  CheckpointId newest_{};        // newest checkpoint begun or cancelled, pending or not
};

}  // namespace weir
