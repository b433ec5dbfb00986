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
#include "actors/execution_graph.h"
#include "actors/heartbeat_monitor.h"
#include "actors/messages.h"
#include "actors/printed_tail.h"

namespace weir {

// Carries out what the job's ExecutionGraph decides, and feeds it what happens.
class JobManager {
 public:
  static constexpr const char* name = "job-manager";
  static constexpr std::size_t exceptions_max = 50;

  void begin(JobManagerHandle::base* self, const EngineContext& engine, SubmitJob submission,
             DispatcherHandle dispatcher, ResourceManagerHandle resource_manager);
  void start();
  void cancel();
  void on_slots_granted(const SlotsGranted& grant);
  void on_slots_refused(const SlotsRefused& refusal);
  void on_task_manager_lost(const TaskManagerLost& lost);
  void on_host_started(const TaskHostStarted& started);
  void on_host_exited(const TaskHostExited& exited);
  void on_host_report(const TaskHostReport& report);
  void on_coordinator_opened(const CoordinatorOpened& opened);
  void on_tasks_deployed(const TasksDeployed& deployed);
  void on_task_changed(const TaskChanged& change);
  void relay(const RequestSplit& request);
  void relay(const SplitAssigned& answer);
  void on_committed(const OutputCommitted& committed);
  void on_aborted(const OutputAborted& aborted);
  void on_deadline(const JobDeadline& deadline);
  void on_down(const caf::down_msg& down);
  [[nodiscard]] JobProgress progress() const;
  [[nodiscard]] JobDetails details() const;
  [[nodiscard]] JobAnswer answer() const { return {details(), submission_.graph}; }
  [[nodiscard]] PrintedRows printed(std::uint64_t from) const { return printed_.read(from); }
  [[nodiscard]] bool is_current(AttemptId attempt) const { return attempt == attempt_; }

 private:
  // A TaskHost, and what is known of its end: both its own silence and its TaskManager's word are waited for, so that its
  // last words and the cause of its death are heard, whichever comes first.
  struct Host {
    TaskManagerHandle task_manager;
    std::uint32_t slots = 0;
    TaskHostHandle handle;  // null until it has started
    TaskHostInfo info;
    bool down = false;
    std::optional<Error> exit;
    bool lost = false;
  };

  void perform(std::vector<JobAction> actions);
  void perform_one(const AskForSlots& ask);
  void perform_one(const StartHosts&);
  void perform_one(const OpenAllCoordinators&);
  void perform_one(const DeployAllTasks&);
  void perform_one(const StartAllTasks&);
  void perform_one(const Cancel& cancel);
  void perform_one(Commit& commit);
  void perform_one(const Abort&);
  void perform_one(const EndJob&);

  void set_deadline(JobDeadline::Kind kind, Duration after, HostIndex host = {});
  [[nodiscard]] bool is_coming_up() const;
  [[nodiscard]] HostIndex host_of(TaskId task) const;
  [[nodiscard]] Host& coordinator_host() { return hosts_.front(); }
  void lose_host(HostIndex index, const Error& error);
  void kill_hosts_of_stuck_tasks();
  [[nodiscard]] std::string stuck_tasks() const;
  void note(const std::string& task, const std::string& node, const Error& error);
  [[nodiscard]] std::string name_of(TaskId task) const;

  JobManagerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  SubmitJob submission_;
  DispatcherHandle dispatcher_;
  ResourceManagerHandle resource_manager_;
  Logger log_;
  AttemptId attempt_{1};
  std::optional<ExecutionGraph> graph_;
  std::vector<Host> hosts_;
  std::vector<HostIndex> slots_;  // the host of each
  std::map<std::string, std::uint32_t> first_slot_of_group_;
  bool coordinators_opened_ = false;
  std::map<TaskId, TaskReport> reports_;
  std::optional<HeartbeatMonitor<HostIndex>> heartbeats_;
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
