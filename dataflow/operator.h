// What computes: one instance of an operator in one subtask.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "dataflow/batch.h"
#include "dataflow/counters.h"
#include "dataflow/group_watermarks.h"
#include "dataflow/output.h"
#include "dataflow/split_change.h"
#include "dataflow/split_overview.h"
#include "state/key_groups.h"
#include "state/state_backend.h"

namespace weir {

// How a call ended: with everything asked for; because an output port is full; because the step's
// time is up; or because it waits for something outside (a reply, a thread), which will call the
// context's waker. After the last three the same call is made again, later, with what remains.
enum class StepResult : std::uint8_t { done, output_full, yield, blocked };

// How a call on rows ended; `position` is the first row not consumed.
struct Progress {
  StepResult result;
  std::size_t position;
};

// Rows [begin, end) of a batch.
struct RowRange {
  std::size_t begin;
  std::size_t end;
};

// Counters that an operator adds to and other threads read.
struct OperatorMetrics {
  std::atomic<std::uint64_t> late_records_dropped{0};
  // With a time too far ahead of the clock to be believed: they have not moved the watermark.
  std::atomic<std::uint64_t> records_ahead{0};
  CounterSet counters;                        // of the user's function
  std::atomic<std::uint64_t> bad_records{0};  // input that did not parse and was skipped
  SplitBoard splits;                          // that it has watermarks for
};

// What an instance knows about its place. Lives as long as the instance.
struct OperatorContext {
  std::string job_name;
  std::string operator_name;
  SubtaskIndex subtask;
  std::uint32_t parallelism = 1;
  KeyGroupSlice keys;  // of a keyed operator: the key groups of this subtask
  AttemptId attempt{1};
  const Clock* clock = &system_clock();
  OperatorMetrics* metrics = nullptr;  // never null once open() is called
  // Where all state of the instance is: never null once open() is called. Outlives the instance.
  StateBackend* state = nullptr;
  // Of a keyed operator that goes on from a snapshot: the watermark that it had processed. No earlier one follows.
  EventTime watermark = EventTime::min();
  // And how far beyond it some of its key groups had come. While the operator is told of a watermark, it is as it was before.
  GroupWatermarks reached;
  bool strict = false;  // input that does not parse fails the task instead of being counted
  // Says something to the people who run the job: into the log, with the task's name. From any
  // thread.
  std::function<void(const std::string&)> warn = [](const std::string&) {};
  // Ends `blocked`: makes the task run again. May be called from any thread, also after the task
  // has ended.
  std::function<void()> waker = [] {};
};

// Which inputs an operator takes elements from next: a bit per port. Inputs left out are paused:
// their queues fill, their credit runs out. Plans whose paused input shares a pipelined ancestor
// with one that is read would deadlock, so an operator that pauses must say so in its node, and the
// planner makes such an edge blocking.
struct InputSelection {
  std::uint32_t ports = ~std::uint32_t{0};
  [[nodiscard]] bool allows(InputPort port) const { return ((ports >> port.value) & 1U) != 0; }
};

// One subtask's instance of a step of the job. Never called concurrently; may be called from
// different threads in turn. Calls come in this order: open; process, on_watermark,
// on_processing_time and on_end_of_input as things arrive; finish after the last input has ended;
// close, also after a failure.
//
// A call never blocks and stops when a port is full or the budget is spent; what it has not done is
// done by the same call made again: unconsumed rows by `position`, anything inside one row or one
// firing by the operator's own cursor. What has been put out has left the operator's state, so its
// state, the unconsumed rows and the watermark being processed together are consistent whenever a
// call returns. A snapshot is taken between two elements, when none is half done.
//
// Exceptions of user functions may leave any call except close; they fail the task.
class Operator {
 public:
  virtual ~Operator() = default;

  [[nodiscard]] virtual Result<void> open(const OperatorContext& context);

  // Takes rows of `in`. An operator that passes a whole batch on moves it out of `in`; one that
  // changes it makes it writable() first.
  [[nodiscard]] virtual Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows,
                                                 Outputs& out) = 0;

  // Event time has reached `watermark`: fires what is due, then passes the watermark on by
  // out.emit_watermark, or holds it back. The default passes it on.
  [[nodiscard]] virtual Result<StepResult> on_watermark(EventTime watermark, Outputs& out);

  // All inputs have become idle, or one has become active again. The default passes it on.
  [[nodiscard]] virtual Result<StepResult> on_idle(bool idle, Outputs& out);

  // Asked after each call: when on_processing_time wants to be called, if at all.
  [[nodiscard]] virtual std::optional<ProcessingTime> next_processing_timer() const {
    return std::nullopt;
  }
  [[nodiscard]] virtual Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out);

  // The input has delivered everything.
  [[nodiscard]] virtual Result<StepResult> on_end_of_input(InputPort port, Outputs& out);
  // All inputs have, by draining. The watermark EventTime::max() has been processed before.
  [[nodiscard]] virtual Result<StepResult> finish(Outputs& out);

  // Asked before each element is taken.
  [[nodiscard]] virtual InputSelection next_input() const { return {}; }

  // A barrier has come, and everything before it has been processed: asked until it says `done`; then the snapshot is taken. The default says so
  // at once.
  [[nodiscard]] virtual Result<StepResult> on_barrier(CheckpointId checkpoint, Outputs& out);
  // A loop's marker passes, behind all that came before it. The default passes it on.
  [[nodiscard]] virtual Result<StepResult> on_loop_marker(LoopMarker marker, Outputs& out);

  // The chain's source has begun to read a split, or is done with one. Of steps that keep splits (LogicalNode::keeps_splits) alone; it
  // is passed on to those behind that do.
  virtual void on_split_change(const SplitChange& /*change*/, Outputs& /*out*/) {}
  // The chain's source is not read from for now, because it is ahead of others (WatermarkAlignment): that nothing comes says nothing. Or it
  // is again.
  virtual void on_source_paused(bool /*paused*/) {}

  // Follows on_barrier: what is not in a state yet is put there now; then all states are frozen.
  [[nodiscard]] virtual Result<void> prepare_snapshot(CheckpointId checkpoint);
  // A checkpoint that this operator was part of is complete: what it held back for that may go out. May be left out
  // for one checkpoint, then a later one says it for both.
  [[nodiscard]] virtual Result<void> on_checkpoint_complete(CheckpointId checkpoint);

  // A checkpoint was given up: nobody waits for it any more, also if on_barrier of it has been asked or will be.
  virtual void on_checkpoint_aborted(CheckpointId /*checkpoint*/) {}
  // Whether it may go on for long when its inputs have ended, as a loop does. Then barriers, which no channel brings any more, come from its
  // task; so it must be the first of its chain.
  [[nodiscard]] virtual bool outlives_inputs() const { return false; }

  // Releases what open acquired. After a failure or a cancel it is called without finish.
  virtual void close() {}
};

using OperatorFactory = std::function<std::unique_ptr<Operator>()>;

// The error for an exception that a user's function threw: the current one, with the operator's
// name. Requires that it is called from a catch block.
[[nodiscard]] Error user_code_error(const std::string& operator_name);

}  // namespace weir
