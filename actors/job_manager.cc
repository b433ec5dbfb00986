#include "actors/job_manager.h"

#include <algorithm>
#include <set>
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

void JobManager::begin(JobManagerHandle::base* self, const EngineContext& engine,
                       SubmitJob submission, DispatcherHandle dispatcher,
                       ResourceManagerHandle resource_manager) {
  self_ = self;
  engine_ = &engine;
  submission_ = std::move(submission);
  dispatcher_ = std::move(dispatcher);
  resource_manager_ = std::move(resource_manager);
  log_ = engine.logger.about("job " + submission_.graph.job_name);
  submitted_at_ = engine.clock->processing_time();
  heartbeats_.emplace(engine.heartbeat_interval, engine.heartbeat_timeout);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });

  std::uint32_t next_slot = 0;
  for (const JobVertex& vertex : submission_.graph.vertices) {
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      reports_[{vertex.id, {i}}].task = {vertex.id, {i}};
    }
    if (first_slot_of_group_.contains(vertex.slot_group)) continue;
    first_slot_of_group_[vertex.slot_group] = next_slot;
    std::uint32_t widest = 0;
    for (const JobVertex& other : submission_.graph.vertices) {
      if (other.slot_group == vertex.slot_group) widest = std::max(widest, other.parallelism);
    }
    next_slot += widest;
  }
  graph_.emplace(submission_.graph);
}

void JobManager::start() {
  perform(graph_->on_start());
}

void JobManager::cancel() {
  log_.info("cancel requested");
  perform(graph_->on_cancel());
}

void JobManager::on_slots_granted(const SlotsGranted& grant) {
  if (graph_->state() != JobState::created)
    return;  // the Dispatcher gives them back when the job ends
  waiting_for_.clear();
  for (const GrantedSlot& slot : grant.slots) {
    const auto found = std::ranges::find_if(
        hosts_, [&](const Host& host) { return host.task_manager == slot.task_manager; });
    slots_.push_back({static_cast<std::uint32_t>(found - hosts_.begin())});
    if (found == hosts_.end()) {
      hosts_.push_back({slot.task_manager, 1, {}, {slot.node, 0, {}}, false, {}, false});
    } else {
      ++found->slots;
    }
  }
  perform(graph_->on_slots_granted());
}

void JobManager::on_slots_refused(const SlotsRefused& refusal) {
  waiting_for_ = refusal.missing;
  log_.info("waits for " + waiting_for_);
}

void JobManager::on_task_manager_lost(const TaskManagerLost& lost) {
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].task_manager == lost.task_manager) lose_host({i}, lost.error);
  }
}

void JobManager::on_host_started(const TaskHostStarted& started) {
  if (started.host.value >= hosts_.size()) return;
  Host& host = hosts_[started.host.value];
  if (host.handle || host.lost) return;  // told twice
  if (started.error) {
    note({}, host.info.node, *started.error);
    return perform(graph_->on_failure(*started.error));
  }
  if (!started.handle) return;  // it has ended meanwhile
  host.handle = started.handle;
  host.info.process = started.process;
  host.info.data_address = started.data_address;
  self_->monitor(host.handle);
  heartbeats_->add(started.host, engine_->clock->now());
  if (std::ranges::all_of(hosts_, [](const Host& h) { return bool(h.handle); }))
    perform(graph_->on_hosts_started());
}

void JobManager::on_host_exited(const TaskHostExited& exited) {
  if (exited.host.value >= hosts_.size()) return;
  Host& host = hosts_[exited.host.value];
  if (exited.alive) return perform(graph_->on_cancel_timeout(stuck_tasks()));
  host.exit = exited.error;
  if (!host.handle || host.down) return lose_host(exited.host, exited.error);
  set_deadline(JobDeadline::Kind::host_exit, exit_report_wait, exited.host);
}

void JobManager::on_host_report(const TaskHostReport& report) {
  heartbeats_->beat(report.host, engine_->clock->now());
  for (const TaskReport& of_task : report.tasks) {
    const auto found = reports_.find(of_task.task);
    if (found != reports_.end() && !is_terminal(graph_->state_of(of_task.task)))
      found->second = of_task;
  }
  printed_.append(report.printed, report.printed_dropped);
}

void JobManager::on_coordinator_opened(const CoordinatorOpened& opened) {
  const bool source = submission_.graph.node(opened.node).role == StageRole::source;
  if (opened.total_units) {
    total_units_[opened.node] = *opened.total_units;
  } else if (source) {
    all_totals_known_ = false;
  }
  if (opened.error) {
    note("coordinator of " + submission_.graph.node(opened.node).name, coordinator_host().info.node,
         *opened.error);
  }
  perform(graph_->on_coordinator_opened(opened.node, opened.error));
}

void JobManager::on_tasks_deployed(const TasksDeployed& deployed) {
  for (const TaskId task : deployed.tasks) {
    if (graph_->knows(task)) perform(graph_->on_task_deployed(task));
  }
}

void JobManager::on_task_changed(const TaskChanged& change) {
  if (!graph_->knows(change.task)) return;
  if (change.report) reports_[change.task] = *change.report;
  if (change.state == TaskState::failed && change.error &&
      !is_terminal(graph_->state_of(change.task))) {
    note(name_of(change.task), hosts_[host_of(change.task).value].info.node, *change.error);
  }
  std::map<NodeId, std::vector<Committable>> commits;
  for (const auto& commit : change.commits) commits[commit.node] = commit.committables;
  perform(graph_->on_task_changed(change.task, change.state, change.error, std::move(commits)));
}

void JobManager::relay(const RequestSplit& request) {
  if (coordinator_host().handle) self_->send(coordinator_host().handle, request);
}

void JobManager::relay(const SplitAssigned& answer) {
  if (!graph_->knows(answer.reader)) return;
  const Host& host = hosts_[host_of(answer.reader).value];
  if (host.handle) self_->send(host.handle, answer);
}

void JobManager::on_committed(const OutputCommitted& committed) {
  if (committed.error) {
    note("committer of " + submission_.graph.node(committed.node).name,
         coordinator_host().info.node, *committed.error);
  }
  perform(graph_->on_committed(committed.node, committed.error));
}

void JobManager::on_aborted(const OutputAborted& aborted) {
  perform(graph_->on_aborted(aborted.node));
}

// Whether hosts, coordinators or tasks are still being started.
bool JobManager::is_coming_up() const {
  return graph_->state() == JobState::running && graph_->count(TaskState::created) +
                                                         graph_->count(TaskState::deploying) +
                                                         graph_->count(TaskState::initializing) >
                                                     0;
}

void JobManager::on_deadline(const JobDeadline& deadline) {
  const JobSettings& settings = submission_.settings;
  switch (deadline.kind) {
    case JobDeadline::Kind::slots:
      if (graph_->state() != JobState::created) return;
      perform(
          graph_->on_failure({Errc::not_enough_slots,
                              "no resources: the job waited " + seconds(settings.slot_timeout) +
                                  " for " + waiting_for_ + "; add slots or lower --parallelism"}));
      return;
    case JobDeadline::Kind::deployment:
      if (!is_coming_up()) return;
      perform(graph_->on_failure({Errc::timeout, "the job's tasks did not all start within " +
                                                     seconds(settings.deploy_timeout)}));
      return;
    case JobDeadline::Kind::cancellation:
      return kill_hosts_of_stuck_tasks();
    case JobDeadline::Kind::kill:
      return perform(graph_->on_cancel_timeout(stuck_tasks()));
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
      for (const JobNode& node : submission_.graph.nodes) {
        if (!node.commits) continue;
        perform(graph_->on_committed(node.id, error));
        perform(graph_->on_aborted(node.id));
      }
      return;
    }
    case JobDeadline::Kind::heartbeats:
      set_deadline(JobDeadline::Kind::heartbeats, engine_->heartbeat_interval);
      for (const HostIndex host : heartbeats_->look(engine_->clock->now())) {
        lose_host(host, {Errc::timeout, "the task process on node " + hosts_[host.value].info.node +
                                            " has been silent for over " +
                                            seconds(engine_->heartbeat_timeout)});
      }
      return;
  }
}

std::string JobManager::stuck_tasks() const {
  std::string text = "user code did not return within " +
                     std::to_string(submission_.settings.cancel_timeout.count()) +
                     " ms after the cancel:";
  for (const auto& [id, report] : reports_) {
    if (is_terminal(graph_->state_of(id))) continue;
    const auto& stages = submission_.graph.vertex(id.vertex).stages;
    const std::size_t stage = std::min<std::size_t>(report.stage_called, stages.size() - 1);
    text += " '" + submission_.graph.node(stages[stage]).name + "' in task " + name_of(id) + ";";
  }
  text.pop_back();
  return text;
}

// Tasks that no host runs any more are given up at once.
void JobManager::kill_hosts_of_stuck_tasks() {
  if (graph_->state() != JobState::cancelling && graph_->state() != JobState::failing) return;
  std::set<HostIndex> stuck;
  for (const TaskId task : graph_->tasks()) {
    if (!is_terminal(graph_->state_of(task))) stuck.insert(host_of(task));
  }
  if (stuck.empty()) return;
  for (const HostIndex host : stuck) {
    note({}, hosts_[host.value].info.node, {Errc::task_stuck, stuck_tasks()});
    self_->send(hosts_[host.value].task_manager, KillTaskHost{submission_.job, attempt_});
  }
  set_deadline(JobDeadline::Kind::kill, submission_.settings.cancel_timeout);
}

void JobManager::on_down(const caf::down_msg& down) {
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    Host& host = hosts_[i];
    if (!host.handle || host.handle->address() != down.source) continue;
    host.down = true;
    if (host.exit) return lose_host({i}, *host.exit);
    return set_deadline(JobDeadline::Kind::host_exit, exit_report_wait, {i});
  }
}

void JobManager::lose_host(HostIndex index, const Error& error) {
  Host& host = hosts_[index.value];
  if (std::exchange(host.lost, true)) return;
  heartbeats_->remove(index);
  if (host.handle && !host.down) self_->send_exit(host.handle, caf::exit_reason::kill);
  if (is_terminal(graph_->state())) return;
  std::vector<TaskId> lost;
  for (const TaskId task : graph_->tasks()) {
    const TaskState state = graph_->state_of(task);
    if (host_of(task) == index && state != TaskState::created && !is_terminal(state))
      lost.push_back(task);
  }
  const bool has_coordinators = index.value == 0;
  if (!lost.empty() || has_coordinators || !host.handle) note({}, host.info.node, error);
  if (has_coordinators || !host.handle) perform(graph_->on_failure(error));
  for (const TaskId task : lost) perform(graph_->on_task_changed(task, TaskState::failed, error));
  if (!has_coordinators) return;
  for (const JobNode& node : submission_.graph.nodes) {
    if (!node.commits) continue;
    perform(graph_->on_committed(node.id, error));
    perform(graph_->on_aborted(node.id));
  }
}

void JobManager::note(const std::string& task, const std::string& node, const Error& error) {
  // Every task at a lost connection says so; one of them will do, so that the cause is not pushed out.
  const bool repeated = error.code == Errc::connection_lost && !exceptions_.empty() &&
                        exceptions_.back().error.code == Errc::connection_lost &&
                        exceptions_.back().node == node;
  if (repeated) return;
  if (exceptions_.size() == exceptions_max) exceptions_.pop_front();
  exceptions_.push_back({attempt_, engine_->clock->processing_time(), task, node, error});
  log_.info((task.empty() ? "" : task + ": ") + error.message);
}

std::string JobManager::name_of(TaskId task) const {
  const JobVertex& vertex = submission_.graph.vertex(task.vertex);
  return task_name(vertex.name, task.subtask, vertex.parallelism);
}

JobProgress JobManager::progress() const {
  JobProgress progress;
  progress.job = submission_.job;
  progress.state = graph_->state();
  progress.tasks_total = static_cast<std::uint32_t>(reports_.size());
  progress.tasks_running = graph_->count(TaskState::running);
  if (!waiting_for_.empty()) {
    const ProcessingTime end = submitted_at_ + submission_.settings.slot_timeout;
    progress.waiting_for = waiting_for_ + "; gives up at " + to_string(EventTime{end.ms});
  }
  for (const auto& [id, report] : reports_) {
    const JobVertex& vertex = submission_.graph.vertex(id.vertex);
    const bool source = submission_.graph.is_source(vertex);
    if (source) {
      progress.records_read += report.head_records_out;
      progress.read_units += report.read_units;
    }
    progress.bad_records += report.bad_records;
    progress.late_records_dropped += report.late_records_dropped;
    if (submission_.graph.is_last(id.vertex) && !source) {
      if (!progress.watermark || report.watermark < *progress.watermark)
        progress.watermark = report.watermark;
    }
  }
  if (all_totals_known_ && !total_units_.empty()) {
    progress.total_units = 0;
    for (const auto& [node, units] : total_units_) *progress.total_units += units;
  }
  return progress;
}

JobDetails JobManager::details() const {
  JobDetails details{.status = {submission_.job, submission_.graph.job_name, graph_->state(),
                                graph_->error(), progress(), graph_->tasks_given_up()},
                     .submitted_at = submitted_at_,
                     .ended_at = {},
                     .attempt = attempt_,
                     .hosts = {},
                     .tasks = {},
                     .exceptions = {exceptions_.begin(), exceptions_.end()}};
  for (const Host& host : hosts_) details.hosts.push_back(host.info);
  for (const auto& [id, report] : reports_) {
    const std::uint32_t host = slots_.empty() ? 0 : host_of(id).value;
    details.tasks.push_back({id, graph_->state_of(id), host, report});
  }
  return details;
}

void JobManager::perform(std::vector<JobAction> actions) {
  for (JobAction& action : actions) {
    std::visit([this](auto& one) { perform_one(one); }, action);
  }
}

void JobManager::perform_one(const AskForSlots& ask) {
  self_->send(resource_manager_,
              RequestSlots{submission_.job, ask.count, caf::actor_cast<JobManagerHandle>(self_)});
  set_deadline(JobDeadline::Kind::slots, submission_.settings.slot_timeout);
}

void JobManager::perform_one(const StartHosts&) {
  set_deadline(JobDeadline::Kind::deployment, submission_.settings.deploy_timeout);
  if (engine_->heartbeat_interval.count() > 0)
    set_deadline(JobDeadline::Kind::heartbeats, engine_->heartbeat_interval);
  for (std::uint32_t i = 0; i < hosts_.size(); ++i) {
    self_->send(hosts_[i].task_manager, StartTaskHost{submission_.job,
                                                      attempt_,
                                                      {i},
                                                      hosts_[i].slots,
                                                      submission_.settings,
                                                      submission_.program,
                                                      fingerprint(submission_.graph),
                                                      caf::actor_cast<JobManagerHandle>(self_)});
  }
}

void JobManager::perform_one(const OpenAllCoordinators&) {
  coordinators_opened_ = true;
  OpenCoordinators open{attempt_, {}};
  for (const JobNode& node : submission_.graph.nodes) {
    if (node.has_coordinator()) open.nodes.push_back(node.id);
  }
  self_->send(coordinator_host().handle, std::move(open));
}

void JobManager::perform_one(const DeployAllTasks&) {
  std::vector<DeployTasks> by_host(hosts_.size(), DeployTasks{attempt_, {}});
  for (const TaskId task : graph_->tasks()) by_host[host_of(task).value].tasks.push_back(task);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (engine_->faults != nullptr && engine_->faults->duplicates(by_host[i]))
      self_->send(hosts_[i].handle, by_host[i]);
    self_->send(hosts_[i].handle, std::move(by_host[i]));
  }
}

HostIndex JobManager::host_of(TaskId task) const {
  const std::string& group = submission_.graph.vertex(task.vertex).slot_group;
  return slots_[first_slot_of_group_.at(group) + task.subtask.value];
}

void JobManager::perform_one(const StartAllTasks&) {
  StartTasks start{attempt_, {}, {}, {0}};
  for (const TaskId task : graph_->tasks()) start.places.push_back({task, host_of(task)});
  for (const Host& host : hosts_) start.data_addresses.push_back(host.info.data_address);
  for (const Host& host : hosts_) self_->send(host.handle, start);
}

void JobManager::perform_one(const Cancel& cancel) {
  std::vector<CancelTasks> by_host(hosts_.size(), CancelTasks{attempt_, {}});
  for (const TaskId task : cancel.tasks) by_host[host_of(task).value].tasks.push_back(task);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (!by_host[i].tasks.empty()) self_->send(hosts_[i].handle, std::move(by_host[i]));
  }
  set_deadline(JobDeadline::Kind::cancellation, submission_.settings.cancel_timeout);
}

void JobManager::perform_one(Commit& commit) {
  set_deadline(JobDeadline::Kind::output, commit_timeout);
  for (auto& [sink, committables] : commit.by_sink) {
    self_->send(coordinator_host().handle, CommitOutput{attempt_, sink, std::move(committables)});
  }
}

void JobManager::perform_one(const Abort&) {
  set_deadline(JobDeadline::Kind::output, abort_timeout);
  for (const JobNode& node : submission_.graph.nodes) {
    if (!node.commits) continue;
    // Without coordinators nothing was prepared; without their host nobody is left to remove it.
    if (!coordinators_opened_ || coordinator_host().lost) {
      perform(graph_->on_aborted(node.id));
    } else {
      self_->send(coordinator_host().handle, AbortOutput{attempt_, node.id});
    }
  }
}

void JobManager::perform_one(const EndJob&) {
  JobEnded ended{details(), submission_.graph, printed_};
  ended.details.ended_at = engine_->clock->processing_time();
  self_->send(dispatcher_, std::move(ended));
  self_->send(resource_manager_, ReleaseSlots{submission_.job});
  self_->quit();
}

void JobManager::set_deadline(JobDeadline::Kind kind, Duration after, HostIndex host) {
  caf::delayed_anon_send(dispatcher_, after,
                         RemindJob{submission_.job, JobDeadline{kind, attempt_, host}});
}

JobManagerHandle::behavior_type job_manager(JobManagerHandle::stateful_pointer<JobManager> self,
                                            const EngineContext* engine, SubmitJob submission,
                                            DispatcherHandle dispatcher,
                                            ResourceManagerHandle resource_manager) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(submission), std::move(dispatcher),
               std::move(resource_manager));
  return {
      [state](const StartJob&) { state->start(); },
      [state](const CancelJob&) { state->cancel(); },
      [state](const SlotsGranted& m) { state->on_slots_granted(m); },
      [state](const SlotsRefused& m) { state->on_slots_refused(m); },
      [state](const TaskManagerLost& m) { state->on_task_manager_lost(m); },
      [state](const TaskHostStarted& m) {
        if (state->is_current(m.attempt)) state->on_host_started(m);
      },
      [state](const TaskHostExited& m) {
        if (state->is_current(m.attempt)) state->on_host_exited(m);
      },
      [state](const TaskHostReport& m) {
        if (state->is_current(m.attempt)) state->on_host_report(m);
      },
      [state](const CoordinatorOpened& m) {
        if (state->is_current(m.attempt)) state->on_coordinator_opened(m);
      },
      [state](const TasksDeployed& m) {
        if (state->is_current(m.attempt)) state->on_tasks_deployed(m);
      },
      [state](const TaskChanged& m) {
        if (state->is_current(m.attempt)) state->on_task_changed(m);
      },
      [state](const RequestSplit& m) {
        if (state->is_current(m.attempt)) state->relay(m);
      },
      [state](const SplitAssigned& m) {
        if (state->is_current(m.attempt)) state->relay(m);
      },
      [state](const OutputCommitted& m) {
        if (state->is_current(m.attempt)) state->on_committed(m);
      },
      [state](const OutputAborted& m) {
        if (state->is_current(m.attempt)) state->on_aborted(m);
      },
      [state](const JobDeadline& m) {
        if (state->is_current(m.attempt)) state->on_deadline(m);
      },
      [state](const QueryProgress&) { return state->progress(); },
      [state](const QueryJob&) { return state->answer(); },
      [state](const QueryPrinted& m) { return state->printed(m.from); },
  };
}

}  // namespace weir
