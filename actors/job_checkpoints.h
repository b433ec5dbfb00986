// The checkpoints of one job, as its JobManager takes them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/messages.h"
#include "actors/region_execution.h"
#include "snapshot/checkpoint_coordinator.h"
#include "snapshot/manifest_assembly.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

class JobManager;

// Carries out what the CheckpointCoordinator decides, and feeds it what happens. Part of the JobManager's actor, and
// confined to it.
class JobCheckpoints {
 public:
  // Both outlive it.
  JobCheckpoints(RegionExecution::Job& job, JobManager& job_manager);

  // Looks whether checkpoints can be written.
  [[nodiscard]] Result<void> open();
  void on_running(const std::vector<VertexId>& region);
  void on_failed(const std::vector<VertexId>& region, const Error& cause);
  // The job ends: nothing is completed any more.
  void on_ending();
  void on_task_finished(TaskId task);
  void on_coordinator_snapshot(const CoordinatorSnapshot& snapshot);
  void on_acknowledged(const AcknowledgeCheckpoint& acknowledgement);
  void on_declined(const DeclineCheckpoint& declined);
  void on_stored(const CheckpointStored& stored);
  void on_time();

  // The first checkpoint that can hold what this task does from now on.
  [[nodiscard]] CheckpointId next_of(TaskId task) const;
  [[nodiscard]] bool has_completed() const { return completed_.value > 0; }
  // Whether the last one stays when the job ends so.
  [[nodiscard]] bool outlives(JobState end) const;
  // All tasks have finished: what their sinks have to commit is made safe first; then JobManager::allow_commit.
  void store_last();
  // Then JobManager::start_again.
  void find_restore_point(RegionIndex region);
  // A region could not begin from there.
  void on_damaged(const std::string& directory, const Error& error);
  void on_found(const CheckpointFound& found);
  // If output is lost: with the damaged checkpoints that the last attempt was not restored from, and what to do.
  [[nodiscard]] Error with_damaged(Error error) const;
  void end(JobState state);
  [[nodiscard]] CheckpointOverview overview() const;
  // The newest checkpoint, if it is kept when the job ends so: its directory; else "".
  [[nodiscard]] std::string kept(JobState end) const;

 private:
  [[nodiscard]] std::string root() const;  // where the job's checkpoints are
  void perform(CheckpointActions actions);
  void perform_one(const checkpoint::Trigger& trigger);
  void perform_one(const checkpoint::DropTrigger& dropped);
  void perform_one(const checkpoint::Abort& abort);
  void perform_one(checkpoint::Store& store);
  void perform_one(const checkpoint::Complete& complete);
  void perform_one(const checkpoint::Discard& discard);
  void perform_one(const checkpoint::FailJob& failure);
  void inject_barriers(std::optional<TaskId> just_finished = {});
  void await_storage();
  void give_up_on_storage();
  void wake_when_due();
  void write(checkpoint::Store content);
  void look_for_those_waiting();
  void take_stored(const CheckpointStored& stored);
  void commit(CheckpointId checkpoint);
  [[nodiscard]] Instant now() const { return Instant::of(*job_->engine->clock); }

  RegionExecution::Job* job_;
  JobManager* job_manager_;
  CheckpointSettings settings_;
  std::shared_ptr<SnapshotStorage> storage_;
  CheckpointStoreHandle store_;
  std::optional<CheckpointCoordinator> coordinator_;
  CheckpointParticipants participants_;
  SnapshotPlan plan_;
  std::map<TaskId, CheckpointId> acknowledged_;  // the last one of each task
  CheckpointId completed_{0};
  std::optional<CheckpointId> last_;      // that store_last() has begun
  std::optional<MonotonicTime> wake_at_;  // a reminder is under way
  // Meaningful while the job cannot go on before the storage has answered.
  std::optional<MonotonicTime> storage_due_;
  bool storage_is_silent_ = false;  // it was late once, and is not asked any more
  std::uint32_t being_stored_ = 0;
  std::map<CheckpointId, Error> damaged_;
  std::string passed_over_;           // or missed, and why, when a checkpoint was looked for last
  std::vector<RegionIndex> looking_;  // for a checkpoint, once none is being stored
};

}  // namespace weir
