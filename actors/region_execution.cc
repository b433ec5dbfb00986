#include "actors/region_execution.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

// How long the two words on a host's end, its own silence and its TaskManager's report, may be apart.
constexpr Duration exit_report_wait{2'000};
constexpr Duration commit_timeout{600'000};
constexpr Duration abort_timeout{60'000};

std::string seconds(Duration duration) {
  return std::to_string(duration.count() / 1000) + " s";
}

}  // namespace

RegionExecution::RegionExecution(Job& job, RegionIndex index, std::vector<VertexId> vertices,
                                 AttemptId attempt, Begin begin)
    : job_(&job),
      index_(index),
      vertices_(std::move(vertices)),
      attempt_(attempt),
      begin_(std::move(begin)),
      graph_(job.submission.graph, vertices_,
             begin_.removes_output ? ExecutionPurpose::remove_output : ExecutionPurpose::run),
      heartbeats_(job.engine->heartbeat_interval, job.engine->heartbeat_timeout) {
  for (const VertexId id : vertices_) {
    const JobVertex& vertex = job.submission.graph.vertex(id);
    const std::uint32_t first = job.first_slot_of_group.at(vertex.slot_group);
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) slots_.insert(first + i);
  }
}

std::vector<TaskHostInfo> RegionExecution::host_infos() const {
  std::vector<TaskHostInfo> infos;
  for (const Host& host : hosts_) infos.push_back(host.info);
  return infos;
}

std::uint32_t RegionExecution::host_number_of(TaskId task) const {
  return hosts_.empty() ? 0 : host_of(task).value;
}

bool RegionExecution::hosts_gone() const {
  return std::ranges::all_of(hosts_, &Host::is_gone);
}

void RegionExecution::on_slots(const std::vector<std::optional<GrantedSlot>>& slots) {
  if (graph_.state() != JobState::created) return;
  for (const std::uint32_t slot : slots_) {
    const GrantedSlot& granted = *slots[slot];
    const auto found = std::ranges::find_if(
        hosts_, [&](const Host& host) { return host.task_manager == granted.task_manager; });
    host_of_slot_[slot] = {static_cast<std::uint32_t>(found - hosts_.begin())};
    if (found == hosts_.end()) {
      Host host;
      host.task_manager = granted.task_manager;
      host.slots = 1;
      host.info.node = granted.node;
      host.info.execution = attempt_;
      host.info.index = host_of_slot_[slot];
      hosts_.push_back(std::move(host));
    } else {
      ++found->slots;
    }
  }
  perform(graph_.on_slots_granted());
}

void RegionExecution::release_hosts() {
  for (const Host& host : hosts_) {
    if (!host.is_gone())
      job_->self->send(host.task_manager, ReleaseTaskHost{job_->submission.job, attempt_});
    // Else it would wait for a word on whether its JobManager is gone, too.
    if (host.is_alive()) job_->self->send_exit(host.handle, caf::exit_reason::user_shutdown);
  }
}

void RegionExecution::on_task_manager_lost(const TaskManagerHandle& task_manager,
                                           const Error& error) {
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].task_manager == task_manager) lose_host({i}, error);
  }
}

void RegionExecution::on_host_started(const TaskHostStarted& started) {
  if (started.host.value >= hosts_.size()) return;
  Host& host = hosts_[started.host.value];
  if (host.handle || host.lost) return;  // told twice
  if (started.error) {
    note({}, host.info.node, *started.error);
    return fail(*started.error);
  }
  if (!started.handle) return;  // it has ended meanwhile
  host.handle = started.handle;
  host.info.process = started.process;
  host.info.data_address = started.data_address;
  job_->self->monitor(host.handle);
  heartbeats_.add(started.host, job_->engine->clock->now());
  if (std::ranges::all_of(hosts_, [](const Host& h) { return bool(h.handle); }))
    perform(graph_.on_hosts_started());
}

void RegionExecution::on_host_exited(const TaskHostExited& exited) {
  if (exited.host.value >= hosts_.size()) return;
  Host& host = hosts_[exited.host.value];
  if (exited.alive) return perform(graph_.on_cancel_timeout(stuck_tasks()));
  host.exit = exited.error;
  if (ended_ || !host.handle || host.down) return lose_host(exited.host, exited.error);
  set_deadline(JobDeadline::Kind::host_exit, exit_report_wait, exited.host);
}

void RegionExecution::on_coordinator_opened(const CoordinatorOpened& opened) {
  if (opened.error) {
    note("coordinator of " + job_->submission.graph.node(opened.node).name, node_of_coordinators(),
         *opened.error);
  }
  perform(graph_.on_coordinator_opened(opened.node, opened.error));
}

void RegionExecution::on_tasks_deployed(const TasksDeployed& deployed) {
  for (const TaskId task : deployed.tasks) {
    if (graph_.knows(task)) perform(graph_.on_task_deployed(task));
  }
}

void RegionExecution::on_task_changed(const TaskChanged& change) {
  if (!graph_.knows(change.task)) return;
  // Its host has canceled it, because it is being ended itself: how, that will be said by others.
  const bool nobody_asked = graph_.state() == JobState::running;
  if (change.state == TaskState::canceled && nobody_asked) return;
  if (change.state == TaskState::failed && change.error &&
      !is_terminal(graph_.state_of(change.task))) {
    note(name_of(change.task), hosts_[host_of(change.task).value].info.node, *change.error);
  }
  perform(graph_.on_task_changed(change.task, change.state, change.error));
}

void RegionExecution::relay(const RequestSplit& request) {
  send_to_coordinators(request);
}

void RegionExecution::relay(const SplitAssigned& answer) {
  if (graph_.knows(answer.reader)) send_to_host_of(answer.reader, answer);
}

void RegionExecution::relay(const InjectBarrier& barrier) {
  if (graph_.knows(barrier.reader)) send_to_host_of(barrier.reader, barrier);
}

void RegionExecution::on_committed(const OutputCommitted& committed) {
  if (committed.error) {
    note("committer of " + job_->submission.graph.node(committed.node).name, node_of_coordinators(),
         *committed.error);
  }
  if (committed.checkpoint) {
    if (committed.error) fail(*committed.error);
    return;
  }
  perform(graph_.on_committed(committed.node, committed.error));
}

void RegionExecution::on_aborted(const OutputAborted& aborted) {
  removed_.insert(aborted.node);
  perform(graph_.on_aborted(aborted.node));
}

// Whether hosts, coordinators or tasks are still being started. How long those take that read their state, nobody knows.
bool RegionExecution::is_coming_up() const {
  return graph_.state() == JobState::running &&
         graph_.count(TaskState::created) + graph_.count(TaskState::deploying) > 0;
}

void RegionExecution::on_deadline(const JobDeadline& deadline) {
  const JobSettings& settings = job_->submission.settings;
  switch (deadline.kind) {
    case JobDeadline::Kind::deployment:
      if (!is_coming_up()) return;
      return fail({Errc::timeout,
                   "the job's tasks did not all start within " + seconds(settings.deploy_timeout)});
    case JobDeadline::Kind::cancellation:
      return kill_hosts_of_stuck_tasks();
    case JobDeadline::Kind::kill:
      return perform(graph_.on_cancel_timeout(stuck_tasks()));
    case JobDeadline::Kind::host_exit: {
      const Host& host = hosts_[deadline.host.value];
      if (host.lost) return;
      return lose_host(
          deadline.host,
          host.exit.value_or(Error{Errc::process_lost, "the connection to a task process on node " +
                                                           host.info.node + " was lost"}));
    }
    case JobDeadline::Kind::output: {
      const Error error{Errc::timeout, "output was neither committed nor removed in time"};
      for (const NodeId sink : sinks()) {
        perform(graph_.on_committed(sink, error));
        perform(graph_.on_aborted(sink));
      }
      return;
    }
    case JobDeadline::Kind::heartbeats:
      if (ended_) return;
      set_deadline(JobDeadline::Kind::heartbeats, job_->engine->heartbeat_interval);
      for (const HostIndex host : heartbeats_.look(job_->engine->clock->now())) {
        job_->self->send(hosts_[host.value].task_manager,
                         KillTaskHost{job_->submission.job, attempt_});
        lose_host(host, {Errc::timeout, "the task process on node " + hosts_[host.value].info.node +
                                            " has been silent for over " +
                                            seconds(job_->engine->heartbeat_timeout)});
      }
      return;
    case JobDeadline::Kind::slots:
    case JobDeadline::Kind::restart:
    case JobDeadline::Kind::checkpoint:
    case JobDeadline::Kind::hosts_gone:
      WEIR_CHECK(false);  // the JobManager's own
  }
}

std::string RegionExecution::stuck_tasks() const {
  std::string text = "user code did not return within " +
                     std::to_string(job_->submission.settings.cancel_timeout.count()) +
                     " ms after the cancel:";
  for (const TaskId id : graph_.tasks()) {
    if (is_terminal(graph_.state_of(id))) continue;
    const auto& stages = job_->submission.graph.vertex(id.vertex).stages;
    const std::size_t stage =
        std::min<std::size_t>(job_->owner->stage_called(id), stages.size() - 1);
    text +=
        " '" + job_->submission.graph.node(stages[stage]).name + "' in task " + name_of(id) + ";";
  }
  text.pop_back();
  return text;
}

// Tasks that no host runs any more are given up at once.
void RegionExecution::kill_hosts_of_stuck_tasks() {
  if (graph_.state() != JobState::cancelling && graph_.state() != JobState::failing) return;
  std::set<HostIndex> stuck;
  for (const TaskId task : graph_.tasks()) {
    if (!is_terminal(graph_.state_of(task))) stuck.insert(host_of(task));
  }
  if (stuck.empty()) return;
  for (const HostIndex host : stuck) {
    note({}, hosts_[host.value].info.node, {Errc::task_stuck, stuck_tasks()});
    job_->self->send(hosts_[host.value].task_manager, KillTaskHost{job_->submission.job, attempt_});
  }
  set_deadline(JobDeadline::Kind::kill, job_->submission.settings.cancel_timeout);
}

bool RegionExecution::on_down(const caf::down_msg& down) {
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (!host.handle || host.handle->address() != down.source) continue;
    host.down = true;
    if (host.exit) {
      lose_host({i}, *host.exit);
    } else if (!ended_) {
      set_deadline(JobDeadline::Kind::host_exit, exit_report_wait, {i});
    }
    return true;
  }
  return false;
}

void RegionExecution::lose_host(HostIndex index, const Error& error) {
  Host& host = hosts_[index.value];
  const bool first = !std::exchange(host.lost, true);
  if (first) {
    heartbeats_.remove(index);
    if (host.handle && !host.down) job_->self->send_exit(host.handle, caf::exit_reason::kill);
  }
  if (first && !ended_) {
    std::vector<TaskId> lost;
    bool is_awaited = !host.handle;  // to start, or for tasks to be deployed there
    for (const TaskId task : graph_.tasks()) {
      const TaskState state = graph_.state_of(task);
      if (host_of(task) != index || is_terminal(state)) continue;
      if (state == TaskState::created) {
        is_awaited = true;
      } else {
        lost.push_back(task);
      }
    }
    const bool has_coordinators = index.value == 0;
    if (!lost.empty() || has_coordinators || is_awaited) note({}, host.info.node, error);
    if (has_coordinators || is_awaited) fail(error);
    for (const TaskId task : lost) perform(graph_.on_task_changed(task, TaskState::failed, error));
    if (has_coordinators) {
      for (const NodeId sink : sinks()) {
        perform(graph_.on_committed(sink, error));
        perform(graph_.on_aborted(sink));
      }
    }
  }
  if (ended_ && hosts_gone() && !std::exchange(told_gone_, true)) job_->owner->on_hosts_gone(*this);
}

std::string RegionExecution::name_of(TaskId task) const {
  const JobVertex& vertex = job_->submission.graph.vertex(task.vertex);
  return task_name(vertex.name, task.subtask, vertex.parallelism);
}

std::vector<NodeId> RegionExecution::sinks() const {
  std::vector<NodeId> sinks;
  for (const VertexId vertex : vertices_) {
    for (const NodeId node : job_->submission.graph.vertex(vertex).stages) {
      if (job_->submission.graph.node(node).commits) sinks.push_back(node);
    }
  }
  return sinks;
}

void RegionExecution::perform(std::vector<JobAction> actions) {
  for (JobAction& action : actions) {
    std::visit([this](auto& one) { perform_one(one); }, action);
  }
}

void RegionExecution::perform_one(const StartHosts&) {
  set_deadline(JobDeadline::Kind::deployment, job_->submission.settings.deploy_timeout);
  if (job_->engine->heartbeat_interval.count() > 0)
    set_deadline(JobDeadline::Kind::heartbeats, job_->engine->heartbeat_interval);
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].asked = true;
    job_->self->send(hosts_[i].task_manager,
                     StartTaskHost{job_->submission.job,
                                   attempt_,
                                   {i},
                                   hosts_[i].slots,
                                   job_->region_count,
                                   job_->submission.settings,
                                   job_->submission.program,
                                   fingerprint(job_->submission.graph),
                                   caf::actor_cast<JobManagerHandle>(job_->self)});
  }
}

void RegionExecution::perform_one(const OpenAllCoordinators&) {
  coordinators_opened_ = true;
  OpenCoordinators open{attempt_, {}, begin_.restore_from, begin_.again};
  for (const VertexId vertex : vertices_) {
    for (const NodeId id : job_->submission.graph.vertex(vertex).stages) {
      const JobNode& node = job_->submission.graph.node(id);
      if (begin_.removes_output ? node.commits : node.has_coordinator()) open.nodes.push_back(id);
    }
  }
  send_to_coordinators(std::move(open));
}

void RegionExecution::perform_one(const DeployAllTasks&) {
  std::vector<DeployTasks> by_host(hosts_.size(), DeployTasks{attempt_, {}, begin_.restore_from});
  for (const TaskId task : graph_.tasks()) by_host[host_of(task).value].tasks.push_back(task);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const auto* faults = job_->engine->faults;
    if (faults != nullptr && job_->engine->faults->duplicates(by_host[i]))
      job_->self->send(hosts_[i].handle, by_host[i]);
    job_->self->send(hosts_[i].handle, std::move(by_host[i]));
  }
}

HostIndex RegionExecution::host_of(TaskId task) const {
  const std::string& group = job_->submission.graph.vertex(task.vertex).slot_group;
  return host_of_slot_.at(job_->first_slot_of_group.at(group) + task.subtask.value);
}

void RegionExecution::perform_one(const StartAllTasks&) {
  StartTasks start{attempt_, {}, {}, {0}};
  for (const TaskId task : graph_.tasks()) start.places.push_back({task, host_of(task)});
  for (const Host& host : hosts_) start.data_addresses.push_back(host.info.data_address);
  send_to_all_hosts(start);
}

void RegionExecution::perform_one(const Cancel& cancel) {
  if (graph_.state() == JobState::failing) job_->owner->on_failing(*this);
  std::vector<CancelTasks> by_host(hosts_.size(), CancelTasks{attempt_, {}});
  for (const TaskId task : cancel.tasks) by_host[host_of(task).value].tasks.push_back(task);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!by_host[i].tasks.empty()) job_->self->send(hosts_[i].handle, std::move(by_host[i]));
  }
  set_deadline(JobDeadline::Kind::cancellation, job_->submission.settings.cancel_timeout);
}

void RegionExecution::perform_one(const Commit&) {
  set_deadline(JobDeadline::Kind::output, commit_timeout);
  for (const NodeId sink : sinks()) {
    send_to_coordinators(CommitOutput{attempt_, sink, {}, job_->owner->last_commit(sink)});
  }
}

void RegionExecution::perform_one(const Abort&) {
  // Without coordinators nothing was prepared; without their host nobody is left to remove it.
  const bool possible =
      coordinators_opened_ && hosts_.front().is_alive() && !job_->owner->keeps_output(*this);
  if (possible) set_deadline(JobDeadline::Kind::output, abort_timeout);
  for (const NodeId sink : sinks()) {
    if (possible) {
      send_to_coordinators(AbortOutput{attempt_, sink});
    } else {
      perform(graph_.on_aborted(sink));
    }
  }
}

void RegionExecution::perform_one(const EndExecution&) {
  ended_ = true;
  job_->owner->on_ended(*this);
}

void RegionExecution::set_deadline(JobDeadline::Kind kind, Duration after, HostIndex host) {
  caf::delayed_anon_send(job_->dispatcher, after,
                         RemindJob{job_->submission.job, JobDeadline{kind, attempt_, host}});
}

}  // namespace weir
