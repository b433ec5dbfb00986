#include "actors/execution_graph.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir {

ExecutionGraph::ExecutionGraph(const JobGraph& graph, const std::vector<VertexId>& region,
                               ExecutionPurpose purpose)
    : purpose_(purpose) {
  const bool runs = purpose == ExecutionPurpose::run;
  for (const VertexId id : region) {
    const JobVertex& vertex = graph.vertex(id);
    for (const NodeId stage : vertex.stages) {
      const JobNode& node = graph.node(stage);
      if (runs ? node.has_coordinator() : node.commits) unopened_.push_back(node.id);
      if (node.commits) sinks_.push_back(node.id);
    }
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) tasks_[{vertex.id, {i}}] = {};
  }
  WEIR_CHECK(!tasks_.empty());
  WEIR_CHECK(
      !unopened_
           .empty());  // a job has a source; without sinks that commit there is nothing to remove
}

std::vector<JobAction> ExecutionGraph::on_start() {
  if (state_ != JobState::initializing) return {};
  state_ = JobState::created;
  return {AskForSlots{}};
}

std::vector<JobAction> ExecutionGraph::on_slots_granted() {
  if (state_ != JobState::created) return {};
  state_ = JobState::running;
  return {StartHosts{}};
}

std::vector<JobAction> ExecutionGraph::on_hosts_started() {
  if (state_ != JobState::running || std::exchange(hosts_started_, true)) return {};
  return {OpenAllCoordinators{}};
}

std::vector<JobAction> ExecutionGraph::on_coordinator_opened(NodeId node,
                                                             const std::optional<Error>& error) {
  if (state_ != JobState::running) return {};
  if (error) return on_failure(*error);
  if (std::erase(unopened_, node) == 0) return {};
  if (!unopened_.empty()) return {};
  if (purpose_ == ExecutionPurpose::remove_output) return begin_ending(JobState::cancelling);
  for (auto& [id, task] : tasks_) task.state = TaskState::deploying;
  return {DeployAllTasks{}};
}

std::vector<JobAction> ExecutionGraph::on_task_deployed(TaskId id) {
  Task& task = tasks_.at(id);
  if (std::exchange(task.deployed, true) || is_terminal(task.state)) return {};
  if (is_ending()) return {Cancel{{id}}};
  if (state_ != JobState::running || started_) return {};
  const bool all_deployed =
      std::ranges::all_of(tasks_, [](const auto& entry) { return entry.second.deployed; });
  if (!all_deployed) return {};
  started_ = true;
  return {StartAllTasks{}};
}

std::vector<JobAction> ExecutionGraph::on_task_changed(TaskId id, TaskState state,
                                                       const std::optional<Error>& error) {
  Task& task = tasks_.at(id);
  if (is_terminal(task.state) || is_terminal(state_)) return {};
  if (task.state == TaskState::canceling && !is_terminal(state)) return {};
  task.state = state;
  if (state == TaskState::failed) {
    const Error cause = error.value_or(Error{Errc::actor_lost, "a task failed"});
    if (!is_ending()) return on_failure(cause);
    keep_better(cause);
    return advance_ending();
  }
  if (is_ending()) return advance_ending();
  std::vector<JobAction> actions;
  const auto is_up = [](TaskState s) {
    return s == TaskState::running || s == TaskState::finished;
  };
  if (!all_running_ && all(is_up)) {
    all_running_ = true;
    actions.emplace_back(AllRunning{});
  }
  if (all([](TaskState s) { return s == TaskState::finished; }))
    actions.emplace_back(TasksFinished{});
  return actions;
}

std::vector<JobAction> ExecutionGraph::on_commit_allowed() {
  const bool all_finished = all([](TaskState s) { return s == TaskState::finished; });
  if (state_ != JobState::running || committing_ || !all_finished) return {};
  if (sinks_.empty()) {
    state_ = JobState::finished;
    return {EndExecution{}};
  }
  committing_ = true;
  awaited_ = sinks_;
  return {Commit{}};
}

std::vector<JobAction> ExecutionGraph::on_committed(NodeId sink,
                                                    const std::optional<Error>& error) {
  if (!committing_ || is_terminal(state_)) return {};
  if (error && !error_) error_ = error;
  if (std::erase(awaited_, sink) == 0 || !awaited_.empty()) return {};
  if (error_) {  // what the failed commit has left is removed
    committing_ = false;
    state_ = JobState::failing;
    return advance_ending();
  }
  state_ = JobState::finished;
  return {EndExecution{}};
}

std::vector<JobAction> ExecutionGraph::on_aborted(NodeId sink) {
  if (!aborting_ || std::erase(awaited_, sink) == 0) return {};
  return advance_ending();
}

std::vector<JobAction> ExecutionGraph::on_cancel() {
  if (is_ending() || is_terminal(state_) || committing_) return {};
  return begin_ending(JobState::cancelling);
}

std::vector<JobAction> ExecutionGraph::on_failure(Error error) {
  if (is_terminal(state_)) return {};
  if (is_ending()) {
    keep_better(error);
    return {};
  }
  error_ = std::move(error);
  if (committing_) {
    state_ = JobState::failed;
    return {EndExecution{}};
  }
  return begin_ending(JobState::failing);
}

// A lost connection is what others see of a process that died; the word on how it died may come after theirs.
void ExecutionGraph::keep_better(const Error& error) {
  if (state_ != JobState::failing || error_->code != Errc::connection_lost) return;
  if (error.code != Errc::connection_lost) error_ = error;
}

std::vector<JobAction> ExecutionGraph::on_cancel_timeout(const std::string& who) {
  if (!is_ending()) return {};
  tasks_given_up_ = true;
  if (error_) {
    error_->message += "; then " + who;
  } else {
    error_ = Error{Errc::task_stuck, who};
  }
  for (auto& [id, task] : tasks_) {
    if (!is_terminal(task.state)) task.state = TaskState::failed;
  }
  return advance_ending();
}

std::vector<JobAction> ExecutionGraph::begin_ending(JobState state) {
  state_ = state;
  Cancel cancel;
  for (auto& [id, task] : tasks_) {
    if (is_terminal(task.state)) continue;
    if (task.state == TaskState::created) {
      task.state = TaskState::canceled;
      continue;
    }
    task.state = TaskState::canceling;
    if (task.deployed) cancel.tasks.push_back(id);  // the others when they are
  }
  std::vector<JobAction> actions;
  if (!cancel.tasks.empty()) actions.emplace_back(std::move(cancel));
  std::ranges::move(advance_ending(), std::back_inserter(actions));
  return actions;
}

// Tasks first, then what they have written, then the job.
std::vector<JobAction> ExecutionGraph::advance_ending() {
  if (!all([](TaskState s) { return is_terminal(s); })) return {};
  if (!std::exchange(aborting_, true)) {
    awaited_ = sinks_;
    if (!awaited_.empty()) return {Abort{}};
  }
  if (!awaited_.empty()) return {};
  state_ = state_ == JobState::failing ? JobState::failed : JobState::canceled;
  return {EndExecution{}};
}

std::vector<TaskId> ExecutionGraph::tasks() const {
  std::vector<TaskId> ids;
  for (const auto& [id, task] : tasks_) ids.push_back(id);
  return ids;
}

std::uint32_t ExecutionGraph::count(TaskState state) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      tasks_, [state](const auto& entry) { return entry.second.state == state; }));
}

bool ExecutionGraph::all(bool (*holds)(TaskState)) const {
  return std::ranges::all_of(tasks_,
                             [holds](const auto& entry) { return holds(entry.second.state); });
}

}  // namespace weir
