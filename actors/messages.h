// Every message between the engine's actors, and the actors' interfaces. actors/README.md tells who sends what when.
//
// Two kinds. Local ones are passed by pointer and may carry batches, plans and handles of tasks; they never leave the
// process. Remote ones are structs with a codec, and with handles of the few actors that are known across processes
// (remote_message.h); within a process they too are passed by pointer.
//
// Every message about a running job carries job and attempt, every message of a worker its registration; receivers
// refuse those of another.
#pragma once

#include <caf/all.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "actors/job_program.h"
#include "actors/job_status.h"
#include "actors/pipelined_regions.h"
#include "actors/printed_tail.h"
#include "actors/remote_message.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "dataflow/plan/job_graph.h"
#include "dataflow/runtime/element.h"
#include "dataflow/runtime/input_gate.h"
#include "dataflow/runtime/operator_chain.h"
#include "dataflow/sink.h"
#include "dataflow/source.h"
#include "dataflow/window/watermark_alignment.h"
#include "net/data_plane.h"
#include "snapshot/manifest.h"
#include "snapshot/retention.h"
#include "snapshot/task_snapshot.h"
#include "snapshot/task_snapshot_writer.h"

namespace weir {

// Random, of one registration of a TaskManager; a worker that was lost and comes back has another.
using RegistrationId = StrongId<struct RegistrationTag, std::uint64_t>;

// ---- Interfaces -----------------------------------------------------------------------------------------------------

struct WireTask;
struct StartTask;
struct CancelTask;
struct DeliverElement;
struct DeliverFrame;
struct ReturnCredit;
struct AssignSplit;
struct TaskStep;
struct WakeTask;
struct InjectBarrier;
struct AlignWatermarks;
struct EndCheckpoint;
struct StateWritten;
using TaskHandle = caf::typed_actor<
    caf::reacts_to<WireTask>, caf::reacts_to<StartTask>, caf::reacts_to<CancelTask>,
    caf::reacts_to<DeliverElement>, caf::reacts_to<DeliverFrame>, caf::reacts_to<ReturnCredit>,
    caf::reacts_to<AssignSplit>, caf::reacts_to<TaskStep>, caf::reacts_to<WakeTask>,
    caf::reacts_to<InjectBarrier>, caf::reacts_to<EndCheckpoint>, caf::reacts_to<StateWritten>,
    caf::reacts_to<AlignWatermarks>>;

struct WriteState;
using StateWriterHandle = caf::typed_actor<caf::reacts_to<WriteState>>;

struct OpenCoordinator;
struct RequestSplit;
struct CommitOutput;
struct AbortOutput;
struct TriggerCheckpoint;
using CoordinatorHandle =
    caf::typed_actor<caf::reacts_to<OpenCoordinator>, caf::reacts_to<RequestSplit>,
                     caf::reacts_to<CommitOutput>, caf::reacts_to<AbortOutput>,
                     caf::reacts_to<TriggerCheckpoint>>;

struct OpenCoordinators;
struct DeployTasks;
struct StartTasks;
struct CancelTasks;
struct CoordinatorOpened;
struct TaskChanged;
struct SplitAssigned;
struct OutputCommitted;
struct OutputAborted;
struct PeerLost;
struct ReportTasks;
struct EndTaskHost;
struct CoordinatorSnapshot;
struct AcknowledgeCheckpoint;
struct DeclineCheckpoint;
struct ReportWatermarks;
using TaskHostHandle = caf::typed_actor<
    caf::reacts_to<OpenCoordinators>, caf::reacts_to<DeployTasks>, caf::reacts_to<StartTasks>,
    caf::reacts_to<CancelTasks>, caf::reacts_to<CoordinatorOpened>, caf::reacts_to<TaskChanged>,
    caf::reacts_to<RequestSplit>, caf::reacts_to<SplitAssigned>, caf::reacts_to<CommitOutput>,
    caf::reacts_to<OutputCommitted>, caf::reacts_to<AbortOutput>, caf::reacts_to<OutputAborted>,
    caf::reacts_to<PeerLost>, caf::reacts_to<ReportTasks>, caf::reacts_to<EndTaskHost>,
    caf::reacts_to<TriggerCheckpoint>, caf::reacts_to<CoordinatorSnapshot>,
    caf::reacts_to<InjectBarrier>, caf::reacts_to<AcknowledgeCheckpoint>,
    caf::reacts_to<DeclineCheckpoint>, caf::reacts_to<EndCheckpoint>,
    caf::reacts_to<ReportWatermarks>, caf::reacts_to<AlignWatermarks>>;

struct StartTaskHost;
struct KillTaskHost;
struct ReleaseJob;
struct ReleaseTaskHost;
struct TaskHostEnded;
struct HeartbeatAnswer;
struct HeartbeatRound;
struct QueryLog;
struct LogText;
using TaskManagerHandle =
    caf::typed_actor<caf::reacts_to<StartTaskHost>, caf::reacts_to<KillTaskHost>,
                     caf::reacts_to<ReleaseJob>, caf::reacts_to<ReleaseTaskHost>,
                     caf::reacts_to<TaskHostEnded>, caf::reacts_to<HeartbeatAnswer>,
                     caf::reacts_to<HeartbeatRound>, caf::replies_to<QueryLog>::with<LogText>>;

struct StartJob;
struct CancelJob;
struct SlotsGranted;
struct SlotsRefused;
struct TaskManagerLost;
struct TaskHostStarted;
struct TaskHostExited;
struct TaskHostReport;
struct TasksDeployed;
struct JobDeadline;
struct QueryProgress;
struct QueryJob;
struct QueryPrinted;
struct CheckpointStored;
struct CheckpointFound;
using JobManagerHandle = caf::typed_actor<
    caf::reacts_to<StartJob>, caf::reacts_to<CancelJob>, caf::reacts_to<SlotsGranted>,
    caf::reacts_to<SlotsRefused>, caf::reacts_to<TaskManagerLost>, caf::reacts_to<TaskHostStarted>,
    caf::reacts_to<TaskHostExited>, caf::reacts_to<TaskHostReport>,
    caf::reacts_to<CoordinatorOpened>, caf::reacts_to<TasksDeployed>, caf::reacts_to<TaskChanged>,
    caf::reacts_to<RequestSplit>, caf::reacts_to<SplitAssigned>, caf::reacts_to<OutputCommitted>,
    caf::reacts_to<OutputAborted>, caf::reacts_to<JobDeadline>, caf::reacts_to<CoordinatorSnapshot>,
    caf::reacts_to<InjectBarrier>, caf::reacts_to<AcknowledgeCheckpoint>,
    caf::reacts_to<DeclineCheckpoint>, caf::reacts_to<CheckpointStored>,
    caf::reacts_to<CheckpointFound>, caf::reacts_to<ReportWatermarks>,
    caf::replies_to<QueryProgress>::with<JobProgress>, caf::replies_to<QueryJob>::with<JobAnswer>,
    caf::replies_to<QueryPrinted>::with<PrintedRows>>;

struct StoreCheckpoint;
struct DiscardCheckpoint;
struct FindCheckpoint;
struct EndCheckpoints;
using CheckpointStoreHandle =
    caf::typed_actor<caf::reacts_to<StoreCheckpoint>, caf::reacts_to<DiscardCheckpoint>,
                     caf::reacts_to<FindCheckpoint>, caf::reacts_to<EndCheckpoints>>;

struct MasterListens;
struct RegisterTaskManager;
struct DeregisterTaskManager;
struct TaskManagerHeartbeat;
struct RequestSlots;
struct ReleaseSlots;
struct ListNodes;
using ResourceManagerHandle =
    caf::typed_actor<caf::reacts_to<MasterListens>, caf::reacts_to<RegisterTaskManager>,
                     caf::replies_to<DeregisterTaskManager>::with<HeartbeatAnswer>,
                     caf::reacts_to<TaskManagerHeartbeat>, caf::reacts_to<HeartbeatRound>,
                     caf::reacts_to<RequestSlots>, caf::reacts_to<ReleaseSlots>,
                     caf::replies_to<ListNodes>::with<NodeList>,
                     caf::replies_to<QueryLog>::with<LogText>>;

struct FindBlobs;
struct MissingBlobs;
struct StoreChunk;
struct ChunkStored;
struct FetchChunk;
struct BlobChunk;
struct HeartbeatRound;
using BlobServerHandle =
    caf::typed_actor<caf::reacts_to<HeartbeatRound>, caf::replies_to<FindBlobs>::with<MissingBlobs>,
                     caf::replies_to<StoreChunk>::with<ChunkStored>,
                     caf::replies_to<FetchChunk>::with<BlobChunk>>;

struct SubmitJob;
struct JobSubmitted;
struct AwaitJob;
struct JobEnded;
struct RemindJob;
struct ListJobs;
struct QueryMaster;
struct MasterInfo;
struct FindJobManager;
struct JobManagerFound;
using DispatcherHandle = caf::typed_actor<
    caf::replies_to<SubmitJob>::with<JobSubmitted>, caf::replies_to<AwaitJob>::with<JobOutcome>,
    caf::reacts_to<CancelJob>, caf::reacts_to<JobEnded>, caf::reacts_to<RemindJob>,
    caf::replies_to<QueryProgress>::with<JobProgress>, caf::replies_to<QueryJob>::with<JobAnswer>,
    caf::replies_to<QueryPrinted>::with<PrintedRows>, caf::replies_to<ListJobs>::with<JobList>,
    caf::replies_to<ListNodes>::with<NodeList>, caf::replies_to<QueryLog>::with<LogText>,
    caf::replies_to<QueryMaster>::with<MasterInfo>,
    caf::replies_to<FindJobManager>::with<JobManagerFound>>;

// ---- Client ↔ Dispatcher --------------------------------------------------------------------------------------------

struct SubmitJob {
  JobId job;
  JobGraph graph;
  JobSettings settings;
  JobProgram program;  // empty in the embedded cluster, which has the plan itself
};
struct JobSubmitted {
  std::optional<Error> error;
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
// Answered with JobAnswer.
struct QueryJob {
  JobId job;
};
// What print() sinks have put out since position `from`. Answered with PrintedRows.
struct QueryPrinted {
  JobId job;
  std::uint64_t from;
};
struct ListJobs {};
struct QueryMaster {};
struct MasterInfo {
  std::string version;
  ResourceManagerHandle resource_manager;
  BlobServerHandle blobs;
};
// What a process that was started for a task host says about itself.
struct FindJobManager {
  JobId job;
};
struct JobManagerFound {
  std::optional<JobManagerHandle> job_manager;  // none: the job has ended
};

// ---- Blobs: executables and shipped files, by the SHA-256 of their content -------------------------------------------

struct FindBlobs {
  std::vector<std::string> ids;
};
struct MissingBlobs {
  std::vector<std::string> ids;
};
// The next piece of a blob; in order, each after the answer to the one before. The last one may be empty.
struct StoreChunk {
  std::string id;
  std::uint64_t upload;  // random, so that two clients may send the same blob at once
  std::uint64_t total_bytes;
  bool executable;
  std::uint64_t offset;
  Bytes bytes;
};
struct ChunkStored {
  std::optional<Error> error;
};
struct FetchChunk {
  std::string id;
  std::uint64_t offset;
};
struct BlobChunk {
  Bytes bytes;
  std::uint64_t total_bytes;
  std::optional<Error> error;
};

// ---- Dispatcher ↔ JobManager ----------------------------------------------------------------------------------------

struct StartJob {};
struct JobEnded {
  JobDetails details;
  JobGraph graph;
  PrintedTail printed;
};
// A time limit the JobManager set itself.
struct JobDeadline {
  enum class Kind : std::uint8_t {
    slots,         // none came
    deployment,    // hosts, coordinators or tasks did not come up
    cancellation,  // tasks did not end: kill their processes
    kill,          // nobody said that those were killed: give them up
    host_exit,     // a host is gone, and its TaskManager has not said why
    output,        // commit or abort is not done
    heartbeats,    // look who has been silent for too long
    hosts_gone,    // an execution has ended, and its hosts are still there
    restart,       // begin the region's next execution
    checkpoint,    // the checkpoint coordinator has something to do
  } kind;
  AttemptId attempt;
  HostIndex host;  // of host_exit
};
// A deadline goes by way of the Dispatcher, if the job still runs then, and from nobody: CAF keeps whom a delayed message is
// for and whom it is from, with their threads, and some of them are due minutes after the job has ended.
struct RemindJob {
  JobId job;
  JobDeadline deadline;
};

// ---- TaskManager ↔ ResourceManager ↔ JobManager ----------------------------------------------------------------------

// The master's own address, once its port is known.
struct MasterListens {
  std::string address;
};
struct RegisterTaskManager {
  RegistrationId registration;
  TaskManagerHandle task_manager;
  NodeInfo node;
};
struct TaskManagerHeartbeat {
  RegistrationId registration;
};
struct HeartbeatAnswer {
  RegistrationId registration;
  // Set: this registration does not or no longer count, and why; the TaskManager ends.
  std::optional<Error> refused;
};
// A worker that is told to stop says so. Answered with HeartbeatAnswer.
struct DeregisterTaskManager {
  RegistrationId registration;
};
// To itself, delayed: send heartbeats, look who is silent.
struct HeartbeatRound {};
struct RequestSlots {
  JobId job;
  std::uint32_t count;
  JobManagerHandle reply_to;
};
struct GrantedSlot {
  TaskManagerHandle task_manager;
  std::string node;  // its id
};
// A TaskManager that gives several slots appears as often.
struct SlotsGranted {
  std::vector<GrantedSlot> slots;
};
// Not enough now; the request stays open. Sent again when what is missing has changed.
struct SlotsRefused {
  std::string missing;  // "3 slots (2 free of 2), …", for people
};
struct ReleaseSlots {
  JobId job;
};
// Its heartbeats stopped. (That it died is seen by monitors.)
struct TaskManagerLost {
  TaskManagerHandle task_manager;
  Error error;
};
struct ListNodes {};

struct StartTaskHost {
  JobId job;
  AttemptId attempt;
  HostIndex host;
  std::uint32_t slots;    // of this job at this TaskManager: its share of the memory,
  std::uint32_t sharers;  // which so many hosts of the job have
  JobSettings settings;
  JobProgram program;
  std::uint64_t fingerprint;
  JobManagerHandle job_manager;
};
// Its tasks did not end when told to.
struct KillTaskHost {
  JobId job;
  AttemptId attempt;
};
// Ends all task hosts of a job that still live there.
struct ReleaseJob {
  JobId job;
};
// Ends one, whose tasks have ended; TaskHostExited says when it has.
struct ReleaseTaskHost {
  JobId job;
  AttemptId attempt;
};
// What a launcher tells its TaskManager.
struct TaskHostEnded {
  JobId job;
  AttemptId attempt;
  std::optional<Error> error;  // how; none if it was asked to end
};
// A TaskManager's word on a TaskHost that has ended, or that it cannot end.
struct TaskHostExited {
  AttemptId attempt;
  HostIndex host;
  Error error;
  bool alive;  // it could not be killed: its tasks are given up
};

// Asks for what a task process wrote to stdout and stderr. Answered with LogText.
struct QueryLog {
  std::string node;
  JobId job;
  AttemptId attempt;
  HostIndex host;
  std::uint64_t from;  // byte offset; beyond the end: nothing
};
struct LogText {
  std::string text;
  std::uint64_t total_bytes;
  std::optional<Error> error;
};

// ---- JobManager ↔ TaskHost -------------------------------------------------------------------------------------------

struct TaskHostStarted {
  AttemptId attempt;
  HostIndex host;
  TaskHostHandle handle;
  std::uint64_t process;
  std::string data_address;    // empty if it exchanges nothing with others
  std::optional<Error> error;  // it cannot run the job: plan_mismatch …
};
// Five times a second, and that is the heartbeat.
struct TaskHostReport {
  AttemptId attempt;
  HostIndex host;
  std::vector<TaskReport> tasks;
  std::string printed;            // what print() sinks have put out since the last report
  std::uint64_t printed_dropped;  // rows among it that found no room
};
struct OpenCoordinators {
  AttemptId attempt;
  std::vector<NodeId> nodes;
  std::string restore_from;  // the checkpoint's directory; empty: begin anew
  bool again;  // an earlier attempt has prepared the output, and nobody has removed that
};
struct CoordinatorOpened {
  AttemptId attempt;
  NodeId node;
  std::optional<Error> error;
  std::optional<std::uint64_t> total_units;  // of a source, if known
};
struct DeployTasks {
  AttemptId attempt;
  std::vector<TaskId> tasks;
  std::string restore_from;  // as of OpenCoordinators
};
struct TasksDeployed {
  AttemptId attempt;
  std::vector<TaskId> tasks;
};
struct TaskPlace {
  TaskId task;
  HostIndex host;
};
// All tasks of the job are deployed: wire yours, then start them.
struct StartTasks {
  AttemptId attempt;
  std::vector<TaskPlace> places;            // of all tasks of the job
  std::vector<std::string> data_addresses;  // by host
  HostIndex coordinator_host;
};
struct CancelTasks {
  AttemptId attempt;
  std::vector<TaskId> tasks;
};
struct TaskChanged {
  AttemptId attempt;
  TaskId task;
  TaskState state;
  std::optional<Error> error;                      // of failed
  std::vector<OperatorChain::SinkCommit> commits;  // of finished
  std::optional<TaskReport> report;                // of a terminal state: the final counts
};
struct CommitOutput {
  AttemptId attempt;
  NodeId node;
  std::optional<CheckpointId>
      checkpoint;  // that is complete; none: the job has finished, nothing follows
  std::vector<Committable> committables;
};
struct OutputCommitted {
  AttemptId attempt;
  NodeId node;
  std::optional<CheckpointId> checkpoint;
  std::optional<Error> error;
};
struct AbortOutput {
  AttemptId attempt;
  NodeId node;
};
struct OutputAborted {
  AttemptId attempt;
  NodeId node;
};
// To the enumerator: task → its TaskHost → JobManager → the coordinator's TaskHost; within a host without the detour.
struct RequestSplit {
  AttemptId attempt;
  NodeId source;
  TaskId reader;
};
struct SplitAssigned {
  AttemptId attempt;
  TaskId reader;
  std::optional<Assignment> assignment;
  std::optional<Error> error;
};

// How far the aligned steps of a task are (WatermarkAlignment); at the interval that their strategies give. To the JobManager, by way of the
// TaskHost, as the answer.
struct ReportWatermarks {
  AttemptId attempt;
  TaskId task;
  std::vector<StepWatermark> reached;  // EventTime::max(): idle
};
struct AlignWatermarks {
  AttemptId attempt;
  TaskId task;
  std::vector<StepWatermark> least;  // of the group of each of its steps
};

// ---- Checkpoints -----------------------------------------------------------------------------------------------------

// To the enumerators: snapshot yourselves, and let barriers follow what you have handed out.
struct TriggerCheckpoint {
  AttemptId attempt;
  CheckpointId checkpoint;
};
// On the way of SplitAssigned, and in its order.
struct InjectBarrier {
  AttemptId attempt;
  TaskId reader;
  CheckpointId checkpoint;
};
struct CoordinatorSnapshot {
  AttemptId attempt;
  NodeId node;
  CheckpointId checkpoint;
  Bytes bytes;
  std::optional<Error> error;
};
struct AcknowledgeCheckpoint {
  AttemptId attempt;
  TaskId task;
  CheckpointId checkpoint;
  TaskSnapshot snapshot;
};
struct DeclineCheckpoint {
  AttemptId attempt;
  TaskId task;
  CheckpointId checkpoint;
  Error error;
};
// To the tasks that took part.
struct EndCheckpoint {
  AttemptId attempt;
  CheckpointId checkpoint;
  bool completed;
};

// ---- JobManager ↔ CheckpointStore; local -----------------------------------------------------------------------------

struct StoreCheckpoint {
  std::shared_ptr<const CheckpointManifest> manifest;
};
struct CheckpointStored {
  CheckpointId checkpoint;
  std::optional<Error> error;
};
struct DiscardCheckpoint {
  CheckpointId checkpoint;
};
// Which one a region is to begin from.
struct FindCheckpoint {
  RegionIndex region;
  CheckpointId completed;                 // the last one that was; 0: none
  std::map<CheckpointId, Error> damaged;  // found to be, by who began from them
};
struct CheckpointFound {
  RegionIndex region;
  std::string directory;                 // empty: there is none
  std::vector<std::string> sinks;        // that have something to commit in it
  std::vector<std::string> passed_over;  // why newer ones were not taken, a sentence each
  std::optional<Error> error;
};
// The job has ended: what its retention does not keep is removed.
struct EndCheckpoints {
  JobEnd end;
};

// ---- TaskHost and its tasks and coordinators; local ------------------------------------------------------------------

// A neighbour of a task: an actor of the same process, or a task behind the data plane.
struct RemoteTask {
  HostIndex host;
  TaskId task;
};
using TaskPeer = std::variant<TaskHandle, RemoteTask>;

// Who is at the other ends of a task's channels.
struct WireTask {
  AttemptId attempt;
  std::vector<TaskPeer> producers;               // by input channel
  std::vector<std::vector<TaskPeer>> consumers;  // by exchange, then lane
};
struct StartTask {
  AttemptId attempt;
};
struct CancelTask {
  AttemptId attempt;
  std::optional<Error> error;  // it has failed, for a reason outside of it
};
struct OpenCoordinator {};
struct ReportTasks {};
// To the TaskHost: from the process that it is in, then from itself.
struct EndTaskHost {
  enum class Why : std::uint8_t {
    worker_gone,       // or it has lost the master: whether the JobManager lives is to be seen
    others_had_time,   // to end their tasks: what they leave can be removed
    took_long_enough,  // it ends as it is
  } why;
};
// A data connection failed.
struct PeerLost {
  HostIndex host;
  Error error;
};

struct DeliverElement {
  AttemptId attempt;
  ChannelIndex channel;
  ChargedElement content;
};
// An element that came over the data plane, still encoded.
struct DeliverFrame {
  AttemptId attempt;
  ElementFrame frame;
};
struct ReturnCredit {
  AttemptId attempt;
  std::uint32_t exchange;
  std::uint32_t lane;
  std::uint64_t bytes;
  BatchPtr reusable;
};
struct AssignSplit {
  AttemptId attempt;
  std::optional<Assignment> assignment;
  std::optional<Error> error;
};
// From a task to its host's StateWriter: to be written and acknowledged.
struct WriteState {
  CheckpointId checkpoint;
  std::string file_name;
  std::shared_ptr<std::vector<OperatorFrozen>>
      operators;                             // shared type because messages are copyable
  std::vector<MakeDurable> to_make_durable;  // what sinks have prepared, before the answer
  std::stop_token stop;  // requested when the task waits for the answer only to end
  TaskHandle reply_to;
};
struct StateWritten {
  CheckpointId checkpoint;
  TaskSnapshot snapshot;
  std::optional<Error> error;         // of the state: the checkpoint is declined
  std::optional<Error> output_error;  // of what sinks have prepared, which no checkpoint may commit
};
struct TaskStep {};
struct WakeTask {};

}  // namespace weir

WEIR_LOCAL_MESSAGE(WireTask)
WEIR_LOCAL_MESSAGE(StartTask)
WEIR_LOCAL_MESSAGE(CancelTask)
WEIR_LOCAL_MESSAGE(DeliverElement)
WEIR_LOCAL_MESSAGE(DeliverFrame)
WEIR_LOCAL_MESSAGE(ReturnCredit)
WEIR_LOCAL_MESSAGE(AssignSplit)
WEIR_LOCAL_MESSAGE(WriteState)
WEIR_LOCAL_MESSAGE(StateWritten)
WEIR_LOCAL_MESSAGE(StoreCheckpoint)
WEIR_LOCAL_MESSAGE(CheckpointStored)
WEIR_LOCAL_MESSAGE(DiscardCheckpoint)
WEIR_LOCAL_MESSAGE(FindCheckpoint)
WEIR_LOCAL_MESSAGE(CheckpointFound)
WEIR_LOCAL_MESSAGE(EndCheckpoints)
WEIR_LOCAL_MESSAGE(TaskStep)
WEIR_LOCAL_MESSAGE(WakeTask)
WEIR_LOCAL_MESSAGE(OpenCoordinator)
WEIR_LOCAL_MESSAGE(ReportTasks)
WEIR_LOCAL_MESSAGE(EndTaskHost)
WEIR_LOCAL_MESSAGE(PeerLost)
WEIR_LOCAL_MESSAGE(StartJob)
WEIR_LOCAL_MESSAGE(JobEnded)
WEIR_LOCAL_MESSAGE(JobDeadline)
WEIR_LOCAL_MESSAGE(MasterListens)
WEIR_LOCAL_MESSAGE(RemindJob)
WEIR_LOCAL_MESSAGE(RequestSlots)
WEIR_LOCAL_MESSAGE(SlotsGranted)
WEIR_LOCAL_MESSAGE(SlotsRefused)
WEIR_LOCAL_MESSAGE(ReleaseSlots)
WEIR_LOCAL_MESSAGE(TaskManagerLost)
WEIR_LOCAL_MESSAGE(TaskHostEnded)
WEIR_LOCAL_MESSAGE(HeartbeatRound)

namespace weir {

WEIR_REMOTE_MESSAGE(SubmitJob)
WEIR_REMOTE_MESSAGE(JobSubmitted)
WEIR_REMOTE_MESSAGE(AwaitJob)
WEIR_REMOTE_MESSAGE(CancelJob)
WEIR_REMOTE_MESSAGE(QueryProgress)
WEIR_REMOTE_MESSAGE(QueryJob)
WEIR_REMOTE_MESSAGE(QueryPrinted)
WEIR_REMOTE_MESSAGE(ListJobs)
WEIR_REMOTE_MESSAGE(ListNodes)
WEIR_REMOTE_MESSAGE(QueryMaster)
WEIR_REMOTE_MESSAGE(MasterInfo)
WEIR_REMOTE_MESSAGE(FindJobManager)
WEIR_REMOTE_MESSAGE(JobManagerFound)
WEIR_REMOTE_MESSAGE(FindBlobs)
WEIR_REMOTE_MESSAGE(MissingBlobs)
WEIR_REMOTE_MESSAGE(StoreChunk)
WEIR_REMOTE_MESSAGE(ChunkStored)
WEIR_REMOTE_MESSAGE(FetchChunk)
WEIR_REMOTE_MESSAGE(BlobChunk)
WEIR_REMOTE_MESSAGE(RegisterTaskManager)
WEIR_REMOTE_MESSAGE(DeregisterTaskManager)
WEIR_REMOTE_MESSAGE(TaskManagerHeartbeat)
WEIR_REMOTE_MESSAGE(HeartbeatAnswer)
WEIR_REMOTE_MESSAGE(StartTaskHost)
WEIR_REMOTE_MESSAGE(KillTaskHost)
WEIR_REMOTE_MESSAGE(ReleaseJob)
WEIR_REMOTE_MESSAGE(ReleaseTaskHost)
WEIR_REMOTE_MESSAGE(TriggerCheckpoint)
WEIR_REMOTE_MESSAGE(InjectBarrier)
WEIR_REMOTE_MESSAGE(CoordinatorSnapshot)
WEIR_REMOTE_MESSAGE(AcknowledgeCheckpoint)
WEIR_REMOTE_MESSAGE(DeclineCheckpoint)
WEIR_REMOTE_MESSAGE(EndCheckpoint)
WEIR_REMOTE_MESSAGE(TaskHostExited)
WEIR_REMOTE_MESSAGE(QueryLog)
WEIR_REMOTE_MESSAGE(LogText)
WEIR_REMOTE_MESSAGE(TaskHostStarted)
WEIR_REMOTE_MESSAGE(TaskHostReport)
WEIR_REMOTE_MESSAGE(OpenCoordinators)
WEIR_REMOTE_MESSAGE(CoordinatorOpened)
WEIR_REMOTE_MESSAGE(DeployTasks)
WEIR_REMOTE_MESSAGE(TasksDeployed)
WEIR_REMOTE_MESSAGE(StartTasks)
WEIR_REMOTE_MESSAGE(CancelTasks)
WEIR_REMOTE_MESSAGE(TaskChanged)
WEIR_REMOTE_MESSAGE(CommitOutput)
WEIR_REMOTE_MESSAGE(OutputCommitted)
WEIR_REMOTE_MESSAGE(AbortOutput)
WEIR_REMOTE_MESSAGE(OutputAborted)
WEIR_REMOTE_MESSAGE(RequestSplit)
WEIR_REMOTE_MESSAGE(SplitAssigned)
WEIR_REMOTE_MESSAGE(ReportWatermarks)
WEIR_REMOTE_MESSAGE(AlignWatermarks)
WEIR_REMOTE_MESSAGE(JobOutcome)
WEIR_REMOTE_MESSAGE(JobProgress)
WEIR_REMOTE_MESSAGE(JobAnswer)
WEIR_REMOTE_MESSAGE(PrintedRows)
WEIR_REMOTE_MESSAGE(JobList)
WEIR_REMOTE_MESSAGE(NodeList)

// Makes every remote message known to a process's actor system, under its name. All processes do the same.
void register_messages(caf::actor_system_config& config);

}  // namespace weir
