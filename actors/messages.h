// Every message between the engine's actors, and the actors' interfaces. actors/README.md tells who
// sends what when.
//
// Within a process messages are passed by pointer and may carry batches, plans and handles. Every
// message about a running job carries the attempt it belongs to; receivers refuse those of another.
#pragma once

#include <caf/all.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/job_status.h"
#include "actors/task_probe.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "dataflow/plan/physical_plan.h"
#include "dataflow/runtime/element.h"
#include "dataflow/runtime/input_gate.h"
#include "dataflow/runtime/operator_chain.h"
#include "dataflow/sink.h"
#include "dataflow/source.h"

namespace weir {

// ---- Interfaces
// ------------------------------------------------------------------------------------------------

struct WireTask;
struct StartTask;
struct CancelTask;
struct DeliverElement;
struct ReturnCredit;
struct AssignSplit;
struct TaskStep;
struct WakeTask;
using TaskHandle = caf::typed_actor<caf::reacts_to<WireTask>, caf::reacts_to<StartTask>,
                                    caf::reacts_to<CancelTask>, caf::reacts_to<DeliverElement>,
                                    caf::reacts_to<ReturnCredit>, caf::reacts_to<AssignSplit>,
                                    caf::reacts_to<TaskStep>, caf::reacts_to<WakeTask>>;

struct OpenCoordinator;
struct RequestSplit;
struct CommitOutput;
struct AbortOutput;
using CoordinatorHandle =
    caf::typed_actor<caf::reacts_to<OpenCoordinator>, caf::reacts_to<RequestSplit>,
                     caf::reacts_to<CommitOutput>, caf::reacts_to<AbortOutput>>;

struct DeployCoordinator;
struct DeployTask;
struct CheckTasks;
struct ReleaseJob;
using TaskManagerHandle =
    caf::typed_actor<caf::reacts_to<DeployCoordinator>, caf::reacts_to<DeployTask>,
                     caf::reacts_to<ReleaseJob>, caf::reacts_to<CheckTasks>>;

struct StartJob;
struct CancelJob;
struct SlotsGranted;
struct SlotsRefused;
struct CoordinatorDeployed;
struct CoordinatorOpened;
struct TaskDeployed;
struct TaskChanged;
struct OutputCommitted;
struct OutputAborted;
struct JobDeadline;
struct QueryProgress;
using JobManagerHandle = caf::typed_actor<
    caf::reacts_to<StartJob>, caf::reacts_to<CancelJob>, caf::reacts_to<SlotsGranted>,
    caf::reacts_to<SlotsRefused>, caf::reacts_to<CoordinatorDeployed>,
    caf::reacts_to<CoordinatorOpened>, caf::reacts_to<TaskDeployed>, caf::reacts_to<TaskChanged>,
    caf::reacts_to<OutputCommitted>, caf::reacts_to<OutputAborted>, caf::reacts_to<JobDeadline>,
    caf::replies_to<QueryProgress>::with<JobProgress>>;

struct RegisterTaskManager;
struct RequestSlots;
struct ReleaseSlots;
using ResourceManagerHandle =
    caf::typed_actor<caf::reacts_to<RegisterTaskManager>, caf::reacts_to<RequestSlots>,
                     caf::reacts_to<ReleaseSlots>>;

struct SubmitJob;
struct AwaitJob;
struct JobEnded;
struct ListJobs;
using DispatcherHandle =
    caf::typed_actor<caf::replies_to<SubmitJob>::with<JobId>,
                     caf::replies_to<AwaitJob>::with<JobOutcome>, caf::reacts_to<CancelJob>,
                     caf::reacts_to<JobEnded>, caf::replies_to<QueryProgress>::with<JobProgress>,
                     caf::replies_to<ListJobs>::with<std::vector<JobOutcome>>>;

// ---- Client ↔ Dispatcher
// ---------------------------------------------------------------------------------------

struct SubmitJob {
  JobId job;
  std::shared_ptr<const PhysicalPlan> plan;
  JobSettings settings;
};
struct AwaitJob {
  JobId job;
};
struct CancelJob {
  JobId job;
};
struct QueryProgress {
  JobId job;
};
struct ListJobs {};

// ---- Dispatcher ↔ JobManager
// -----------------------------------------------------------------------------------

struct StartJob {};
struct JobEnded {
  JobOutcome outcome;
};
// A time limit the JobManager set itself.
struct JobDeadline {
  enum class Kind : std::uint8_t { slots, deployment, cancellation } kind;
  AttemptId attempt;
};

// ---- JobManager ↔ ResourceManager ↔ TaskManager
// ----------------------------------------------------------------

struct RegisterTaskManager {
  TaskManagerHandle task_manager;
  std::uint32_t slots;
};
struct RequestSlots {
  JobId job;
  std::uint32_t count;
  JobManagerHandle reply_to;
};
// One entry per slot; a TaskManager that gives several appears as often.
struct SlotsGranted {
  std::vector<TaskManagerHandle> slots;
};
// Not enough now; the request stays open.
struct SlotsRefused {
  std::uint32_t wanted;
  std::uint32_t available;
  std::uint32_t total;
};
struct ReleaseSlots {
  JobId job;
};

struct DeployCoordinator {
  JobId job;
  AttemptId attempt;
  NodeId node;
  std::shared_ptr<const PhysicalPlan> plan;
  JobManagerHandle job_manager;
};
struct CoordinatorDeployed {
  AttemptId attempt;
  NodeId node;
  CoordinatorHandle coordinator;
};
struct DeployTask {
  JobId job;
  AttemptId attempt;
  TaskId task;
  std::shared_ptr<const PhysicalPlan> plan;
  JobSettings settings;
  std::shared_ptr<TaskProbe> probe;
  JobManagerHandle job_manager;
};
struct TaskDeployed {
  AttemptId attempt;
  TaskId task;
  TaskHandle handle;
};
// Ends all tasks and coordinators of a job that still live there.
struct ReleaseJob {
  JobId job;
};
// The watchdog's round.
struct CheckTasks {};

// ---- JobManager ↔ coordinators
// ---------------------------------------------------------------------------------

struct OpenCoordinator {
  AttemptId attempt;
};
struct CoordinatorOpened {
  AttemptId attempt;
  NodeId node;
  std::optional<Error> error;
  std::optional<std::uint64_t> total_units;  // of a source, if known
};
struct CommitOutput {
  AttemptId attempt;
  std::vector<Committable> committables;
};
struct OutputCommitted {
  AttemptId attempt;
  NodeId node;
  std::optional<Error> error;
};
struct AbortOutput {
  AttemptId attempt;
};
struct OutputAborted {
  AttemptId attempt;
  NodeId node;
};

// ---- JobManager ↔ task
// -----------------------------------------------------------------------------------------

// The actors at the other ends of a task's channels.
struct WireTask {
  AttemptId attempt;
  std::vector<TaskHandle> producers;               // by input channel
  std::vector<std::vector<TaskHandle>> consumers;  // by exchange, then lane
  std::optional<CoordinatorHandle> enumerator;     // of a source
};
struct StartTask {
  AttemptId attempt;
};
struct CancelTask {
  AttemptId attempt;
};
struct TaskChanged {
  AttemptId attempt;
  TaskId task;
  TaskState state;
  std::optional<Error> error;                      // of failed
  std::vector<OperatorChain::SinkCommit> commits;  // of finished
};

// ---- Task ↔ task, task ↔ enumerator, task → itself
// -------------------------------------------------------------

struct DeliverElement {
  AttemptId attempt;
  ChannelIndex channel;
  ChargedElement content;
};
struct ReturnCredit {
  AttemptId attempt;
  std::uint32_t exchange;
  std::uint32_t lane;
  std::uint64_t bytes;
  BatchPtr reusable;
};
struct RequestSplit {
  AttemptId attempt;
  SubtaskIndex reader;
  TaskHandle reply_to;
};
struct AssignSplit {
  AttemptId attempt;
  std::optional<Assignment> assignment;
  std::optional<Error> error;
};
struct TaskStep {};
struct WakeTask {};

}  // namespace weir

#define WEIR_LOCAL_MESSAGE(type) CAF_ALLOW_UNSAFE_MESSAGE_TYPE(weir::type)
WEIR_LOCAL_MESSAGE(SubmitJob)
WEIR_LOCAL_MESSAGE(AwaitJob)
WEIR_LOCAL_MESSAGE(CancelJob)
WEIR_LOCAL_MESSAGE(QueryProgress)
WEIR_LOCAL_MESSAGE(ListJobs)
WEIR_LOCAL_MESSAGE(StartJob)
WEIR_LOCAL_MESSAGE(JobEnded)
WEIR_LOCAL_MESSAGE(JobDeadline)
WEIR_LOCAL_MESSAGE(RegisterTaskManager)
WEIR_LOCAL_MESSAGE(RequestSlots)
WEIR_LOCAL_MESSAGE(SlotsGranted)
WEIR_LOCAL_MESSAGE(SlotsRefused)
WEIR_LOCAL_MESSAGE(ReleaseSlots)
WEIR_LOCAL_MESSAGE(DeployCoordinator)
WEIR_LOCAL_MESSAGE(CoordinatorDeployed)
WEIR_LOCAL_MESSAGE(DeployTask)
WEIR_LOCAL_MESSAGE(TaskDeployed)
WEIR_LOCAL_MESSAGE(ReleaseJob)
WEIR_LOCAL_MESSAGE(CheckTasks)
WEIR_LOCAL_MESSAGE(OpenCoordinator)
WEIR_LOCAL_MESSAGE(CoordinatorOpened)
WEIR_LOCAL_MESSAGE(CommitOutput)
WEIR_LOCAL_MESSAGE(OutputCommitted)
WEIR_LOCAL_MESSAGE(AbortOutput)
WEIR_LOCAL_MESSAGE(OutputAborted)
WEIR_LOCAL_MESSAGE(WireTask)
WEIR_LOCAL_MESSAGE(StartTask)
WEIR_LOCAL_MESSAGE(CancelTask)
WEIR_LOCAL_MESSAGE(TaskChanged)
WEIR_LOCAL_MESSAGE(DeliverElement)
WEIR_LOCAL_MESSAGE(ReturnCredit)
WEIR_LOCAL_MESSAGE(RequestSplit)
WEIR_LOCAL_MESSAGE(AssignSplit)
WEIR_LOCAL_MESSAGE(TaskStep)
WEIR_LOCAL_MESSAGE(WakeTask)
WEIR_LOCAL_MESSAGE(JobId)
WEIR_LOCAL_MESSAGE(JobOutcome)
WEIR_LOCAL_MESSAGE(JobProgress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(std::vector<weir::JobOutcome>)
#undef WEIR_LOCAL_MESSAGE
