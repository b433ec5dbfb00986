// The actor of one task: messages in and out, around a TaskCore.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "actors/engine_context.h"
#include "actors/fair_actor.h"
#include "actors/messages.h"
#include "actors/restore_point.h"
#include "actors/task_probe.h"
#include "dataflow/plan/physical_plan.h"
#include "dataflow/runtime/task_core.h"

namespace weir {

// What a task is given at birth, besides the engine's seams.
struct TaskDeployment {
  JobId job;
  AttemptId attempt;
  TaskId task;
  std::shared_ptr<const PhysicalPlan> plan;
  JobSettings settings;
  std::shared_ptr<TaskProbe> probe;
  TaskHostHandle host;                    // who is told what becomes of it
  StateWriterHandle state_writer;         // of its host; null if the job has no checkpoints
  RestorePoint restore;                   // what it begins with
  std::shared_ptr<DataPlane> data_plane;  // null if all tasks of the job are in this process
};

// One outgoing channel: to an actor of this process as a pointer, to another process as a frame.
class TaskChannel final : public ChannelTransport {
 public:
  TaskChannel(TaskHandle::base* self, const TaskDeployment& deployment, BatchPool*& pool,
              std::optional<Error>& failure, ChannelEnd consumer)
      : self_(self),
        deployment_(&deployment),
        pool_(&pool),
        failure_(&failure),
        consumer_(consumer) {}
  void connect(TaskPeer peer) { peer_ = std::move(peer); }
  void send(Element element, std::uint64_t charged_bytes) override;

 private:
  void send_frame(HostIndex host, Element element, std::uint64_t charged_bytes);

  TaskHandle::base* self_;  // the producer, which owns this
  const TaskDeployment* deployment_;
  BatchPool** pool_;               // of the core, which is made after its channels
  std::optional<Error>* failure_;  // of the task, if something cannot be sent
  ChannelEnd consumer_;
  TaskPeer peer_;
};

// State of a task actor: a TaskCore and its connections. It reports every change of state to its
// TaskHost, ends itself when finished, failed or cancelled, and never blocks but in user code.
class TaskActor : public TaskEnvironment {
 public:
  static constexpr const char* name = "task";

  // Makes core and channels; nothing runs before start().
  void deploy(TaskHandle::base* self, TaskHandle handle, const EngineContext& engine,
              TaskDeployment deployment);
  void wire(const WireTask& wiring);
  void start();
  void cancel(const CancelTask& cancel);
  void receive(DeliverElement& delivery);
  void receive(DeliverFrame& delivery);
  void credit(ReturnCredit& credit);
  void assign(const AssignSplit& answer);
  void step();
  void wake();
  void trigger(const InjectBarrier& barrier);
  void align(const AlignWatermarks& answer);
  void end_checkpoint(const EndCheckpoint& end);
  void on_written(const StateWritten& written);
  [[nodiscard]] bool is_current(AttemptId attempt) const { return attempt == deployment_.attempt; }

  void return_credit(ChannelIndex channel, std::uint64_t bytes, BatchPtr reusable) override;
  void request_split() override;
  void acknowledge(FrozenTask frozen) override;
  void decline(CheckpointId checkpoint) override;
  void step_goes_on() override;
  void report_watermarks(std::vector<StepWatermark> reached) override;

 private:
  // Where an input channel's credit goes, and what comes from there.
  struct Producer {
    ChannelEnd end;
    TaskPeer peer;
    const BatchType* batch;
  };

  [[nodiscard]] std::vector<OperatorContext> make_contexts();
  [[nodiscard]] Result<void> restore();
  [[nodiscard]] Result<Element> decode(ElementFrame& frame);
  void step_soon();
  void schedule_step();
  void schedule_step_at(ProcessingTime time);
  void finish();
  void fail(const Error& error);
  void end(TaskState state, std::optional<Error> error,
           std::vector<OperatorChain::SinkCommit> commits);
  [[nodiscard]] Result<void> check_size(
      const std::vector<OperatorChain::SinkCommit>& commits) const;
  void leave(TaskChanged last_word);
  void report(TaskState state);
  void report(TaskChanged change);

  TaskHandle::base* self_ = nullptr;
  TaskHandle handle_;  // to itself, for steps; cleared at the end
  const EngineContext* engine_ = nullptr;
  TaskDeployment deployment_;
  Logger log_;
  std::vector<std::unique_ptr<TaskChannel>> channels_;
  std::vector<Producer> producers_;  // by input channel
  BatchPool* pool_ = nullptr;
  std::optional<Error> send_failure_;  // of something that could not be sent during a step
  std::unique_ptr<TaskCore> core_;
  // Of the snapshots that are being written.
  struct Acknowledgement {
    std::vector<OperatorCommittables> committables;
    SnapshotTimes times;
  };
  std::map<CheckpointId, Acknowledgement> being_written_;
  bool finished_ = false;  // it ends when what is being written has been acknowledged
  std::stop_source stop_writing_;
  std::optional<TaskChanged>
      last_word_;  // it has ended, and leaves when nothing of it is being written
  bool running_ = false;
  bool ended_ = false;
  bool step_scheduled_ = false;
  std::optional<ProcessingTime> wake_at_;
};

[[nodiscard]] TaskHandle::behavior_type task_actor(FairActor<TaskActor, TaskHandle>* self,
                                                   const EngineContext* engine,
                                                   TaskDeployment deployment);

}  // namespace weir
