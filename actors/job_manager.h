// The actor that runs one job.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/engine_context.h"
#include "actors/execution_graph.h"
#include "actors/messages.h"

namespace weir {

// Carries out what the job's ExecutionGraph decides, and feeds it what happens.
class JobManager {
 public:
  static constexpr const char* name = "job-manager";

  void begin(JobManagerHandle::base* self, const EngineContext& engine, SubmitJob submission,
             DispatcherHandle dispatcher, ResourceManagerHandle resource_manager);
  void start();
  void cancel();
  void on_slots_granted(const SlotsGranted& grant);
  void on_slots_refused(const SlotsRefused& refusal);
  void on_coordinator_deployed(const CoordinatorDeployed& deployed);
  void on_coordinator_opened(const CoordinatorOpened& opened);
  void on_task_deployed(const TaskDeployed& deployed);
  void on_task_changed(const TaskChanged& change);
  void on_committed(const OutputCommitted& committed);
  void on_aborted(const OutputAborted& aborted);
  void on_deadline(const JobDeadline& deadline);
  void on_down(const caf::down_msg& down);
  [[nodiscard]] JobProgress progress() const;
  [[nodiscard]] bool is_current(AttemptId attempt) const { return attempt == attempt_; }

 private:
  void perform(std::vector<JobAction> actions);
  void perform_one(const AskForSlots& ask);
  void perform_one(const OpenCoordinators&);
  void perform_one(const DeployTasks&);
  void perform_one(const ConnectTasks&);
  void perform_one(const CancelTasks& cancel);
  void perform_one(Commit& commit);
  void perform_one(const Abort&);
  void perform_one(const EndJob&);

  void set_deadline(JobDeadline::Kind kind, Duration after);
  [[nodiscard]] TaskManagerHandle task_manager_of(TaskId task) const;
  [[nodiscard]] std::string stuck_tasks() const;

  JobManagerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  SubmitJob submission_;
  DispatcherHandle dispatcher_;
  ResourceManagerHandle resource_manager_;
  Logger log_;
  AttemptId attempt_{1};
  std::optional<ExecutionGraph> graph_;
  std::vector<NodeId> coordinator_nodes_;
  std::vector<NodeId> committing_sinks_;
  std::vector<TaskManagerHandle> slots_;
  std::map<std::string, std::uint32_t> first_slot_of_group_;
  std::map<NodeId, CoordinatorHandle> coordinators_;
  std::map<TaskId, TaskHandle> tasks_;
  std::map<TaskId, std::shared_ptr<TaskProbe>> probes_;
  std::map<NodeId, std::uint64_t> total_units_;
  bool all_totals_known_ = true;
  std::string waiting_for_;
};

[[nodiscard]] JobManagerHandle::behavior_type job_manager(
    JobManagerHandle::stateful_pointer<JobManager> self, const EngineContext* engine,
    SubmitJob submission, DispatcherHandle dispatcher, ResourceManagerHandle resource_manager);

}  // namespace weir
