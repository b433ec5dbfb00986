#include "actors/job_manager.h"

#include <algorithm>
#include <set>
#include <utility>

namespace weir {
namespace {

std::shared_ptr<TaskProbe> make_probe(const Vertex& vertex, SubtaskIndex subtask) {
  std::vector<std::string> stages;
  for (const ChainStage& stage : vertex.chain.stages) stages.push_back(stage.operator_name);
  std::string name = vertex.name + " (" + std::to_string(subtask.value + 1) + "/" +
                     std::to_string(vertex.parallelism) + ")";
  return std::make_shared<TaskProbe>(TaskId{vertex.id, subtask}, std::move(name),
                                     std::move(stages));
}

bool is_source(const Vertex& vertex) {
  return vertex.chain.stages.front().role == StageRole::source;
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
  log_ = engine.logger.about("job " + submission_.plan->logical.job_name);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });

  for (const LogicalNode& node : submission_.plan->logical.nodes) {
    const bool commits = node.role == StageRole::sink && node.make_committer;
    if (commits) committing_sinks_.push_back(node.id);
    if (commits || node.role == StageRole::source) coordinator_nodes_.push_back(node.id);
  }
  std::uint32_t next_slot = 0;
  for (const Vertex& vertex : submission_.plan->vertices) {
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      probes_[{vertex.id, {i}}] = make_probe(vertex, {i});
    }
    if (first_slot_of_group_.contains(vertex.slot_group)) continue;
    first_slot_of_group_[vertex.slot_group] = next_slot;
    std::uint32_t widest = 0;
    for (const Vertex& other : submission_.plan->vertices) {
      if (other.slot_group == vertex.slot_group) widest = std::max(widest, other.parallelism);
    }
    next_slot += widest;
  }
  graph_.emplace(*submission_.plan, coordinator_nodes_, committing_sinks_);
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
  slots_ = grant.slots;
  std::set<caf::actor_addr> monitored;
  for (const auto& task_manager : slots_) {
    if (monitored.insert(task_manager->address()).second) self_->monitor(task_manager);
  }
  perform(graph_->on_slots_granted());
}

void JobManager::on_slots_refused(const SlotsRefused& refusal) {
  waiting_for_ = std::to_string(refusal.wanted) + " slots (" + std::to_string(refusal.available) +
                 " free of " + std::to_string(refusal.total) + ")";
  log_.info("waits for " + waiting_for_);
}

void JobManager::on_coordinator_deployed(const CoordinatorDeployed& deployed) {
  coordinators_[deployed.node] = deployed.coordinator;
  self_->monitor(deployed.coordinator);
  if (graph_->state() == JobState::running)
    self_->send(deployed.coordinator, OpenCoordinator{attempt_});
}

void JobManager::on_coordinator_opened(const CoordinatorOpened& opened) {
  const bool source = submission_.plan->logical.nodes[opened.node.value].role == StageRole::source;
  if (opened.total_units) {
    total_units_[opened.node] = *opened.total_units;
  } else if (source) {
    all_totals_known_ = false;
  }
  perform(graph_->on_coordinator_opened(opened.node, opened.error));
}

void JobManager::on_task_deployed(const TaskDeployed& deployed) {
  tasks_[deployed.task] = deployed.handle;
  perform(graph_->on_task_deployed(deployed.task));
}

void JobManager::on_task_changed(const TaskChanged& change) {
  std::map<NodeId, std::vector<Committable>> commits;
  for (const auto& commit : change.commits) commits[commit.node] = commit.committables;
  perform(graph_->on_task_changed(change.task, change.state, change.error, std::move(commits)));
}

void JobManager::on_committed(const OutputCommitted& committed) {
  perform(graph_->on_committed(committed.node, committed.error));
}

void JobManager::on_aborted(const OutputAborted& aborted) {
  perform(graph_->on_aborted(aborted.node));
}

void JobManager::on_deadline(const JobDeadline& deadline) {
  switch (deadline.kind) {
    case JobDeadline::Kind::slots:
      if (graph_->state() != JobState::created) return;
      perform(graph_->on_failure(
          {Errc::not_enough_slots,
           "no resources: the job waited " +
               std::to_string(submission_.settings.slot_timeout.count() / 1000) + " s for " +
               waiting_for_ + "; add slots or lower --parallelism"}));
      return;
    case JobDeadline::Kind::deployment:
      if (graph_->state() != JobState::running || graph_->count(TaskState::created) +
                                                          graph_->count(TaskState::deploying) +
                                                          graph_->count(TaskState::initializing) ==
                                                      0) {
        return;
      }
      perform(graph_->on_failure(
          {Errc::timeout, "the job's tasks did not all start within " +
                              std::to_string(submission_.settings.deploy_timeout.count() / 1000) +
                              " s"}));
      return;
    case JobDeadline::Kind::cancellation:
      perform(graph_->on_cancel_timeout(stuck_tasks()));
      return;
  }
}

std::string JobManager::stuck_tasks() const {
  std::string text = "user code did not return within " +
                     std::to_string(submission_.settings.cancel_timeout.count()) +
                     " ms after the cancel:";
  for (const auto& [id, probe] : probes_) {
    if (is_terminal(graph_->state_of(id))) continue;
    const auto stage = probe->metrics.stage_called.load(std::memory_order_relaxed);
    text += " '" + probe->stage_names[stage] + "' in task " + probe->name + ";";
  }
  text.pop_back();
  return text;
}

void JobManager::on_down(const caf::down_msg& down) {
  std::vector<TaskId> lost;
  for (const auto& [id, probe] : probes_) {
    if (slots_.empty() || task_manager_of(id)->address() != down.source) continue;
    if (!is_terminal(graph_->state_of(id))) lost.push_back(id);
  }
  const Error error{Errc::actor_lost,
                    "an actor of the job died: " + self_->system().render(down.reason)};
  for (const TaskId task : lost) perform(graph_->on_task_changed(task, TaskState::failed, error));
  for (const auto& [node, coordinator] : coordinators_) {
    if (coordinator->address() != down.source) continue;
    perform(graph_->on_failure(error));
    perform(graph_->on_committed(node, error));
    perform(graph_->on_aborted(node));
    return;
  }
}

JobProgress JobManager::progress() const {
  JobProgress progress;
  progress.job = submission_.job;
  progress.state = graph_->state();
  progress.tasks_total = static_cast<std::uint32_t>(probes_.size());
  progress.tasks_running = graph_->count(TaskState::running);
  progress.waiting_for = waiting_for_;
  for (const auto& [id, probe] : probes_) {
    const Vertex& vertex = submission_.plan->vertex(id.vertex);
    const TaskMetrics& metrics = probe->metrics;
    if (is_source(vertex)) {
      progress.records_read += metrics.head_records_out.load(std::memory_order_relaxed);
      progress.read_units += metrics.read_units.load(std::memory_order_relaxed);
    }
    for (const OperatorMetrics& of_operator : probe->operators) {
      progress.bad_records += of_operator.bad_records.load(std::memory_order_relaxed);
      progress.late_records_dropped +=
          of_operator.late_records_dropped.load(std::memory_order_relaxed);
    }
    if (vertex.chain.exchanges.empty() && !is_source(vertex)) {
      const EventTime watermark{metrics.watermark_ms.load(std::memory_order_relaxed)};
      if (!progress.watermark || watermark < *progress.watermark) progress.watermark = watermark;
    }
  }
  if (all_totals_known_ && !total_units_.empty()) {
    progress.total_units = 0;
    for (const auto& [node, units] : total_units_) *progress.total_units += units;
  }
  return progress;
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

void JobManager::perform_one(const OpenCoordinators&) {
  set_deadline(JobDeadline::Kind::deployment, submission_.settings.deploy_timeout);
  for (const NodeId node : coordinator_nodes_) {
    self_->send(slots_.front(), DeployCoordinator{submission_.job, attempt_, node, submission_.plan,
                                                  caf::actor_cast<JobManagerHandle>(self_)});
  }
}

void JobManager::perform_one(const DeployTasks&) {
  for (const TaskId task : graph_->tasks()) {
    self_->send(task_manager_of(task),
                DeployTask{submission_.job, attempt_, task, submission_.plan, submission_.settings,
                           probes_.at(task), caf::actor_cast<JobManagerHandle>(self_)});
  }
}

TaskManagerHandle JobManager::task_manager_of(TaskId task) const {
  const std::string& group = submission_.plan->vertex(task.vertex).slot_group;
  return slots_[first_slot_of_group_.at(group) + task.subtask.value];
}

void JobManager::perform_one(const ConnectTasks&) {
  const PhysicalPlan& plan = *submission_.plan;
  for (const auto& [id, handle] : tasks_) {
    WireTask wiring{attempt_, {}, {}, {}};
    for (const ChannelEnd& end : input_channels(plan, id.vertex, id.subtask)) {
      wiring.producers.push_back(tasks_.at({end.vertex, end.subtask}));
    }
    for (const auto& lanes : output_channels(plan, id.vertex, id.subtask)) {
      auto& consumers = wiring.consumers.emplace_back();
      for (const ChannelEnd& end : lanes) consumers.push_back(tasks_.at({end.vertex, end.subtask}));
    }
    const ChainStage& head = plan.vertex(id.vertex).chain.stages.front();
    if (head.role == StageRole::source) wiring.enumerator = coordinators_.at(head.node);
    self_->send(handle, std::move(wiring));
    self_->send(handle, StartTask{attempt_});
  }
}

void JobManager::perform_one(const CancelTasks& cancel) {
  for (const TaskId task : cancel.tasks) self_->send(tasks_.at(task), CancelTask{attempt_});
  set_deadline(JobDeadline::Kind::cancellation, submission_.settings.cancel_timeout);
}

void JobManager::perform_one(Commit& commit) {
  for (auto& [sink, committables] : commit.by_sink) {
    self_->send(coordinators_.at(sink), CommitOutput{attempt_, std::move(committables)});
  }
}

void JobManager::perform_one(const Abort&) {
  for (const NodeId sink : committing_sinks_) {
    const auto found = coordinators_.find(sink);
    if (found == coordinators_.end()) {  // never deployed: nothing to abort
      perform(graph_->on_aborted(sink));
    } else {
      self_->send(found->second, AbortOutput{attempt_});
    }
  }
}

void JobManager::perform_one(const EndJob&) {
  log_.info(name_of(graph_->state()));
  JobOutcome outcome{submission_.job, submission_.plan->logical.job_name,
                     graph_->state(), graph_->error(),
                     progress(),      graph_->tasks_given_up()};
  self_->send(dispatcher_, JobEnded{std::move(outcome)});
  self_->send(resource_manager_, ReleaseSlots{submission_.job});
  self_->quit();
}

void JobManager::set_deadline(JobDeadline::Kind kind, Duration after) {
  self_->delayed_send(caf::actor_cast<JobManagerHandle>(self_), after, JobDeadline{kind, attempt_});
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
      [state](const CoordinatorDeployed& m) {
        if (state->is_current(m.attempt)) state->on_coordinator_deployed(m);
      },
      [state](const CoordinatorOpened& m) {
        if (state->is_current(m.attempt)) state->on_coordinator_opened(m);
      },
      [state](const TaskDeployed& m) {
        if (state->is_current(m.attempt)) state->on_task_deployed(m);
      },
      [state](const TaskChanged& m) {
        if (state->is_current(m.attempt)) state->on_task_changed(m);
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
  };
}

}  // namespace weir
