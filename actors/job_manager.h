// The actor that runs one job.
#pragma once

#include <caf/all.hpp>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/engine_context.h"
#include "actors/job_checkpoints.h"
#include "actors/messages.h"
#include "actors/pending_commits.h"
#include "actors/printed_tail.h"
#include "actors/region_execution.h"
#include "actors/watermark_groups.h"
#include "snapshot/restart_strategy.h"

namespace weir {

// Runs the regions of a job, each in one execution after the other as the restart strategy allows; keeps its slots, what
// is known of its tasks, and what its sinks have yet to commit. A job ends when all of its regions have, or when one
// failed that may not be restarted: then the others are cancelled.
class JobManager : public RegionOwner {
 public:
  static constexpr const char* name = "job-manager";
  static constexpr std::size_t exceptions_max = 50;

  JobManager() = default;
  JobManager(const JobManager&) = delete;
  JobManager& operator=(const JobManager&) = delete;

  void begin(JobManagerHandle::base* self, const EngineContext& engine, SubmitJob submission,
             DispatcherHandle dispatcher, ResourceManagerHandle resource_manager);
  void start();
  void cancel();
  void on_slots_granted(const SlotsGranted& grant);
  void on_slots_refused(const SlotsRefused& refusal);
  void on_task_manager_lost(const TaskManagerLost& lost);
  void on_host_report(const TaskHostReport& report);
  void on_coordinator_opened(const CoordinatorOpened& opened);
  void on_task_changed(const TaskChanged& change);
  void on_committed(const OutputCommitted& committed);
  void on_watermarks(const ReportWatermarks& report);
  void on_deadline(const JobDeadline& deadline);
  void on_down(const caf::down_msg& down);
  [[nodiscard]] JobProgress progress() const;
  [[nodiscard]] JobDetails details() const;
  [[nodiscard]] JobAnswer answer() const { return {details(), job_.submission.graph}; }
  [[nodiscard]] PrintedRows printed(std::uint64_t from) const { return printed_.read(from); }
  // Requires that the job has checkpoints, as every message about one says.
  [[nodiscard]] JobCheckpoints& checkpoints() { return *checkpoints_; }
  [[nodiscard]] PendingCommits& pending_commits() { return pending_commits_; }
  // What a task of the sink has prepared; the job fails if that is too much.
  void keep_commit(NodeId sink, CheckpointId checkpoint, std::vector<Committable> committables);
  template <class Visit>
  void for_each_execution(Visit visit) {
    for (Region& region : regions_) {
      if (region.execution != nullptr && !region.ended) visit(*region.execution);
    }
  }
  // What JobCheckpoints say: the last checkpoint is stored; a region may begin again, from a checkpoint of this job, or
  // from where the job began.
  void allow_commit();
  void start_again(RegionIndex index, const std::string& restore_from);
  // What the job has left hidden stays, for the storage does not say which checkpoint it belongs to.
  void leave_output();
  void fail_job(const Error& error);
  void note(const std::string& what, const Error& error);
  // To those who watch the job: what they would not expect of the attempt that begins.
  void tell_restart(const std::string& what);
  [[nodiscard]] bool has_finished(TaskId task) const;
  [[nodiscard]] bool is_ending() const { return ending_.has_value(); }
  // A sink of the region that has made visible what this checkpoint does not hold: its name.
  [[nodiscard]] std::optional<std::string> find_sink_ahead_of(RegionIndex region,
                                                              CheckpointId checkpoint) const;
  // The execution that a message is about; null if that is over.
  [[nodiscard]] RegionExecution* find(AttemptId attempt);
  // Whether this attempt of the task is the latest and has not ended.
  [[nodiscard]] bool runs(AttemptId attempt, TaskId task);

  void note(const RegionExecution& region, const std::string& task, const std::string& node,
            const Error& error) override;
  void ask_for_slots(RegionExecution& region) override;
  void on_all_running(RegionExecution& region) override;
  void on_tasks_finished(RegionExecution& region) override;
  [[nodiscard]] std::vector<Committable> last_commit(NodeId sink) override;
  [[nodiscard]] bool keeps_output(RegionExecution& region) override;
  void on_ended(RegionExecution& region) override;
  void on_failing(RegionExecution& region) override;
  void on_hosts_gone(RegionExecution& region) override;
  [[nodiscard]] std::uint32_t stage_called(TaskId task) const override;

 private:
  struct Region {
    std::vector<VertexId> vertices;
    std::unique_ptr<RegionExecution> execution = {};
    std::uint32_t number = 0;  // of the execution, from 1
    bool waits_for_slots = false;
    ProcessingTime slots_deadline = {};  // while it waits
    bool has_run = false;                // all its tasks, in one execution or another
    bool tasks_finished = false;
    std::string restored_from = {};  // the checkpoint that its execution began from, if any
    // Once its execution has failed and that was decided: how long until the next; no value: never.
    bool decided = false;
    std::optional<Duration> restart_after = {};
    bool ended = false;  // its execution, for good or until the restart
    bool restarting = false;
    // The job ends, and another execution does nothing but remove what the last one has left in outputs.
    bool removes_output = false;
  };

  [[nodiscard]] JobState state() const;
  // Of those that wait for slots; null if none does.
  [[nodiscard]] const Region* first_to_lack_slots() const;
  [[nodiscard]] AttemptId latest_number() const;
  [[nodiscard]] Region& region_of(const RegionExecution& execution) {
    return regions_[execution.index().value];
  }
  [[nodiscard]] const Region& region_of(TaskId task) const;
  [[nodiscard]] Result<void> get_ready();
  [[nodiscard]] Result<void> find_restore_point(const std::string& directory);
  void make_execution(RegionIndex index, std::string restore_from);
  void restart(Region& region);
  void begin_ending(JobState state);
  [[nodiscard]] bool leaves_output(Region& region);
  void remove_output(Region& region);
  [[nodiscard]] bool output_is_needed(const Region& region) const;
  void decide(Region& region);
  [[nodiscard]] bool may_restart(const Region& region);
  [[nodiscard]] Duration slot_timeout_of(const RegionExecution& execution) const;
  void fill_waiting_regions();
  void end_job_if_over();
  void commit_if_all_finished();
  void set_deadline(JobDeadline::Kind kind, Duration after, AttemptId attempt);

  RegionExecution::Job job_;
  ResourceManagerHandle resource_manager_;
  std::vector<Region> regions_;
  AttemptId last_attempt_{0};
  std::vector<std::optional<GrantedSlot>> slots_;  // no value: not granted yet, or lost
  std::uint32_t requested_ = 0;                    // slots, and not granted
  PendingCommits pending_commits_;
  WatermarkGroups watermark_groups_;
  std::unique_ptr<RestartStrategy> restarts_;
  std::optional<JobCheckpoints> checkpoints_;
  std::string restore_from_;         // the checkpoint that the job began from, if any
  std::uint32_t restart_count_ = 0;  // of all regions
  std::string last_restart_;
  std::uint32_t restores_ = 0;      // executions that began from a checkpoint
  bool committing_ = false;         // all tasks of all regions have finished
  std::optional<JobState> ending_;  // failing or cancelling
  std::optional<Error> error_;
  bool over_ = false;
  bool tasks_given_up_ = false;
  std::map<TaskId, TaskReport> reports_;
  std::map<NodeId, std::uint64_t> total_units_;
  bool all_totals_known_ = true;
  std::string waiting_for_;
  ProcessingTime submitted_at_{};
  std::deque<JobException> exceptions_;
  PrintedTail printed_;
};

[[nodiscard]] JobManagerHandle::behavior_type job_manager(
    JobManagerHandle::stateful_pointer<JobManager> self, const EngineContext* engine,
    SubmitJob submission, DispatcherHandle dispatcher, ResourceManagerHandle resource_manager);

}  // namespace weir
