// One attempt to run a region of a job: its task hosts, and what its ExecutionGraph decides.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/engine_context.h"
#include "actors/execution_graph.h"
#include "actors/heartbeat_monitor.h"
#include "actors/messages.h"
#include "actors/pipelined_regions.h"

namespace weir {

class RegionExecution;

// What a region's executions ask of the JobManager.
class RegionOwner {
 public:
  virtual ~RegionOwner() = default;
  virtual void note(const RegionExecution& region, const std::string& task, const std::string& node,
                    const Error& error) = 0;
  virtual void ask_for_slots(RegionExecution& region) = 0;
  virtual void on_all_running(RegionExecution& region) = 0;
  virtual void on_tasks_finished(RegionExecution& region) = 0;
  // Everything that this sink still has to commit, for the last time.
  [[nodiscard]] virtual std::vector<Committable> last_commit(NodeId sink) = 0;
  // Whether what its sinks have written is needed again: the next attempt goes on from a checkpoint.
  [[nodiscard]] virtual bool keeps_output(RegionExecution& region) = 0;
  virtual void on_ended(RegionExecution& region) = 0;
  // It has failed; its tasks are being ended.
  virtual void on_failing(RegionExecution& region) = 0;
  // All its hosts are gone. After on_ended.
  virtual void on_hosts_gone(RegionExecution& region) = 0;
  // The step of a task's chain that was called last, as far as known.
  [[nodiscard]] virtual std::uint32_t stage_called(TaskId task) const = 0;
};

// Part of the JobManager's actor, and confined to it.
class RegionExecution {
 public:
  // What all regions of a job share. Outlives them.
  struct Job {
    JobManagerHandle::base* self = nullptr;
    const EngineContext* engine = nullptr;
    SubmitJob submission;
    DispatcherHandle dispatcher;
    Logger log;
    std::map<std::string, std::uint32_t> first_slot_of_group;
    std::uint32_t region_count = 1;
    RegionOwner* owner = nullptr;
  };

  struct Begin {
    std::string restore_from = {};  // a checkpoint's directory; empty: without state
    bool again = false;             // see OpenCoordinators
    bool removes_output = false;    // runs no task, see ExecutionGraph
  };
  RegionExecution(Job& job, RegionIndex index, std::vector<VertexId> vertices, AttemptId attempt,
                  Begin begin);

  [[nodiscard]] RegionIndex index() const { return index_; }
  [[nodiscard]] AttemptId attempt() const { return attempt_; }
  [[nodiscard]] const std::vector<VertexId>& vertices() const { return vertices_; }
  [[nodiscard]] const ExecutionGraph& graph() const { return graph_; }
  // Its positions among the job's slots.
  [[nodiscard]] const std::set<std::uint32_t>& slots() const { return slots_; }
  [[nodiscard]] std::vector<TaskHostInfo> host_infos() const;
  [[nodiscard]] std::uint32_t host_number_of(TaskId task) const;
  [[nodiscard]] const std::string& node_of_coordinators() const { return hosts_.front().info.node; }
  [[nodiscard]] bool hosts_gone() const;
  // Whether output was prepared, by this execution or an earlier one, and is still there.
  [[nodiscard]] bool leaves_output() const {
    return (begin_.again || coordinators_opened_) && removed_.size() < sinks().size();
  }
  [[nodiscard]] bool removes_output() const { return begin_.removes_output; }
  // Those that commit.
  [[nodiscard]] std::vector<NodeId> sinks() const;

  void start() { perform(graph_.on_start()); }
  // All of the job's slots, of which its own are not empty.
  void on_slots(const std::vector<std::optional<GrantedSlot>>& slots);
  void cancel() { perform(graph_.on_cancel()); }
  void fail(const Error& error) { perform(graph_.on_failure(error)); }
  void allow_commit() { perform(graph_.on_commit_allowed()); }
  // Its tasks have ended: the hosts leave.
  void release_hosts();

  void on_task_manager_lost(const TaskManagerHandle& task_manager, const Error& error);
  void on_host_started(const TaskHostStarted& started);
  void on_host_exited(const TaskHostExited& exited);
  void beat(HostIndex host) { heartbeats_.beat(host, job_->engine->clock->now()); }
  void on_coordinator_opened(const CoordinatorOpened& opened);
  void on_tasks_deployed(const TasksDeployed& deployed);
  void on_task_changed(const TaskChanged& change);
  void relay(const RequestSplit& request);
  void relay(const SplitAssigned& answer);
  void relay(const InjectBarrier& barrier);
  void on_committed(const OutputCommitted& committed);
  void on_aborted(const OutputAborted& aborted);
  void on_deadline(const JobDeadline& deadline);
  // Whether it was one of its hosts.
  bool on_down(const caf::down_msg& down);

  // To the host of its coordinators, if that lives.
  template <class Message>
  void send_to_coordinators(Message message) {
    if (!hosts_.empty() && hosts_.front().is_alive())
      job_->self->send(hosts_.front().handle, std::move(message));
  }
  template <class Message>
  void send_to_all_hosts(const Message& message) {
    for (const Host& host : hosts_) {
      if (host.is_alive()) job_->self->send(host.handle, message);
    }
  }
  template <class Message>
  void send_to_host_of(TaskId task, Message message) {
    const Host& host = hosts_[host_of(task).value];
    if (host.is_alive()) job_->self->send(host.handle, std::move(message));
  }

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
    bool asked = false;  // its TaskManager was asked to start it
    [[nodiscard]] bool is_alive() const { return handle && !down && !lost; }
    [[nodiscard]] bool is_gone() const { return !asked || exit || lost; }
  };

  void perform(std::vector<JobAction> actions);
  void perform_one(const AskForSlots&) { job_->owner->ask_for_slots(*this); }
  void perform_one(const StartHosts&);
  void perform_one(const OpenAllCoordinators&);
  void perform_one(const DeployAllTasks&);
  void perform_one(const StartAllTasks&);
  void perform_one(const Cancel& cancel);
  void perform_one(const AllRunning&) { job_->owner->on_all_running(*this); }
  void perform_one(const TasksFinished&) { job_->owner->on_tasks_finished(*this); }
  void perform_one(const Commit&);
  void perform_one(const Abort&);
  void perform_one(const EndExecution&);

  void set_deadline(JobDeadline::Kind kind, Duration after, HostIndex host = {});
  [[nodiscard]] bool is_coming_up() const;
  [[nodiscard]] HostIndex host_of(TaskId task) const;
  void lose_host(HostIndex index, const Error& error);
  void kill_hosts_of_stuck_tasks();
  [[nodiscard]] std::string stuck_tasks() const;
  [[nodiscard]] std::string name_of(TaskId task) const;
  void note(const std::string& task, const std::string& node, const Error& error) {
    job_->owner->note(*this, task, node, error);
  }

  Job* job_;
  RegionIndex index_;
  std::vector<VertexId> vertices_;
  AttemptId attempt_;
  Begin begin_;
  ExecutionGraph graph_;
  std::set<std::uint32_t> slots_;
  std::vector<Host> hosts_;
  std::map<std::uint32_t, HostIndex> host_of_slot_;
  HeartbeatMonitor<HostIndex> heartbeats_;
  bool coordinators_opened_ = false;
  std::set<NodeId> removed_;  // the sinks that have said so
  bool ended_ = false;
  bool told_gone_ = false;
};

}  // namespace weir
