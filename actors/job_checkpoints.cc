#include "actors/job_checkpoints.h"

#include <algorithm>
#include <set>
#include <utility>

#include "actors/checkpoint_storage.h"
#include "actors/checkpoint_store.h"
#include "actors/job_manager.h"
#include "snapshot/checkpoint_layout.h"
#include "snapshot/retention.h"

namespace weir {
namespace {

SnapshotTaskId id_of(TaskId task) {
  return {task.vertex, task.subtask};
}

// Of a state that is terminal, or leads to one.
JobEnd end_of(JobState state) {
  if (state == JobState::finished) return JobEnd::finished;
  return state == JobState::failed || state == JobState::failing ? JobEnd::failed
                                                                 : JobEnd::canceled;
}

}  // namespace

JobCheckpoints::JobCheckpoints(RegionExecution::Job& job, JobManager& job_manager)
    : job_(&job), job_manager_(&job_manager), settings_(job.submission.settings.checkpoints) {
  const JobGraph& graph = job.submission.graph;
  for (const JobVertex& vertex : graph.vertices) {
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      participants_.tasks[{vertex.id, {i}}] = task_name(vertex.name, {i}, vertex.parallelism);
    }
  }
  for (const JobNode& node : graph.nodes) {
    if (node.role == StageRole::source) participants_.coordinators[node.id] = node.name;
  }
  plan_.job = job.submission.job;
  plan_.job_name = graph.job_name;
  for (const JobVertex& vertex : graph.vertices) {
    for (const NodeId node : vertex.stages) {
      plan_.operators.push_back(
          {graph.node(node).name, node, vertex.id, vertex.parallelism, vertex.max_parallelism});
    }
  }
  coordinator_.emplace(settings_, participants_);
}

Result<void> JobCheckpoints::open() {
  auto storage = checkpoint_storage(*job_->engine, settings_);
  if (!storage) return storage.error();
  storage_ = *std::move(storage);
  WEIR_TRY(check_writable(*storage_));
  WEIR_TRY(make_job_directories(*storage_, job_->submission.job));
  store_ = spawn_actor<CheckpointStoreHandle>(
      job_->self->system(), *job_->engine, Placement::own_thread, checkpoint_store, storage_,
      job_->submission.job, settings_, caf::actor_cast<JobManagerHandle>(job_->self), job_->log);
  job_->self->link_to(store_);
  return {};
}

void JobCheckpoints::on_running(const std::vector<VertexId>& region) {
  std::set<SnapshotTaskId> tasks;
  for (const auto& [task, name] : participants_.tasks) {
    const bool in_region = std::ranges::find(region, task.vertex) != region.end();
    if (in_region && !job_manager_->has_finished({task.vertex, task.subtask})) tasks.insert(task);
  }
  perform(coordinator_->on_tasks_running(tasks, now()));
}

void JobCheckpoints::on_failed(const std::vector<VertexId>& region, const Error& cause) {
  std::set<SnapshotTaskId> tasks;
  for (const auto& [task, name] : participants_.tasks) {
    if (std::ranges::find(region, task.vertex) == region.end()) continue;
    tasks.insert(task);
    acknowledged_.erase({task.vertex, task.subtask});
  }
  last_.reset();
  perform(coordinator_->on_region_failed(tasks, cause, now()));
}

void JobCheckpoints::on_ending() {
  last_.reset();
  perform(coordinator_->on_shutdown(now()));
}

void JobCheckpoints::on_task_finished(TaskId task) {
  perform(coordinator_->on_task_finished(id_of(task), now()));
  inject_barriers(task);
}

// No channel brings a barrier to a task whose producers have all finished. Those that go on for long, as loops do, take it
// from here; others do nothing with it.
void JobCheckpoints::inject_barriers(std::optional<TaskId> just_finished) {
  const std::vector<CheckpointId> pending = coordinator_->pending();
  if (pending.empty()) return;
  const JobGraph& graph = job_->submission.graph;
  const auto has_finished = [&](const PhysicalEdge& edge) {
    for (std::uint32_t i = 0; i < graph.vertex(edge.from).parallelism; ++i) {
      const TaskId producer{edge.from, {i}};
      if (producer != just_finished && !job_manager_->has_finished(producer)) return false;
    }
    return true;
  };
  std::set<VertexId> behind;
  for (const JobVertex& vertex : graph.vertices) {
    const auto of_vertex = [&](const PhysicalEdge& edge) {
      return edge.to != vertex.id || has_finished(edge);
    };
    if (!graph.is_source(vertex) && std::ranges::all_of(graph.edges, of_vertex))
      behind.insert(vertex.id);
  }
  for (const CheckpointId checkpoint : pending) {
    job_manager_->for_each_execution([&](RegionExecution& execution) {
      for (const VertexId vertex : execution.vertices()) {
        if (!behind.contains(vertex)) continue;
        for (std::uint32_t i = 0; i < graph.vertex(vertex).parallelism; ++i) {
          const TaskId task{vertex, {i}};
          if (!job_manager_->has_finished(task))
            execution.relay(InjectBarrier{execution.attempt(), task, checkpoint});
        }
      }
    });
  }
}

void JobCheckpoints::on_coordinator_snapshot(const CoordinatorSnapshot& snapshot) {
  Result<Bytes> bytes = snapshot.bytes;
  if (snapshot.error) bytes = *snapshot.error;
  perform(coordinator_->on_coordinator_snapshot(snapshot.node, snapshot.checkpoint,
                                                std::move(bytes), now()));
}

void JobCheckpoints::on_acknowledged(const AcknowledgeCheckpoint& acknowledgement) {
  acknowledged_[acknowledgement.task] = acknowledgement.checkpoint;
  for (const OperatorCommittables& of_sink : acknowledgement.snapshot.committables) {
    const auto& nodes = job_->submission.graph.nodes;
    const auto node = std::ranges::find(nodes, of_sink.operator_name, &JobNode::name);
    if (node == nodes.end()) continue;
    std::vector<Committable> committables;
    for (const Bytes& bytes : of_sink.committables) committables.push_back({bytes});
    job_manager_->keep_commit(node->id, acknowledgement.checkpoint, std::move(committables));
  }
  perform(coordinator_->on_acknowledged(id_of(acknowledgement.task), acknowledgement.checkpoint,
                                        acknowledgement.snapshot, now()));
}

void JobCheckpoints::on_declined(const DeclineCheckpoint& declined) {
  perform(
      coordinator_->on_declined(id_of(declined.task), declined.checkpoint, declined.error, now()));
}

void JobCheckpoints::on_stored(const CheckpointStored& stored) {
  --being_stored_;
  take_stored(stored);
  look_for_those_waiting();
}

void JobCheckpoints::take_stored(const CheckpointStored& stored) {
  if (stored.checkpoint == last_) {
    storage_due_.reset();
    last_.reset();
    if (stored.error) {
      job_manager_->note(std::string(last_checkpoint), *stored.error);
      // Without it a commit that is interrupted cannot be repeated; a job that tolerates failed checkpoints takes that risk.
      if (settings_.tolerable_failures > 0) return job_manager_->allow_commit();
      return job_manager_->fail_job(
          {stored.error->code,
           "the last checkpoint, without which nothing is committed where 0 failed ones are "
           "tolerated (--tolerable-checkpoint-failures), could not be stored: " +
               stored.error->message});
    }
    completed_ = stored.checkpoint;
    return job_manager_->allow_commit();
  }
  Result<void> result;
  if (stored.error) result = *stored.error;
  perform(coordinator_->on_stored(stored.checkpoint, result, now()));
}

void JobCheckpoints::on_time() {
  wake_at_.reset();
  if (storage_due_ && *storage_due_ <= now().monotonic) give_up_on_storage();
  perform(coordinator_->on_time(now()));
}

// An ordinary checkpoint that is not stored in time is the coordinator's to give up.
void JobCheckpoints::await_storage() {
  storage_due_ = now().monotonic + settings_.timeout;
  wake_when_due();
}

void JobCheckpoints::give_up_on_storage() {
  storage_is_silent_ = true;
  storage_due_.reset();
  last_.reset();
  looking_.clear();
  const Error error{Errc::timeout, storage_->root() +
                                       " (--checkpoint-dir) has not answered within " +
                                       std::to_string(settings_.timeout.count() / 1000) + " s"};
  job_manager_->note("checkpoints", error);
  if (job_manager_->is_ending()) return job_manager_->leave_output();
  job_manager_->fail_job(error);
}

CheckpointId JobCheckpoints::next_of(TaskId task) const {
  const auto found = acknowledged_.find(task);
  return {found == acknowledged_.end() ? 1 : found->second.value + 1};
}

// It is made by hand: no task is left that could take part.
void JobCheckpoints::store_last() {
  checkpoint::Store store;
  store.id = coordinator_->take_id();
  store.triggered = job_->engine->clock->processing_time();
  for (const auto& [task, name] : participants_.tasks) store.finished.insert(task);
  last_ = store.id;
  await_storage();
  write(std::move(store));
}

void JobCheckpoints::find_restore_point(RegionIndex region) {
  if (storage_is_silent_) return job_manager_->leave_output();
  looking_.push_back(region);
  await_storage();
  look_for_those_waiting();
}

void JobCheckpoints::on_damaged(const std::string& directory, const Error& error) {
  const auto id = checkpoint_of_path(directory);
  if (id) damaged_.emplace(*id, error);
}

// Not before it is settled whether what is being stored counts: an aborted checkpoint may be whole, and is removed.
void JobCheckpoints::look_for_those_waiting() {
  if (being_stored_ > 0) return;
  for (const RegionIndex region : std::exchange(looking_, {}))
    job_->self->send(store_, FindCheckpoint{region, completed_, damaged_});
}

void JobCheckpoints::on_found(const CheckpointFound& found) {
  if (job_->engine->faults != nullptr && job_->engine->faults->loses_found_checkpoints()) return;
  if (looking_.empty()) storage_due_.reset();
  passed_over_.clear();
  for (const std::string& reason : found.passed_over) {
    job_manager_->note("restore", {Errc::corrupt_data, reason});
    passed_over_ += (passed_over_.empty() ? "" : "; ") + reason;
  }
  // A job that ends looks for what is to be committed before its output is removed.
  if (found.error && !job_manager_->is_ending()) return job_manager_->fail_job(*found.error);
  if (found.error) job_manager_->note("restore", *found.error);
  const auto id = checkpoint_of_path(found.directory);
  if (found.passed_over.empty() && id.value_or(CheckpointId{0}) < completed_) {
    passed_over_ = "checkpoint " + std::to_string(completed_.value) +
                   ", which was complete, is no longer in " + root();
    job_manager_->note("restore", {Errc::checkpoint_damaged, passed_over_});
  }
  const bool began_from_nothing = job_->submission.settings.restore_from.empty();
  const std::string from = id                   ? "checkpoint " + std::to_string(id->value)
                           : began_from_nothing ? "nothing"
                                                : "where the job began";
  if (const auto sink =
          job_manager_->find_sink_ahead_of(found.region, id.value_or(CheckpointId{0}));
      sink && !job_manager_->is_ending()) {
    const Error error{Errc::output_lost,
                      "the job cannot begin again from " + from + ": what '" + *sink +
                          "' has committed since is visible, and would come twice"};
    job_manager_->note("restore", with_damaged(error));
    return job_manager_->fail_job(with_damaged(error));
  }
  if (!passed_over_.empty() && !job_manager_->is_ending())
    job_manager_->tell_restart("begins again from " + from + ": " + passed_over_);
  std::string directory = found.directory;
  if (job_->engine->faults != nullptr && job_->engine->faults->restores_the_one_before() &&
      completed_.value > 1) {
    directory = checkpoint_directory(job_->submission.job, {completed_.value - 1});
  }
  for (const JobNode& node : job_->submission.graph.nodes) {
    const bool has_some = std::ranges::find(found.sinks, node.name) != found.sinks.end();
    if (id && has_some) job_manager_->pending_commits().on_restored(node.id, *id);
  }
  job_manager_->start_again(found.region, directory);
}

Error JobCheckpoints::with_damaged(Error error) const {
  if (error.code == Errc::output_lost) {
    error.message = passed_over_ + (passed_over_.empty() ? "" : "; ") + error.message +
                    "; start the job anew, with --overwrite or another output";
  }
  return error;
}

void JobCheckpoints::end(JobState state) {
  if (!store_) return;
  job_->self->unlink_from(store_);
  job_->self->send(store_, EndCheckpoints{end_of(state)});
}

bool JobCheckpoints::outlives(JobState end) const {
  return has_completed() && outlives_job(settings_.externalized, end_of(end));
}

std::string JobCheckpoints::root() const {
  return storage_ == nullptr ? settings_.directory
                             : storage_->root() + "/" + job_directory(job_->submission.job);
}

std::string JobCheckpoints::kept(JobState end) const {
  if (!store_ || !outlives(end)) return {};
  return storage_->root() + "/" + checkpoint_directory(job_->submission.job, completed_);
}

CheckpointOverview JobCheckpoints::overview() const {
  return {true, root(), settings_.interval, coordinator_->counts(), coordinator_->statistics()};
}

void JobCheckpoints::perform(CheckpointActions actions) {
  for (CheckpointAction& action : actions) {
    std::visit([this](auto& one) { perform_one(one); }, action);
  }
  wake_when_due();
}

void JobCheckpoints::wake_when_due() {
  auto due = coordinator_->next_wake();
  if (storage_due_ && (!due || *storage_due_ < *due)) due = storage_due_;
  if (!due || (wake_at_ && *wake_at_ <= *due)) return;
  wake_at_ = due;
  const auto now = job_->engine->clock->now();
  const auto after = std::max<std::chrono::nanoseconds>(*due - now, std::chrono::nanoseconds(0));
  caf::delayed_anon_send(
      job_->dispatcher, std::chrono::ceil<Duration>(after),
      RemindJob{job_->submission.job, JobDeadline{JobDeadline::Kind::checkpoint, {}, {}}});
}

void JobCheckpoints::perform_one(const checkpoint::Trigger& trigger) {
  job_manager_->for_each_execution([&](RegionExecution& execution) {
    execution.send_to_coordinators(TriggerCheckpoint{execution.attempt(), trigger.id});
  });
  inject_barriers();
}

void JobCheckpoints::perform_one(const checkpoint::DropTrigger& dropped) {
  job_->log.debug("no checkpoint now: " + dropped.reason.message);
}

void JobCheckpoints::perform_one(const checkpoint::Abort& abort) {
  job_->log.warning("checkpoint " + std::to_string(abort.id.value) +
                    " is given up: " + abort.reason.message);
  job_manager_->for_each_execution([&](RegionExecution& execution) {
    execution.send_to_all_hosts(EndCheckpoint{execution.attempt(), abort.id, false});
  });
}

void JobCheckpoints::perform_one(checkpoint::Store& store) {
  write(std::move(store));
}

// What tasks have prepared is kept by the JobManager, also that of checkpoints that were given up.
void JobCheckpoints::write(checkpoint::Store content) {
  const CheckpointId id = content.id;
  for (auto& [task, snapshot] : content.tasks) snapshot.committables.clear();
  std::map<std::string, std::vector<Bytes>> committables;
  for (const JobNode& node : job_->submission.graph.nodes) {
    for (Committable& one : job_manager_->pending_commits().up_to(node.id, id)) {
      committables[node.name].push_back(std::move(one.bytes));
    }
  }
  auto manifest = assemble_manifest(plan_, std::move(content), committables);
  ++being_stored_;
  if (!manifest) return on_stored({id, manifest.error()});
  job_->self->send(
      store_, StoreCheckpoint{std::make_shared<const CheckpointManifest>(*std::move(manifest))});
}

void JobCheckpoints::perform_one(const checkpoint::Complete& complete) {
  completed_ = complete.id;
  job_->log.debug("checkpoint " + std::to_string(complete.id.value) + " is complete");
  job_manager_->for_each_execution([&](RegionExecution& execution) {
    execution.send_to_all_hosts(EndCheckpoint{execution.attempt(), complete.id, true});
  });
  commit(complete.id);
}

void JobCheckpoints::commit(CheckpointId checkpoint) {
  job_manager_->for_each_execution([&](RegionExecution& execution) {
    for (const NodeId sink : execution.sinks()) {
      auto committables = job_manager_->pending_commits().up_to(sink, checkpoint);
      if (committables.empty()) continue;
      job_manager_->pending_commits().on_committing(sink, checkpoint);
      execution.send_to_coordinators(
          CommitOutput{execution.attempt(), sink, checkpoint, std::move(committables)});
    }
  });
}

void JobCheckpoints::perform_one(const checkpoint::Discard& discard) {
  job_->self->send(store_, DiscardCheckpoint{discard.id});
}

void JobCheckpoints::perform_one(const checkpoint::FailJob& failure) {
  job_manager_->note("checkpoints", failure.error);
  if (failure.cannot_be_written) return job_manager_->fail_job(failure.error);
  job_manager_->for_each_execution(
      [&](RegionExecution& execution) { execution.fail(failure.error); });
}

}  // namespace weir
