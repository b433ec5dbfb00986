#include "actors/messages.h"

namespace weir {
namespace {

template <class... Messages>
void add_all(caf::actor_system_config& config) {
  (config.add_message_type<Messages>("weir::" + std::string(type_name<Messages>())), ...);
}

}  // namespace

void register_messages(caf::actor_system_config& config) {
  add_all<SubmitJob, JobSubmitted, AwaitJob, CancelJob, QueryProgress, QueryJob, QueryPrinted,
          ListJobs, ListNodes, QueryMaster, MasterInfo, FindJobManager, JobManagerFound, FindBlobs,
          MissingBlobs, StoreChunk, ChunkStored, FetchChunk, BlobChunk, RegisterTaskManager,
          DeregisterTaskManager, TaskManagerHeartbeat, HeartbeatAnswer, StartTaskHost, KillTaskHost,
          ReleaseJob, ReleaseTaskHost, TriggerCheckpoint, InjectBarrier, CoordinatorSnapshot,
          AcknowledgeCheckpoint, DeclineCheckpoint, EndCheckpoint, TaskHostExited, QueryLog,
          LogText, TaskHostStarted, TaskHostReport, OpenCoordinators, CoordinatorOpened,
          DeployTasks, TasksDeployed, StartTasks, CancelTasks, TaskChanged, CommitOutput,
          OutputCommitted, AbortOutput, OutputAborted, RequestSplit, SplitAssigned,
          ReportWatermarks, AlignWatermarks, JobOutcome, JobProgress, JobAnswer, PrintedRows,
          JobList, NodeList>(config);
}

}  // namespace weir
