// The actor of one task: messages in and out, around a TaskCore.
#pragma once

#include <caf/all.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "dataflow/runtime/task_core.h"

namespace weir {

// Sends the elements of one outgoing channel to its consumer's actor: within a process, a pointer.
class LocalChannel final : public ChannelTransport {
 public:
  LocalChannel(TaskHandle::base* self, AttemptId attempt, ChannelIndex channel)
      : self_(self), attempt_(attempt), channel_(channel) {}
  void connect(TaskHandle consumer) { consumer_ = std::move(consumer); }
  void send(Element element, std::uint64_t charged_bytes) override;

 private:
  TaskHandle::base* self_;  // the producer, which owns this
  AttemptId attempt_;
  ChannelIndex channel_;  // at the consumer
  TaskHandle consumer_;
};

// State of a task actor: a TaskCore and its connections. It reports every change of state to the
// JobManager, ends itself when finished, failed or cancelled, and never blocks but in user code.
class TaskActor : public TaskEnvironment {
 public:
  static constexpr const char* name = "task";

  // Makes core and channels; nothing runs before start().
  void deploy(TaskHandle::base* self, TaskHandle handle, const EngineContext& engine,
              DeployTask deployment);
  void wire(const WireTask& wiring);
  void start();
  void cancel();
  void receive(DeliverElement& delivery);
  void credit(ReturnCredit& credit);
  void assign(const AssignSplit& answer);
  void step();
  void wake();
  [[nodiscard]] bool is_current(AttemptId attempt) const { return attempt == deployment_.attempt; }

  void return_credit(ChannelIndex channel, std::uint64_t bytes, BatchPtr reusable) override;
  void request_split() override;

 private:
  // Where an input channel's credit goes.
  struct Producer {
    std::uint32_t exchange;
    std::uint32_t lane;
    TaskHandle task;
  };

  [[nodiscard]] std::vector<OperatorContext> make_contexts();
  void schedule_step();
  void schedule_step_at(ProcessingTime time);
  void finish();
  void fail(const Error& error);
  void end(TaskState state, std::optional<Error> error,
           std::vector<OperatorChain::SinkCommit> commits);
  void report(TaskState state, std::optional<Error> error = {},
              std::vector<OperatorChain::SinkCommit> commits = {});

  TaskHandle::base* self_ = nullptr;
  TaskHandle handle_;  // to itself, for the enumerator's answers; cleared at the end
  const EngineContext* engine_ = nullptr;
  DeployTask deployment_;
  Logger log_;
  std::vector<std::unique_ptr<LocalChannel>> channels_;
  std::vector<Producer> producers_;
  std::optional<CoordinatorHandle> enumerator_;
  std::unique_ptr<TaskCore> core_;
  bool running_ = false;
  bool ended_ = false;
  bool step_scheduled_ = false;
  std::optional<ProcessingTime> wake_at_;
};

[[nodiscard]] TaskHandle::behavior_type task_actor(TaskHandle::stateful_pointer<TaskActor> self,
                                                   const EngineContext* engine,
                                                   DeployTask deployment);

}  // namespace weir
