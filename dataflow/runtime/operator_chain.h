// Runs the operators of one task against each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dataflow/operator.h"
#include "dataflow/runtime/batch_pool.h"
#include "dataflow/runtime/chain_spec.h"
#include "dataflow/runtime/element.h"
#include "dataflow/runtime/exchange_writer.h"
#include "dataflow/runtime/task_metrics.h"
#include "dataflow/sink.h"
#include "dataflow/source.h"
#include "dataflow/split_change.h"
#include "state/snapshot.h"
#include "state/state_backend.h"

namespace weir {

// What one turn of the chain did.
enum class ChainActivity : std::uint8_t {
  worked,   // an operator was called: take another turn
  starved,  // no operator has anything to do: feed the head
  stalled,  // operators have work, but wait for room in an exchange, or for something outside
};

// The operators of a task, each with a slot for the element it is working on.
//
// A turn calls the deepest operator that has work and whose consumers have room. So at most a batch
// and the control elements behind it wait between two operators, and what is in flight inside a
// task is bounded by its operators, whatever a record expands to. An operator that stopped half way
// is called again with the rest. Exceptions of user functions end here. Not thread-safe.
//
// Which split of the source a batch is of goes along with it, from step to step as far as these keep splits, and so does the word that a
// split begins or ends. It is beside the batch, which may be shared with another task, and nothing of it enters an exchange.
class OperatorChain {
 public:
  // `contexts` has one entry per stage. Everything referred
  // to outlives the chain.
  OperatorChain(const ChainSpec& spec, std::vector<OperatorContext> contexts,
                std::vector<std::unique_ptr<ExchangeWriter>>& exchanges, BatchPool& pool,
                TaskMetrics& metrics);
  ~OperatorChain();

  // Before open(): what each stage goes on from.
  void restore(std::vector<RestoredState> states);
  [[nodiscard]] Result<void> open();

  // Whether the head can be fed, or polled, now.
  [[nodiscard]] bool wants_input() const;
  [[nodiscard]] InputSelection next_input() const { return stages_.front().op->next_input(); }
  // Requires that the head has not ended and is no source; call only when wants_input(), then with
  // all that one element of a channel led to. EndOfInput means the end of that port.
  void feed(InputPort port, Element element);
  // Whether it takes barriers also when its inputs have ended.
  [[nodiscard]] bool outlives_inputs() const {
    return !stages_.front().ended && stages_.front().op->outlives_inputs();
  }
  // Whether the head still has (part of) what it was fed.
  [[nodiscard]] bool head_is_busy() const { return !stages_.front().slot.empty(); }
  // The head's last batch once it is consumed and nobody else holds it: to be sent back for reuse.
  // Else null.
  [[nodiscard]] BatchPtr take_consumed() { return std::move(consumed_); }

  [[nodiscard]] Result<ChainActivity> turn(const StepBudget& budget, ProcessingTime now);

  // Of a chain whose head is a source; each requires that.
  [[nodiscard]] std::uint64_t read_units() { return source().read_units(); }
  [[nodiscard]] Result<void> add_split(Split split);
  [[nodiscard]] Result<void> on_no_more_splits();
  [[nodiscard]] Result<Poll> poll_source(const StepBudget& budget);
  void end_source();
  // Whether it is left alone for now, see Operator::on_source_paused.
  void set_source_paused(bool paused);

  // The last watermark that a stage has put out, and whether it is idle.
  [[nodiscard]] EventTime watermark_of(std::size_t stage) const { return stages_[stage].watermark; }
  [[nodiscard]] bool is_idle(std::size_t stage) const { return stages_[stage].idle; }

  // The earliest processing time at which some operator wants to be called.
  [[nodiscard]] std::optional<ProcessingTime> next_timer() const;
  // Something an operator waited for may have happened.
  void wake();

  // Whether all operators have finished and sent EndOfInput.
  [[nodiscard]] bool ended() const;

  // All state of a stage, without a barrier: for when nothing is under way.
  [[nodiscard]] Result<FrozenState> freeze(std::size_t index);

  // What the chain's sinks have written, by stage; durable. Waits for the disk. Requires ended().
  struct SinkCommit {
    NodeId node;
    std::vector<Committable> committables;
  };
  [[nodiscard]] Result<std::vector<SinkCommit>> prepare_commit();

  // What the barrier of one checkpoint found, once it has passed all operators; in the order of the barriers.
  struct StageSnapshot {
    NodeId node;
    FrozenState state;
  };
  struct Snapshot {
    CheckpointId checkpoint;
    std::vector<StageSnapshot> stages;
    std::vector<SinkCommit> commits;
    std::vector<MakeDurable> to_make_durable;  // before any of it is reported
    std::chrono::nanoseconds sync_time{};      // that the task stood still for it
  };
  [[nodiscard]] std::optional<Snapshot> take_snapshot();

  [[nodiscard]] Result<void> on_checkpoint_complete(CheckpointId checkpoint);
  void on_checkpoint_aborted(CheckpointId checkpoint);

  // Closes all operators, in order; idempotent. Failures of close are the operator's to swallow.
  void close();

 private:
  // What an operator is to work on.
  struct Work {
    InputPort port;
    SplitIndex split;  // of a batch
    std::variant<Element, SplitChange> what;
  };
  struct Stage {
    const ChainStage* spec = nullptr;
    OperatorContext context;
    std::unique_ptr<StateBackend> state;  // outlives the operator
    std::unique_ptr<Operator> op;
    std::shared_ptr<std::vector<Split>>
        splits;  // of a source; brought up to date for each snapshot
    std::vector<std::unique_ptr<AnyOutput>> outputs;
    std::deque<Work> slot;
    std::size_t position = 0;   // first row of the slot's batch not processed
    std::size_t call_rows = 0;  // rows per call, adapted to the user function's speed
    std::uint32_t open_inputs = 0;
    bool finishing = false;  // finish() is due or under way
    bool ended = false;
    bool waits_outside = false;  // returned `blocked`
    bool opened = false;
    EventTime watermark = EventTime::min();  // the last put out
    bool idle = false;                       // likewise
  };

  void begin_state(Stage& stage, RestoredState restored);
  [[nodiscard]] Result<void> open_source(Stage& stage);
  [[nodiscard]] SourceOperator& source();
  template <class Call>
  [[nodiscard]] Result<void> call_source(Call call);
  [[nodiscard]] Result<void> open_keyed(Stage& stage);
  [[nodiscard]] bool has_work(const Stage& stage, ProcessingTime now) const;
  [[nodiscard]] static bool timer_is_due(const Stage& stage, ProcessingTime now);
  [[nodiscard]] bool consumers_have_room(const Stage& stage) const;
  [[nodiscard]] Result<void> call(Stage& stage, const StepBudget& budget, ProcessingTime now);
  [[nodiscard]] Result<StepResult> dispatch(Stage& stage, Outputs& out, ProcessingTime now);
  [[nodiscard]] Result<StepResult> process_batch(Stage& stage, InputPort port, BatchPtr& batch,
                                                 Outputs& out);
  [[nodiscard]] Result<StepResult> process_control(Stage& stage, InputPort port,
                                                   const Element& element, Outputs& out);
  [[nodiscard]] Result<void> snapshot(Stage& stage, CheckpointId checkpoint, const Clock& clock);
  void hash_if_keyed(Stage& stage, InputPort port, BatchPtr& batch);
  void element_done(Stage& stage);
  [[nodiscard]] Result<void> deliver(Stage& stage, const Outputs& out, SplitIndex split);
  [[nodiscard]] Result<void> hand_over(const ChainTarget& target, BatchPtr batch, SplitIndex split);
  void deliver_split_change(Stage& stage, const SplitChange& change);
  void deliver_control(Stage& stage, const Element& control);
  void prepare_outputs(Stage& stage);

  std::vector<Stage> stages_;
  std::vector<std::unique_ptr<ExchangeWriter>>* exchanges_;
  BatchPool* pool_;
  TaskMetrics* metrics_;
  BatchPtr consumed_;
  std::deque<Snapshot> snapshots_;  // of barriers that have passed some operators or all
};

}  // namespace weir
