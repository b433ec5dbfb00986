// One subtask of one vertex: its input, its operators and its output, moved on step by step.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "dataflow/runtime/batch_pool.h"
#include "dataflow/runtime/chain_spec.h"
#include "dataflow/runtime/channel_sender.h"
#include "dataflow/runtime/exchange_writer.h"
#include "dataflow/runtime/input_gate.h"
#include "dataflow/runtime/loop_marker_aligner.h"
#include "dataflow/runtime/operator_chain.h"
#include "dataflow/runtime/source_alignment.h"
#include "dataflow/runtime/task_metrics.h"
#include "dataflow/runtime/watermark_valve.h"
#include "snapshot/barrier_aligner.h"

namespace weir {

// What a barrier found in a task.
struct FrozenTask {
  OperatorChain::Snapshot chain;
  std::chrono::nanoseconds alignment{};  // between the first barrier and the last
};

// What a task asks of the world, besides sending on its channels.
class TaskEnvironment {
 public:
  virtual ~TaskEnvironment() = default;
  // Gives the sender of an input channel back what it was charged, with an empty batch for reuse or
  // null.
  virtual void return_credit(ChannelIndex channel, std::uint64_t bytes, BatchPtr reusable) = 0;
  // Asks the source's enumerator for a split: `add_split`, `ask_again_at` or `no_more_splits`
  // answers.
  virtual void request_split() = 0;
  // A checkpoint's barrier has passed the whole chain: what was found is to be written and acknowledged.
  virtual void acknowledge(FrozenTask frozen) = 0;
  // How far the chain's aligned steps are; `align` answers.
  virtual void report_watermarks(std::vector<StepWatermark> reached) = 0;
  // The aligner gave a checkpoint up, for a newer one.
  virtual void decline(CheckpointId checkpoint) = 0;
  // The step has sent something, perhaps, and may take long yet: nobody is to wait for its end.
  virtual void step_goes_on() {}
};

// How a step ended.
struct StepOutcome {
  enum class Kind : std::uint8_t {
    again,     // there is more to do now
    waiting,   // until something arrives, or `wake_at`
    finished,  // everything is done and has left
  } kind;
  std::optional<ProcessingTime> wake_at;
};

// The outgoing channels of one exchange, by consuming subtask.
struct ExchangeChannels {
  std::vector<ChannelTransport*> transports;
  std::uint64_t window_bytes;
};

// The whole logic of a task actor, without the actor: message handlers call `receive` and its like,
// which only enqueue; then, or by a self-sent message, `step` is called, which works for at most
// about limits::step_time_max.
//
// Time is read from the clock handed in. Not thread-safe: one thread at a time.
class TaskCore {
 public:
  struct Wiring {
    std::vector<OperatorContext> contexts;    // one per stage
    std::vector<InputPort> input_channels;    // the port of each input channel
    std::vector<ExchangeChannels> exchanges;  // one per exchange
    std::uint64_t random_seed = 0;
    CheckpointMode checkpoint_mode = CheckpointMode::exactly_once;
    std::vector<RestoredState> restored = {};  // one per stage, or none
    // A planted bug, which the simulation must find: a split that comes behind a barrier is taken as if before it.
    bool splits_overtake_barriers = false;
  };

  // All that is referred to outlives the core.
  TaskCore(const ChainSpec& spec, Wiring wiring, TaskEnvironment& environment, const Clock& clock,
           TaskMetrics& metrics);

  // Before open(): goes on from a checkpoint, with one state per stage. A task that had finished before it ends
  // without doing anything.
  void restore(std::vector<RestoredState> states, bool had_finished) {
    restored_as_finished_ = had_finished;
    chain_.restore(std::move(states));
  }
  [[nodiscard]] Result<void> open() {
    return restored_as_finished_ ? Result<void>() : chain_.open();
  }
  // Another window for an outgoing channel, once it is known where it leads. Requires that nothing has been sent on it.
  void set_window(std::uint32_t exchange, std::uint32_t consumer, std::uint64_t bytes);

  // Enqueue; the next step sees it.
  void receive(ChannelIndex channel, ChargedElement content);
  // Credit for an outgoing channel: exchange and index of the consumer within it.
  void add_credit(std::uint32_t exchange, std::uint32_t consumer, std::uint64_t bytes,
                  BatchPtr reusable);
  [[nodiscard]] Result<void> add_split(Split split);
  void ask_again_at(ProcessingTime time);
  [[nodiscard]] Result<void> no_more_splits();
  // How far the groups of aligned steps are.
  void align(const std::vector<StepWatermark>& least) { alignment_.on_answer(least); }
  void wake() { chain_.wake(); }
  // Of a source: the barrier leaves when it is between two polls. Of another task: when all its inputs have ended, if it goes on then. One that
  // has come before does nothing.
  void trigger_checkpoint(CheckpointId checkpoint) { triggered_.push_back(checkpoint); }
  // It was given up, or is complete; barriers of it that are still to come mean nothing.
  void abort_checkpoint(CheckpointId checkpoint);
  [[nodiscard]] Result<void> complete_checkpoint(CheckpointId checkpoint) {
    return restored_as_finished_ ? Result<void>() : chain_.on_checkpoint_complete(checkpoint);
  }

  [[nodiscard]] Result<StepOutcome> step();

  // Requires that a step said `finished`.
  [[nodiscard]] Result<std::vector<OperatorChain::SinkCommit>> prepare_commit() {
    return restored_as_finished_ ? Result(std::vector<OperatorChain::SinkCommit>{})
                                 : chain_.prepare_commit();
  }
  void close() { chain_.close(); }

  // All state of a stage of the chain, without a barrier: for when nothing is under way.
  [[nodiscard]] Result<FrozenState> freeze(std::size_t stage) { return chain_.freeze(stage); }

  // For batches that come and go encoded.
  [[nodiscard]] BatchPool& pool() { return pool_; }
  [[nodiscard]] const InputGate& gate() const { return gate_; }
  [[nodiscard]] const WatermarkValve* valve() const { return valve_ ? &*valve_ : nullptr; }

 private:
  enum class SplitState : std::uint8_t { unasked, asked, waiting, exhausted };

  [[nodiscard]] Result<bool> feed_head(const StepBudget& budget);
  [[nodiscard]] Result<bool> poll_source(const StepBudget& budget);
  void report_watermarks();
  void look_at_watermarks();
  [[nodiscard]] bool source_waits_for_others();
  [[nodiscard]] bool take_from_gate();
  void feed_control(const GateItem& item);
  void feed_valve_output(const ValveOutput& output);
  void end_channel(ChannelIndex channel, InputPort port);
  void feed_markers(const std::vector<LoopMarker>& markers);
  void act_on(ChannelIndex channel, const Alignment& alignment);
  void inject_barriers();
  void acknowledge_snapshots();
  [[nodiscard]] StepOutcome end_at_once();
  void settle_consumed();
  void end_backpressure(MonotonicTime now);
  void measure_channels();
  void measure_windows();
  [[nodiscard]] Result<void> advance_exchanges();
  [[nodiscard]] bool everything_left() const;
  [[nodiscard]] StepOutcome outcome(bool starved);

  TaskEnvironment* environment_;
  const Clock* clock_;
  TaskMetrics* metrics_;
  BatchPool pool_;
  std::vector<std::unique_ptr<ChannelSender>> senders_;  // of all exchanges
  std::vector<std::vector<ChannelSender*>> senders_of_;  // by exchange
  std::vector<std::unique_ptr<ExchangeWriter>> exchanges_;
  InputGate gate_;
  std::optional<WatermarkValve> valve_;  // none for sources
  std::vector<std::uint32_t> open_channels_of_port_;
  OperatorChain chain_;
  std::optional<std::pair<ChannelIndex, std::uint64_t>> charged_;  // of the batch the head works on

  std::optional<BarrierAligner> aligner_;          // none for sources
  std::optional<LoopMarkerAligner> loop_markers_;  // likewise
  std::deque<CheckpointId> triggered_;
  // A split that came behind barriers which the source has not passed on yet: the enumerator has it in those
  // checkpoints, so the reader must not.
  struct HeldSplit {
    Split split;
    std::size_t barriers_before;
  };
  std::optional<HeldSplit> held_split_;
  std::map<CheckpointId, std::chrono::nanoseconds>
      alignments_;  // of barriers on their way through the chain
  bool restored_as_finished_ = false;
  bool end_announced_ = false;
  bool is_source_;
  bool splits_overtake_barriers_;
  bool source_ended_ = false;
  SplitState splits_ = SplitState::unasked;
  ProcessingTime ask_split_at_{};  // when waiting
  std::optional<ProcessingTime> source_idle_until_;
  SourceAlignment alignment_;
  bool source_paused_ = false;
  std::uint32_t short_steps_ = 0;  // in a row, of those that had something to do
};

}  // namespace weir
