// The engine's fixed bounds, in one place. Each has its reason; relations between them are asserted
// below.
#pragma once

#include <chrono>
#include <cstddef>

namespace weir::limits {

// A full batch. From 256 records on the cost of passing a batch on vanishes; 4,096 small records
// stay in the L2 cache.
inline constexpr std::size_t batch_rows_max = 4096;
inline constexpr std::size_t batch_bytes_max = 256 * 1024;

// Channels of one edge: each costs a queue at both ends. 500 × 500 subtasks are within it.
inline constexpr std::size_t edge_channels_max = 250'000;

// Memory in flight into one task, divided among its input channels: what a fast producer can be
// ahead.
inline constexpr std::size_t gate_bytes_max = 2 * 1024 * 1024;
// No channel gets less than this, nor more than that, however many share the gate.
inline constexpr std::size_t channel_bytes_min = 32 * 1024;
inline constexpr std::size_t channel_bytes_max = 2 * batch_bytes_max;
// Between processes a batch is longer on its way (encoded, sent, read, decoded), so more of them are: as many times the
// share.
inline constexpr std::size_t remote_window_factor = 3;

// Longest uninterrupted work of a task, so that cancels and other tasks of its thread get their
// turn.
inline constexpr std::chrono::milliseconds step_time_max{5};
// A task that has had its thread for so long gives it to others after the step under way; until then short steps follow
// each other without the cost of a change.
inline constexpr std::chrono::milliseconds turn_time_max{1};
// An operator's call takes as many rows as it did in about this long, so that slow user functions
// yield in time.
inline constexpr std::chrono::microseconds call_time_target{1000};
inline constexpr std::size_t call_rows_at_first = 1;

// Empty batches a task keeps for reuse, per type: as many as are in flight when a wide exchange
// makes small ones. There are never more than were in flight at once, so this bounds a count, not
// the memory.
inline constexpr std::size_t pooled_batches_max = 128;

// Names of jobs, steps and slot groups: they are in tables, in messages and in all that is kept of a job.
inline constexpr std::size_t name_bytes_max = 200;
// What a step says of itself may name many files; more than this is cut.
inline constexpr std::size_t kind_bytes_max = 1000;

// Tables that a keyed state is divided into, at most: each costs about 50 bytes also when it is empty, for every state
// and every open window. So many keep each small enough to grow without a pause.
inline constexpr std::size_t state_tables_max = 128;

// A task that holds its thread for longer is named in the log.
inline constexpr std::chrono::milliseconds stuck_after{1000};

static_assert(channel_bytes_min <= channel_bytes_max);
static_assert(channel_bytes_max <= gate_bytes_max);
static_assert(call_rows_at_first <= batch_rows_max);
static_assert(call_time_target <= step_time_max);

}  // namespace weir::limits
