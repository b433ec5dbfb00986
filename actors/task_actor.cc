#include "actors/task_actor.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "actors/commit_limit.h"
#include "base/check.h"

namespace weir {

void TaskChannel::send(Element element, std::uint64_t charged_bytes) {
  if (const auto* local = std::get_if<TaskHandle>(&peer_)) {
    const HandOver to_the_peer;
    self_->send(*local,
                DeliverElement{
                    deployment_->attempt, {consumer_.index}, {std::move(element), charged_bytes}});
  } else {
    send_frame(std::get<RemoteTask>(peer_).host, std::move(element), charged_bytes);
  }
}

void TaskChannel::send_frame(HostIndex host, Element element, std::uint64_t charged_bytes) {
  ElementFrame frame{.vertex = consumer_.vertex,
                     .subtask = consumer_.subtask,
                     .channel = {consumer_.index},
                     .kind = ElementKind::end_of_input,
                     .time_ms = 0,
                     .idle = false,
                     .checkpoint = {},
                     .active = false,
                     .charged_bytes = charged_bytes,
                     .payload = {}};
  if (auto* batch = std::get_if<BatchPtr>(&element)) {
    frame.kind = ElementKind::batch;
    frame.payload = deployment_->data_plane->take_buffer();
    frame.payload.reserve((*batch)->bytes() + 64);
    ByteWriter writer(frame.payload);
    (*batch)->encode(writer);
    (*pool_)->put(std::move(*batch));
  } else if (const auto* watermark = std::get_if<Watermark>(&element)) {
    frame.kind = ElementKind::watermark;
    frame.time_ms = watermark->time.ms;
  } else if (const auto* status = std::get_if<WatermarkStatus>(&element)) {
    frame.kind = ElementKind::watermark_status;
    frame.idle = status->idle;
  } else if (const auto* barrier = std::get_if<Barrier>(&element)) {
    frame.kind = ElementKind::barrier;
    frame.checkpoint = barrier->checkpoint;
  } else if (const auto* marker = std::get_if<LoopMarker>(&element)) {
    frame.kind = ElementKind::loop_marker;
    frame.active = marker->active;
    frame.checkpoint = marker->checkpoint;
  }
  const auto sent = deployment_->data_plane->send_element(host, std::move(frame));
  if (!sent && !*failure_) *failure_ = sent.error();
}

void TaskActor::deploy(TaskHandle::base* self, TaskHandle handle, const EngineContext& engine,
                       TaskDeployment deployment) {
  self_ = self;
  handle_ = std::move(handle);
  engine_ = &engine;
  deployment_ = std::move(deployment);
  log_ =
      engine.logger.about("job " + deployment_.plan->logical.job_name)
          .about(deployment_.probe->name + " attempt " + std::to_string(deployment_.attempt.value));

  const PhysicalPlan& plan = *deployment_.plan;
  const auto [vertex, subtask] = deployment_.task;
  TaskCore::Wiring wiring{
      .contexts = make_contexts(),
      .input_channels = input_channel_ports(plan, vertex, subtask),
      .exchanges = {},
      .random_seed = deployment_.job.value ^ (std::uint64_t{vertex.value} << 32) ^ subtask.value,
      .checkpoint_mode = deployment_.settings.checkpoints.mode,
      .splits_overtake_barriers =
          engine.faults != nullptr && engine.faults->splits_overtake_barriers()};
  for (const auto& lanes : output_channels(plan, vertex, subtask)) {
    auto& exchange = wiring.exchanges.emplace_back();
    for (const ChannelEnd& consumer : lanes) {
      exchange.window_bytes = channel_window_bytes(plan, consumer.vertex);
      channels_.push_back(
          std::make_unique<TaskChannel>(self, deployment_, pool_, send_failure_, consumer));
      exchange.transports.push_back(channels_.back().get());
    }
  }
  core_ = std::make_unique<TaskCore>(plan.vertex(vertex).chain, std::move(wiring), *this,
                                     *engine.clock, deployment_.probe->metrics);
  pool_ = &core_->pool();
  for (const ChannelEnd& end : input_channels(plan, vertex, subtask)) {
    producers_.push_back({end, {}, &batch_type_of_exchange(plan, end.vertex, end.exchange)});
  }
}

std::vector<OperatorContext> TaskActor::make_contexts() {
  const Vertex& vertex = deployment_.plan->vertex(deployment_.task.vertex);
  const SubtaskIndex subtask = deployment_.task.subtask;
  const KeyGroupSlice keys{key_group_range_of(subtask, vertex.parallelism, vertex.max_parallelism),
                           vertex.max_parallelism};
  std::vector<OperatorContext> contexts;
  for (std::size_t i = 0; i < vertex.chain.stages.size(); ++i) {
    contexts.push_back({.job_name = deployment_.plan->logical.job_name,
                        .operator_name = vertex.chain.stages[i].operator_name,
                        .subtask = subtask,
                        .parallelism = vertex.parallelism,
                        .keys = keys,
                        .attempt = deployment_.attempt,
                        .clock = engine_->clock,
                        .metrics = &deployment_.probe->operators[i],
                        .reached = {},
                        .strict = deployment_.settings.strict,
                        .warn = [log = log_](const std::string& text) { log.warning(text); },
                        .waker =
                            [task = caf::actor_cast<caf::weak_actor_ptr>(handle_)] {
                              if (auto strong = caf::actor_cast<caf::strong_actor_ptr>(task)) {
                                caf::anon_send(caf::actor_cast<caf::actor>(strong), WakeTask{});
                              }
                            }});
  }
  return contexts;
}

void TaskActor::wire(const WireTask& wiring) {
  WEIR_CHECK(wiring.producers.size() == producers_.size());
  for (std::size_t i = 0; i < producers_.size(); ++i) producers_[i].peer = wiring.producers[i];
  std::size_t next = 0;
  for (std::uint32_t exchange = 0; exchange < wiring.consumers.size(); ++exchange) {
    const auto& lanes = wiring.consumers[exchange];
    for (std::uint32_t lane = 0; lane < lanes.size(); ++lane) {
      channels_[next++]->connect(lanes[lane]);
      const auto* remote = std::get_if<RemoteTask>(&lanes[lane]);
      if (remote == nullptr) continue;
      core_->set_window(exchange, lane,
                        remote_channel_window_bytes(*deployment_.plan, remote->task.vertex));
    }
  }
}

void TaskActor::start() {
  if (ended_ || running_) return;
  report(TaskState::initializing);
  if (const auto restored = restore(); !restored)
    return fail(RestorePoint::about(restored.error()));
  if (const auto opened = core_->open(); !opened) {
    return fail(deployment_.restore ? RestorePoint::about(opened.error()) : opened.error());
  }
  running_ = true;
  report(TaskState::running);
  schedule_step();
}

// Reads files: this is what the state "initializing" is for.
Result<void> TaskActor::restore() {
  if (!deployment_.restore) return {};
  const Vertex& vertex = deployment_.plan->vertex(deployment_.task.vertex);
  const SubtaskIndex subtask = deployment_.task.subtask;
  std::vector<RestoredState> restored;
  for (const ChainStage& stage : vertex.chain.stages) {
    const KeyGroupSlice keys{
        key_group_range_of(subtask, vertex.parallelism, vertex.max_parallelism),
        vertex.max_parallelism};
    auto state =
        deployment_.restore.state_of(stage.operator_name, subtask, vertex.parallelism, keys);
    if (!state) return state.error();
    restored.push_back(*std::move(state));
  }
  std::vector<std::string> operators;
  for (const ChainStage& stage : vertex.chain.stages) operators.push_back(stage.operator_name);
  core_->restore(std::move(restored),
                 deployment_.restore.has_finished(operators, subtask, vertex.parallelism));
  return {};
}

void TaskActor::cancel(const CancelTask& cancel) {
  if (ended_) return;
  if (cancel.error) return fail(*cancel.error);
  end(TaskState::canceled, {}, {});
}

void TaskActor::receive(DeliverElement& delivery) {
  if (ended_) return;
  core_->receive(delivery.channel, std::move(delivery.content));
  step_soon();
}

void TaskActor::receive(DeliverFrame& delivery) {
  if (ended_) return;
  auto element = decode(delivery.frame);
  if (!element) return fail(element.error());
  if (delivery.frame.kind == ElementKind::batch)
    deployment_.data_plane->recycle(std::move(delivery.frame.payload));
  core_->receive(delivery.frame.channel, {*std::move(element), delivery.frame.charged_bytes});
  step_soon();
}

Result<Element> TaskActor::decode(ElementFrame& frame) {
  const auto damaged = [&](const std::string& what) {
    return Error{Errc::corrupt_data, "what came over the network does not decode: " + what};
  };
  if (frame.channel.value >= producers_.size()) return damaged("a channel that does not exist");
  if (core_->gate().has_ended(frame.channel)) return damaged("an element behind the last");
  switch (frame.kind) {
    case ElementKind::batch: {
      BatchPtr batch = pool_->get(*producers_[frame.channel.value].batch);
      ByteReader reader(frame.payload);
      if (const auto done = batch->decode(reader); !done) return damaged(done.error().message);
      return Element{std::move(batch)};
    }
    case ElementKind::watermark:
      return Element{Watermark{{frame.time_ms}}};
    case ElementKind::watermark_status:
      return Element{WatermarkStatus{frame.idle}};
    case ElementKind::end_of_input:
      return Element{EndOfInput{}};
    case ElementKind::barrier:
      return Element{Barrier{frame.checkpoint}};
    case ElementKind::loop_marker:
      return Element{LoopMarker{frame.active, frame.checkpoint}};
  }
  return damaged("an unknown kind of element");
}

void TaskActor::credit(ReturnCredit& credit) {
  if (ended_) return;
  core_->add_credit(credit.exchange, credit.lane, credit.bytes, std::move(credit.reusable));
  step_soon();
}

void TaskActor::assign(const AssignSplit& answer) {
  if (ended_) return;
  if (answer.error) return fail(*answer.error);
  if (const auto* split = std::get_if<Split>(&*answer.assignment)) {
    if (const auto added = core_->add_split(*split); !added) return fail(added.error());
  } else if (const auto* later = std::get_if<NoSplitYet>(&*answer.assignment)) {
    core_->ask_again_at(engine_->clock->processing_time() + later->ask_after);
  } else if (const auto told = core_->no_more_splits(); !told) {
    return fail(told.error());
  }
  schedule_step();
}

void TaskActor::step() {
  step_scheduled_ = false;
  if (ended_ || !running_ || finished_) return;
  if (engine_->faults != nullptr) {
    if (const auto error = engine_->faults->fails(deployment_.task)) return fail(*error);
  }
  const auto outcome = core_->step();
  if (!outcome) return fail(outcome.error());
  if (send_failure_) return fail(*send_failure_);
  switch (outcome->kind) {
    case StepOutcome::Kind::again:
      schedule_step();
      break;
    case StepOutcome::Kind::waiting:
      if (outcome->wake_at) schedule_step_at(*outcome->wake_at);
      break;
    case StepOutcome::Kind::finished:
      finish();
      break;
  }
}

void TaskActor::wake() {
  if (ended_) return;
  core_->wake();
  schedule_step();
}

// At once if nothing else has arrived, which saves an idle task a message.
void TaskActor::step_soon() {
  if (step_scheduled_ || !running_) return;
  if (self_->mailbox().empty()) return step();
  schedule_step();
}

// A message to itself, so that whatever else has arrived is seen between two steps.
void TaskActor::schedule_step() {
  if (step_scheduled_ || !running_) return;
  step_scheduled_ = true;
  self_->send(handle_, TaskStep{});
}

void TaskActor::schedule_step_at(ProcessingTime time) {
  const ProcessingTime now = engine_->clock->processing_time();
  if (time <= now) return schedule_step();
  if (wake_at_ && *wake_at_ > now && *wake_at_ <= time) return;  // an earlier one is under way
  // A step that finds nothing to do asks again; no clock can wait until the end of time.
  wake_at_ = std::min(time, now + std::chrono::hours{24});
  NextActor::of_this_thread().afterwards(
      [handle = handle_, at = *wake_at_, clock = engine_->clock] {
        const Duration wait = at - clock->processing_time();
        caf::delayed_anon_send(handle, std::max(wait, Duration{0}), TaskStep{});
      });
}

void TaskActor::trigger(const InjectBarrier& barrier) {
  if (ended_) return;
  core_->trigger_checkpoint(barrier.checkpoint);
  schedule_step();
}

void TaskActor::align(const AlignWatermarks& answer) {
  if (ended_ || (engine_->faults != nullptr && engine_->faults->loses_answer(answer))) return;
  core_->align(answer.least);
  schedule_step();
}

void TaskActor::report_watermarks(std::vector<StepWatermark> reached) {
  ReportWatermarks report{deployment_.attempt, deployment_.task, std::move(reached)};
  if (engine_->faults != nullptr && engine_->faults->loses_report(report)) return;
  self_->send(deployment_.host, std::move(report));
}

void TaskActor::end_checkpoint(const EndCheckpoint& end) {
  if (ended_ || !running_) return;
  if (end.completed) {
    if (const auto done = core_->complete_checkpoint(end.checkpoint); !done)
      return fail(done.error());
  } else {
    core_->abort_checkpoint(end.checkpoint);
  }
  schedule_step();
}

void TaskActor::acknowledge(FrozenTask frozen) {
  const Vertex& vertex = deployment_.plan->vertex(deployment_.task.vertex);
  const auto& nodes = deployment_.plan->logical.nodes;
  const auto micros = [](std::chrono::nanoseconds time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time);
  };
  const CheckpointId checkpoint = frozen.chain.checkpoint;
  if (const auto fits = check_size(frozen.chain.commits); !fits) {
    send_failure_ = fits.error();
    return;
  }
  Acknowledgement& pending = being_written_[checkpoint];
  pending.times.alignment = micros(frozen.alignment);
  pending.times.sync = micros(frozen.chain.sync_time);
  for (auto& commit : frozen.chain.commits) {
    OperatorCommittables& of_sink = pending.committables.emplace_back();
    of_sink.operator_name = nodes[commit.node.value].name;
    for (Committable& one : commit.committables)
      of_sink.committables.push_back(std::move(one.bytes));
  }
  auto operators = std::make_shared<std::vector<OperatorFrozen>>();
  for (auto& stage : frozen.chain.stages) {
    operators->push_back({nodes[stage.node.value].name, deployment_.task.subtask,
                          vertex.parallelism, vertex.max_parallelism, std::move(stage.state)});
  }
  self_->send(deployment_.state_writer,
              WriteState{checkpoint,
                         state_file_name({deployment_.task.vertex, deployment_.task.subtask},
                                         deployment_.attempt),
                         std::move(operators), std::move(frozen.chain.to_make_durable),
                         stop_writing_.get_token(), handle_});
}

void TaskActor::decline(CheckpointId checkpoint) {
  self_->send(deployment_.host,
              DeclineCheckpoint{deployment_.attempt, deployment_.task, checkpoint,
                                Error{Errc::cancelled, "a newer checkpoint's barrier came first"}});
}

void TaskActor::on_written(const StateWritten& written) {
  const auto pending = being_written_.extract(written.checkpoint);
  if (pending.empty()) return;
  if (ended_) {
    if (last_word_ && being_written_.empty()) leave(*std::exchange(last_word_, {}));
    return;
  }
  if (written.output_error) return fail(*written.output_error);
  if (written.error) {
    self_->send(deployment_.host, DeclineCheckpoint{deployment_.attempt, deployment_.task,
                                                    written.checkpoint, *written.error});
  }
  // What its sinks have prepared is told in any case: the next checkpoint commits it.
  AcknowledgeCheckpoint acknowledgement{deployment_.attempt, deployment_.task, written.checkpoint,
                                        written.snapshot};
  acknowledgement.snapshot.committables = std::move(pending.mapped().committables);
  const auto async = written.snapshot.times.async;
  acknowledgement.snapshot.times = pending.mapped().times;
  acknowledgement.snapshot.times.async = async;
  const bool lost = engine_->faults != nullptr &&
                    engine_->faults->loses_checkpoint_acknowledgement(acknowledgement);
  if (!lost) self_->send(deployment_.host, std::move(acknowledgement));
  if (finished_ && being_written_.empty()) finish();
}

// An acknowledgement that is still to come would say less than that it has finished.
void TaskActor::finish() {
  step_goes_on();  // with user code, and the disk
  finished_ = true;
  if (!being_written_.empty()) return;
  auto commits = core_->prepare_commit();
  if (!commits) return fail(commits.error());
  if (const auto fits = check_size(*commits); !fits) return fail(fits.error());
  end(TaskState::finished, {}, std::move(*commits));
}

Result<void> TaskActor::check_size(const std::vector<OperatorChain::SinkCommit>& commits) const {
  for (const auto& commit : commits) {
    WEIR_TRY(check_commit_of_task(deployment_.plan->logical.nodes[commit.node.value].name,
                                  bytes_of(commit.committables)));
  }
  return {};
}

void TaskActor::fail(const Error& error) {
  log_.info("FAILED: " + error.message);  // whoever submitted the job is told, too
  end(TaskState::failed, error, {});
}

void TaskActor::end(TaskState state, std::optional<Error> error,
                    std::vector<OperatorChain::SinkCommit> commits) {
  step_goes_on();
  ended_ = true;
  core_->close();
  TaskChanged last_word{deployment_.attempt, deployment_.task,   state,
                        std::move(error),    std::move(commits), {}};
  if (being_written_.empty()) return leave(std::move(last_word));
  stop_writing_.request_stop();
  last_word_ = std::move(last_word);
}

// When all tasks have ended, what is left of checkpoints is removed: nothing may be written then.
void TaskActor::leave(TaskChanged last_word) {
  report(std::move(last_word));
  self_->quit();
}

void TaskActor::report(TaskState state) {
  report(TaskChanged{deployment_.attempt, deployment_.task, state, {}, {}, {}});
}

void TaskActor::report(TaskChanged change) {
  log_.debug(name_of(change.state));
  if (engine_->faults != nullptr && engine_->faults->loses_acknowledgement(change)) return;
  self_->send(deployment_.host, std::move(change));
}

// A batch that came over the network was made here, and goes back to this task's own pool.
void TaskActor::return_credit(ChannelIndex channel, std::uint64_t bytes, BatchPtr reusable) {
  const Producer& producer = producers_[channel.value];
  const bool local = std::holds_alternative<TaskHandle>(producer.peer);
  ReturnCredit credit{deployment_.attempt, producer.end.exchange, producer.end.index, bytes,
                      local ? std::move(reusable) : nullptr};
  if (engine_->faults != nullptr && engine_->faults->loses_credit(credit)) return;
  if (local) {
    NextActor::of_this_thread().afterwards(
        [peer = std::get<TaskHandle>(producer.peer), credit = std::move(credit)]() mutable {
          caf::anon_send(peer, std::move(credit));
        });
    return;
  }
  if (reusable != nullptr) pool_->put(std::move(reusable));
  deployment_.data_plane->send_credit(std::get<RemoteTask>(producer.peer).host,
                                      {.vertex = producer.end.vertex,
                                       .subtask = producer.end.subtask,
                                       .exchange = credit.exchange,
                                       .lane = credit.lane,
                                       .bytes = bytes});
}

void TaskActor::step_goes_on() {
  NextActor::of_this_thread().let_go(self_->context());
}

void TaskActor::request_split() {
  const NodeId source = deployment_.plan->vertex(deployment_.task.vertex).chain.stages.front().node;
  self_->send(deployment_.host, RequestSplit{deployment_.attempt, source, deployment_.task});
}

TaskHandle::behavior_type task_actor(FairActor<TaskActor, TaskHandle>* self,
                                     const EngineContext* engine, TaskDeployment deployment) {
  auto* state = &self->state;
  state->deploy(self, caf::actor_cast<TaskHandle>(self), *engine, std::move(deployment));
  return {
      [state](const WireTask& m) {
        if (state->is_current(m.attempt)) state->wire(m);
      },
      [state](const StartTask& m) {
        if (state->is_current(m.attempt)) state->start();
      },
      [state](const CancelTask& m) {
        if (state->is_current(m.attempt)) state->cancel(m);
      },
      [state](DeliverElement& m) {
        if (state->is_current(m.attempt)) state->receive(m);
      },
      [state](DeliverFrame& m) {
        if (state->is_current(m.attempt)) state->receive(m);
      },
      [state](ReturnCredit& m) {
        if (state->is_current(m.attempt)) state->credit(m);
      },
      [state](const AssignSplit& m) {
        if (state->is_current(m.attempt)) state->assign(m);
      },
      [state](const InjectBarrier& m) {
        if (state->is_current(m.attempt)) state->trigger(m);
      },
      [state](const EndCheckpoint& m) {
        if (state->is_current(m.attempt)) state->end_checkpoint(m);
      },
      [state](const StateWritten& m) { state->on_written(m); },
      [state](const AlignWatermarks& m) {
        if (state->is_current(m.attempt)) state->align(m);
      },
      [state](const TaskStep&) { state->step(); },
      [state](const WakeTask&) { state->wake(); },
  };
}

}  // namespace weir
