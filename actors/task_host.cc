#include "actors/task_host.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "actors/checkpoint_storage.h"
#include "actors/operator_coordinator.h"
#include "actors/state_writer.h"
#include "actors/task_actor.h"
#include "base/codec.h"
#include "base/limits.h"
#include "snapshot/retention.h"

namespace weir {
namespace {

std::shared_ptr<TaskProbe> make_probe(const Vertex& vertex, SubtaskIndex subtask) {
  std::vector<std::string> stages;
  for (const ChainStage& stage : vertex.chain.stages) stages.push_back(stage.operator_name);
  return std::make_shared<TaskProbe>(TaskId{vertex.id, subtask},
                                     task_name(vertex.name, subtask, vertex.parallelism),
                                     std::move(stages), vertex.chain.exchanges.size());
}

// The process ends 2 s after its worker has, see task_process.cc.
constexpr Duration others_end_within{300};
constexpr Duration stuck_after_all{1'000};
constexpr Duration ends_within{1'600};

}  // namespace

void FrameRouter::begin(TaskHostHandle host, AttemptId attempt) {
  host_ = std::move(host);
  attempt_ = attempt;
}

void FrameRouter::add(TaskId task, TaskHandle handle) {
  const std::scoped_lock lock(mutex_);
  tasks_.emplace(task, std::move(handle));
}

TaskHandle FrameRouter::find(TaskId task) {
  const std::scoped_lock lock(mutex_);
  const auto found = tasks_.find(task);
  return found == tasks_.end() ? TaskHandle{} : found->second;
}

void FrameRouter::on_element(HostIndex from, ElementFrame frame) {
  if (const TaskHandle task = find({frame.vertex, frame.subtask})) {
    caf::anon_send(task, DeliverFrame{attempt_, std::move(frame)});
  } else {
    on_peer_lost(from, {Errc::corrupt_data, "host " + std::to_string(from.value) +
                                                " sent an element for a task that is not here"});
  }
}

void FrameRouter::on_credit(HostIndex from, CreditFrame frame) {
  if (const TaskHandle task = find({frame.vertex, frame.subtask})) {
    caf::anon_send(task, ReturnCredit{attempt_, frame.exchange, frame.lane, frame.bytes, nullptr});
  } else {
    on_peer_lost(from, {Errc::corrupt_data, "host " + std::to_string(from.value) +
                                                " sent credit for a task that is not here"});
  }
}

void FrameRouter::on_peer_lost(HostIndex peer, Error error) {
  caf::anon_send(host_, PeerLost{peer, std::move(error)});
}

TaskHost::~TaskHost() {
  if (state_writer_) caf::anon_send_exit(state_writer_, caf::exit_reason::user_shutdown);
  for (const auto& [node, coordinator] : coordinators_)
    caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  for (const auto& [id, task] : tasks_)
    caf::anon_send_exit(task.handle, caf::exit_reason::user_shutdown);
}

void TaskHost::begin(TaskHostHandle::base* self, const EngineContext& engine,
                     TaskHostOptions options) {
  self_ = self;
  engine_ = &engine;
  options_ = std::move(options);
  log_ = engine.logger.about("job " + options_.plan->logical.job_name);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  self_->monitor(options_.job_manager);
  network_ = std::make_shared<Network>();
  network_->router.begin(caf::actor_cast<TaskHostHandle>(self_), options_.attempt);

  TaskHostStarted started{options_.attempt,
                          options_.host,
                          caf::actor_cast<TaskHostHandle>(self_),
                          options_.process,
                          {},
                          {}};
  if (options_.make_data_plane) {
    auto plane = options_.make_data_plane(network_->router);
    if (plane) {
      network_->plane = std::move(plane->plane);
      started.data_address = std::move(plane->address);
    } else {
      started.error = plane.error();
    }
  }
  self_->send(options_.job_manager, std::move(started));
  // In simulation nothing is ever stuck, and figures are asked for at the end only.
  if (engine_->report_interval.count() > 0) {
    self_->delayed_send(caf::actor_cast<TaskHostHandle>(self_), engine_->report_interval,
                        ReportTasks{});
  }
}

// Read once, and the same for all.
Result<RestorePoint> TaskHost::restore_point(const std::string& directory) {
  if (directory.empty()) return RestorePoint{};
  if (!restore_) {
    auto place = checkpoint_place(*engine_, options_.settings.checkpoints, directory);
    if (!place) return place.error();
    auto read = RestorePoint::read(std::move(place->storage), place->directory);
    if (!read) return read.error();
    restore_ = *std::move(read);
  }
  return *restore_;
}

void TaskHost::open_coordinators(const OpenCoordinators& open) {
  const auto restore = restore_point(open.restore_from);
  for (const NodeId node : open.nodes) {
    if (coordinators_.contains(node)) continue;  // told twice
    if (!restore) {
      forward(CoordinatorOpened{options_.attempt, node, restore.error(), {}});
      continue;
    }
    auto coordinator = spawn_actor<CoordinatorHandle>(
        self_->system(), *engine_, Placement::own_thread, operator_coordinator, engine_,
        CoordinatorDeployment{options_.attempt, node, options_.plan,
                              caf::actor_cast<TaskHostHandle>(self_), *restore, open.again});
    self_->monitor(coordinator);
    self_->send(coordinator, OpenCoordinator{});
    coordinators_.emplace(node, std::move(coordinator));
  }
}

void TaskHost::deploy(const DeployTasks& deployment) {
  const auto restore = restore_point(deployment.restore_from);
  if (!restore) {
    for (const TaskId id : deployment.tasks) {
      self_->send(
          options_.job_manager,
          TaskChanged{options_.attempt, id, TaskState::failed, shortened(restore.error()), {}, {}});
    }
    return;
  }
  if (options_.settings.checkpoints.enabled() && !state_writer_) {
    state_writer_ = spawn_actor<StateWriterHandle>(self_->system(), *engine_, Placement::own_thread,
                                                   state_writer, engine_, options_.job,
                                                   options_.settings.checkpoints);
    self_->monitor(state_writer_);
  }
  for (const TaskId id : deployment.tasks) {
    const bool forgets = engine_->faults != nullptr && engine_->faults->forgets_what_it_deployed();
    if (!tasks_.contains(id) || forgets) spawn_task(id);
  }
  self_->send(options_.job_manager, TasksDeployed{options_.attempt, deployment.tasks});
}

void TaskHost::spawn_task(TaskId id) {
  const Vertex& vertex = options_.plan->vertex(id.vertex);
  auto probe = make_probe(vertex, id.subtask);
  auto handle = spawn_actor<TaskHandle>(
      self_->system(), *engine_, vertex.blocking ? Placement::own_thread : Placement::shared,
      task_actor, engine_,
      TaskDeployment{options_.job, options_.attempt, id, options_.plan, options_.settings, probe,
                     caf::actor_cast<TaskHostHandle>(self_), state_writer_,
                     restore_.value_or(RestorePoint{}),
                     std::shared_ptr<DataPlane>(network_, network_->plane.get())});
  self_->monitor(handle);
  network_->router.add(id, handle);
  tasks_.insert_or_assign(id, Task{std::move(handle), std::move(probe), {}, false, 0});
}

void TaskHost::start(const StartTasks& start) {
  if (std::exchange(started_, true)) return;  // told twice
  std::map<TaskId, HostIndex> places;
  for (const auto& [task, host] : start.places) places[task] = host;
  for (auto& [id, task] : tasks_) wire(id, places);
  if (network_->plane != nullptr) {
    std::map<HostIndex, Endpoint> consumers;
    for (const auto& [id, task] : tasks_) {
      for (const auto& lanes : output_channels(*options_.plan, id.vertex, id.subtask)) {
        for (const ChannelEnd& end : lanes) {
          const HostIndex host = places.at({end.vertex, end.subtask});
          if (host == options_.host || consumers.contains(host)) continue;
          const auto endpoint = parse_endpoint(start.data_addresses[host.value]);
          if (endpoint) {
            consumers[host] = *endpoint;
          } else {
            on_peer_lost({host, endpoint.error()});
          }
        }
      }
    }
    network_->plane->connect(consumers);
  }
  for (const auto& [id, task] : tasks_) self_->send(task.handle, StartTask{options_.attempt});
}

void TaskHost::wire(TaskId id, const std::map<TaskId, HostIndex>& places) {
  Task& task = tasks_.at(id);
  const auto peer_of = [&](const ChannelEnd& end) -> TaskPeer {
    const TaskId other{end.vertex, end.subtask};
    const HostIndex host = places.at(other);
    if (host == options_.host) return tasks_.at(other).handle;
    task.peers.insert(host);
    return RemoteTask{host, other};
  };
  WireTask wiring{options_.attempt, {}, {}};
  for (const ChannelEnd& end : input_channels(*options_.plan, id.vertex, id.subtask)) {
    wiring.producers.push_back(peer_of(end));
  }
  for (const auto& lanes : output_channels(*options_.plan, id.vertex, id.subtask)) {
    auto& consumers = wiring.consumers.emplace_back();
    for (const ChannelEnd& end : lanes) consumers.push_back(peer_of(end));
  }
  self_->send(task.handle, std::move(wiring));
}

void TaskHost::cancel(const CancelTasks& cancel) {
  for (const TaskId id : cancel.tasks) {
    const auto found = tasks_.find(id);
    if (found != tasks_.end()) self_->send(found->second.handle, CancelTask{options_.attempt, {}});
  }
}

void TaskHost::on_task_changed(TaskChanged change) {
  const auto found = tasks_.find(change.task);
  if (found == tasks_.end()) return;
  if (change.error) change.error = shortened(*std::move(change.error));
  if (is_terminal(change.state)) found->second.ended = true;
  // The JobManager hears of the worker's end, and must not take its tasks for ended by themselves.
  if (ending_ != Ending::no) return advance_ending();
  if (is_terminal(change.state)) {
    change.report = make_report(*found->second.probe, engine_->clock->now());
    if (options_.printed != nullptr)
      send_report();  // its rows go before the word that it has ended
  }
  self_->send(options_.job_manager, std::move(change));
}

void TaskHost::request_split(const RequestSplit& request) {
  const auto found = coordinators_.find(request.source);
  if (found != coordinators_.end()) {
    self_->send(found->second, request);
  } else {
    self_->send(options_.job_manager, request);
  }
}

void TaskHost::assign(const SplitAssigned& answer) {
  const auto found = tasks_.find(answer.reader);
  if (found != tasks_.end()) {
    self_->send(found->second.handle,
                AssignSplit{options_.attempt, answer.assignment, answer.error});
  } else {
    self_->send(options_.job_manager, answer);
  }
}

void TaskHost::commit(const CommitOutput& commit) {
  const auto found = coordinators_.find(commit.node);
  if (found != coordinators_.end()) self_->send(found->second, commit);
}

void TaskHost::abort(const AbortOutput& abort) {
  const auto found = coordinators_.find(abort.node);
  if (found != coordinators_.end()) self_->send(found->second, abort);
}

void TaskHost::trigger(const TriggerCheckpoint& trigger) {
  for (const auto& [node, coordinator] : coordinators_) self_->send(coordinator, trigger);
}

void TaskHost::inject(const InjectBarrier& barrier) {
  const auto found = tasks_.find(barrier.reader);
  if (found != tasks_.end()) {
    self_->send(found->second.handle, barrier);
  } else {
    self_->send(options_.job_manager, barrier);
  }
}

void TaskHost::align(const AlignWatermarks& answer) {
  const auto found = tasks_.find(answer.task);
  if (found != tasks_.end() && !found->second.ended) self_->send(found->second.handle, answer);
}

void TaskHost::end_checkpoint(const EndCheckpoint& end) {
  for (const auto& [id, task] : tasks_) {
    if (!task.ended) self_->send(task.handle, end);
  }
}

void TaskHost::on_peer_lost(const PeerLost& lost) {
  log_.warning("lost host " + std::to_string(lost.host.value) + ": " + lost.error.message);
  for (const auto& [id, task] : tasks_) {
    if (!task.ended && task.peers.contains(lost.host))
      self_->send(task.handle, CancelTask{options_.attempt, lost.error});
  }
}

void TaskHost::on_down(const caf::down_msg& down) {
  if (down.source == options_.job_manager->address()) {
    if (!down.reason) return self_->quit();  // the job is over
    return begin_ending(Ending::job_manager_gone);
  }
  const Error error{Errc::actor_lost,
                    "an actor of the job died: " + self_->system().render(down.reason)};
  // Tasks wait for what it writes.
  if (state_writer_ && down.source == state_writer_->address()) {
    log_.error("the writer of state died: " + self_->system().render(down.reason));
    return self_->quit(down.reason);
  }
  for (auto& [id, task] : tasks_) {
    if (task.handle->address() != down.source) continue;
    if (task.ended) return;
    TaskChanged change{options_.attempt, id, TaskState::failed, error, {}, {}};
    change.error->message =
        "task " + task.probe->name + " died: " + self_->system().render(down.reason);
    on_task_changed(std::move(change));
    return;
  }
  for (const auto& [node, coordinator] : coordinators_) {
    if (coordinator->address() != down.source) continue;
    self_->send(options_.job_manager, CoordinatorOpened{options_.attempt, node, error, {}});
    self_->send(options_.job_manager, OutputCommitted{options_.attempt, node, {}, error});
    self_->send(options_.job_manager, OutputAborted{options_.attempt, node});
    return;
  }
}

void TaskHost::on_end(EndTaskHost::Why why) {
  switch (why) {
    case EndTaskHost::Why::worker_gone:
      return begin_ending(Ending::worker_gone);
    case EndTaskHost::Why::others_had_time:
      return abort_output();
    case EndTaskHost::Why::took_long_enough:
      return self_->quit();
  }
}

void TaskHost::begin_ending(Ending ending) {
  const bool first = ending_ == Ending::no;
  ending_ = std::max(ending_, ending);
  const auto self = caf::actor_cast<TaskHostHandle>(self_);
  if (first) {
    self_->delayed_send(self, ends_within, EndTaskHost{EndTaskHost::Why::took_long_enough});
    for (const auto& [id, task] : tasks_) {
      if (!task.ended) self_->send(task.handle, CancelTask{options_.attempt, {}});
    }
  }
  // User code that does not let go keeps a file at most.
  if (ending_ == Ending::job_manager_gone && !outlives_its_job())
    self_->delayed_send(self, stuck_after_all, EndTaskHost{EndTaskHost::Why::others_had_time});
  advance_ending();
}

// Tasks of other hosts are being ended at the same time; what they wrote until then goes, too.
void TaskHost::advance_ending() {
  if (ending_ != Ending::job_manager_gone || !has_ended_all_tasks()) return;
  if (coordinators_.empty() || outlives_its_job()) return self_->quit();
  if (std::exchange(waits_for_others_, true)) return;
  self_->delayed_send(caf::actor_cast<TaskHostHandle>(self_), others_end_within,
                      EndTaskHost{EndTaskHost::Why::others_had_time});
}

void TaskHost::abort_output() {
  if (aborting_) return;
  // Only the connection may be lost: then the job goes on from a checkpoint, which needs what is hidden.
  if (options_.settings.checkpoints.enabled() && options_.master_is_gone &&
      !options_.master_is_gone()) {
    log_.warning("lost the connection to the master, which still listens: leaves the output to it");
    return self_->quit();
  }
  aborting_.emplace();
  for (const auto& [node, coordinator] : coordinators_) {
    aborting_->insert(node);
    self_->send(coordinator, AbortOutput{options_.attempt, node});
  }
}

void TaskHost::on_aborted(const OutputAborted& aborted) {
  if (!aborting_) return forward(aborted);
  aborting_->erase(aborted.node);
  if (aborting_->empty()) self_->quit();
}

// Whether somebody may go on from its checkpoints, or from the one that it began from, which need the files that are hidden.
bool TaskHost::outlives_its_job() const {
  if (!options_.settings.restore_from.empty()) return true;
  const CheckpointSettings& checkpoints = options_.settings.checkpoints;
  return checkpoints.enabled() && outlives_job(checkpoints.externalized, JobEnd::failed);
}

bool TaskHost::has_ended_all_tasks() const {
  return std::ranges::all_of(tasks_, [](const auto& entry) { return entry.second.ended; });
}

void TaskHost::report() {
  self_->delayed_send(caf::actor_cast<TaskHostHandle>(self_), engine_->report_interval,
                      ReportTasks{});
  name_stuck_tasks();
  send_report();
}

void TaskHost::send_report() {
  TaskHostReport report{options_.attempt, options_.host, {}, {}, 0};
  for (const auto& [id, task] : tasks_) {
    if (!task.ended) report.tasks.push_back(make_report(*task.probe, engine_->clock->now()));
  }
  if (options_.printed != nullptr) {
    auto [text, dropped] = options_.printed->take();
    report.printed = std::move(text);
    report.printed_dropped = dropped;
  }
  self_->send(options_.job_manager, std::move(report));
}

void TaskHost::name_stuck_tasks() {
  const std::int64_t now_ns = engine_->clock->now().time_since_epoch().count();
  for (auto& [id, task] : tasks_) {
    const std::int64_t began_ns = task.probe->metrics.step_began_ns.load(std::memory_order_relaxed);
    if (task.ended || began_ns == 0 || began_ns == task.reported_step_ns) continue;
    const std::chrono::nanoseconds held{now_ns - began_ns};
    if (held < limits::stuck_after) continue;
    task.reported_step_ns = began_ns;
    const auto stage = task.probe->metrics.stage_called.load(std::memory_order_relaxed);
    engine_->logger.warning(
        "task " + task.probe->name + " has been in the user function of '" +
        task.probe->stage_names[stage] + "' for over " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(held).count()) +
        " ms and holds its thread; mark the step .blocking() if it waits for something");
  }
}

TaskHostHandle::behavior_type task_host(TaskHostHandle::stateful_pointer<TaskHost> self,
                                        const EngineContext* engine, TaskHostOptions options) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(options));
  return {
      [state](const OpenCoordinators& m) {
        if (state->is_current(m.attempt)) state->open_coordinators(m);
      },
      [state](const DeployTasks& m) {
        if (state->is_current(m.attempt)) state->deploy(m);
      },
      [state](const StartTasks& m) {
        if (state->is_current(m.attempt)) state->start(m);
      },
      [state](const CancelTasks& m) {
        if (state->is_current(m.attempt)) state->cancel(m);
      },
      [state](CoordinatorOpened& m) { state->forward(std::move(m)); },
      [state](TaskChanged& m) { state->on_task_changed(std::move(m)); },
      [state](const RequestSplit& m) {
        if (state->is_current(m.attempt)) state->request_split(m);
      },
      [state](const SplitAssigned& m) {
        if (state->is_current(m.attempt)) state->assign(m);
      },
      [state](const CommitOutput& m) {
        if (state->is_current(m.attempt)) state->commit(m);
      },
      [state](OutputCommitted& m) { state->forward(std::move(m)); },
      [state](const AbortOutput& m) {
        if (state->is_current(m.attempt)) state->abort(m);
      },
      [state](const OutputAborted& m) { state->on_aborted(m); },
      [state](const PeerLost& m) { state->on_peer_lost(m); },
      [state](const TriggerCheckpoint& m) {
        if (state->is_current(m.attempt)) state->trigger(m);
      },
      [state](CoordinatorSnapshot& m) { state->forward(std::move(m)); },
      [state](const InjectBarrier& m) {
        if (state->is_current(m.attempt)) state->inject(m);
      },
      [state](AcknowledgeCheckpoint& m) { state->forward(std::move(m)); },
      [state](DeclineCheckpoint& m) { state->forward(std::move(m)); },
      [state](const EndCheckpoint& m) {
        if (state->is_current(m.attempt)) state->end_checkpoint(m);
      },
      [state](ReportWatermarks& m) { state->forward(std::move(m)); },
      [state](const AlignWatermarks& m) {
        if (state->is_current(m.attempt)) state->align(m);
      },
      [state](const ReportTasks&) { state->report(); },
      [state](const EndTaskHost& m) { state->on_end(m.why); },
  };
}

}  // namespace weir
