// One execution of a region of a job: which tasks it has, what state each is in, and what is to be done next.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "actors/job_status.h"
#include "base/result.h"
#include "dataflow/plan/job_graph.h"

namespace weir {

// What is done when an execution graph says so.
struct AskForSlots {};
struct StartHosts {};           // a TaskHost at each TaskManager that gave slots
struct OpenAllCoordinators {};  // all hosts are there
struct DeployAllTasks {};       // each to the slot of its subtask index
struct StartAllTasks {};        // all are deployed: tell the hosts where the others are
struct Cancel {
  std::vector<TaskId> tasks;
};
struct AllRunning {};     // every task runs, or has finished already
struct TasksFinished {};  // every task has: what sinks have written may be committed
struct Commit {};         // by each sink's committer
struct Abort {};          // what sinks have written becomes invisible for good
struct EndExecution {};   // the state is terminal
using JobAction =
    std::variant<AskForSlots, StartHosts, OpenAllCoordinators, DeployAllTasks, StartAllTasks,
                 Cancel, AllRunning, TasksFinished, Commit, Abort, EndExecution>;

enum class ExecutionPurpose : std::uint8_t {
  run,
  // The job ends, and an earlier execution, whose hosts are gone, has left something in outputs: opens the coordinators of
  // sinks, aborts, and is canceled.
  remove_output,
};

// A pure state machine: events in, actions out. Not thread-safe. Events of tasks and coordinators
// that have ended, or of calls already answered, are ignored, so messages may come twice, late, or
// in any order.
//
//   initializing → created → running → finished
//                     any of these → failing → failed, or → cancelling → canceled
//
// Invariants: a terminal job has only terminal tasks or was given up by on_cancel_timeout; it
// commits only when every task has finished and it is allowed to, and it aborts after a commit only if that failed; the
// first error is kept, unless it only says that a connection failed and a cause for that comes
// before the end.
class ExecutionGraph {
 public:
  // Of the vertices of one region, see pipelined_regions.
  ExecutionGraph(const JobGraph& graph, const std::vector<VertexId>& region,
                 ExecutionPurpose purpose = ExecutionPurpose::run);

  [[nodiscard]] std::vector<JobAction> on_start();
  [[nodiscard]] std::vector<JobAction> on_slots_granted();
  [[nodiscard]] std::vector<JobAction> on_hosts_started();
  [[nodiscard]] std::vector<JobAction> on_coordinator_opened(NodeId node,
                                                             const std::optional<Error>& error);
  [[nodiscard]] std::vector<JobAction> on_task_deployed(TaskId task);
  [[nodiscard]] std::vector<JobAction> on_task_changed(TaskId task, TaskState state,
                                                       const std::optional<Error>& error);
  // After TasksFinished: the rest of the job has, too.
  [[nodiscard]] std::vector<JobAction> on_commit_allowed();
  [[nodiscard]] std::vector<JobAction> on_committed(NodeId sink, const std::optional<Error>& error);
  [[nodiscard]] std::vector<JobAction> on_aborted(NodeId sink);
  [[nodiscard]] std::vector<JobAction> on_cancel();
  // Something that is no task failed: slots did not come, a host did not start.
  [[nodiscard]] std::vector<JobAction> on_failure(Error error);
  // Tasks that do not end are given up; the error names them.
  [[nodiscard]] std::vector<JobAction> on_cancel_timeout(const std::string& who);

  [[nodiscard]] JobState state() const { return state_; }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] bool tasks_given_up() const { return tasks_given_up_; }
  [[nodiscard]] TaskState state_of(TaskId task) const { return tasks_.at(task).state; }
  [[nodiscard]] std::vector<TaskId> tasks() const;
  [[nodiscard]] std::uint32_t count(TaskState state) const;
  [[nodiscard]] bool knows(TaskId task) const { return tasks_.contains(task); }

 private:
  struct Task {
    TaskState state = TaskState::created;
    bool deployed = false;
  };

  [[nodiscard]] std::vector<JobAction> begin_ending(JobState state);
  [[nodiscard]] std::vector<JobAction> advance_ending();
  void keep_better(const Error& error);
  [[nodiscard]] bool all(bool (*holds)(TaskState)) const;
  [[nodiscard]] bool is_ending() const {
    return state_ == JobState::failing || state_ == JobState::cancelling;
  }

  ExecutionPurpose purpose_;
  JobState state_ = JobState::initializing;
  std::optional<Error> error_;
  std::map<TaskId, Task> tasks_;
  std::vector<NodeId> unopened_;  // coordinators not yet open
  std::vector<NodeId> sinks_;     // those with a committer
  std::vector<NodeId> awaited_;   // sinks whose commit or abort is under way
  bool hosts_started_ = false;
  bool started_ = false;
  bool all_running_ = false;
  bool committing_ = false;
  bool aborting_ = false;
  bool tasks_given_up_ = false;
};

}  // namespace weir
