#include "dataflow/runtime/operator_chain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace weir {
namespace {

// Calls slower than the target halve the rows of the next, faster ones double them.
std::size_t adapted_rows(std::size_t rows, std::size_t asked, std::chrono::nanoseconds took) {
  if (took > 2 * limits::call_time_target) return std::max<std::size_t>(1, rows / 2);
  if (took < limits::call_time_target / 2 && asked == rows) return rows * 2;
  return rows;
}

// What a sink has written may be made durable by user code.
MakeDurable take_unsynced(SinkOperator& sink, const std::string& operator_name) {
  auto unsynced = sink.take_unsynced();
  if (!unsynced) return {};
  return [unsynced = std::move(unsynced), operator_name]() -> Result<void> {
    try {
      return unsynced();
    } catch (...) {
      return user_code_error(operator_name);
    }
  };
}

}  // namespace

OperatorChain::OperatorChain(const ChainSpec& spec, std::vector<OperatorContext> contexts,
                             std::vector<std::unique_ptr<ExchangeWriter>>& exchanges,
                             BatchPool& pool, TaskMetrics& metrics)
    : exchanges_(&exchanges), pool_(&pool), metrics_(&metrics) {
  WEIR_CHECK(!spec.stages.empty());
  WEIR_CHECK(contexts.size() == spec.stages.size());
  stages_.resize(spec.stages.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    Stage& stage = stages_[i];
    stage.spec = &spec.stages[i];
    stage.context = std::move(contexts[i]);
    begin_state(stage, {});
    stage.call_rows = limits::call_rows_at_first;
    stage.open_inputs = static_cast<std::uint32_t>(stage.spec->input_hashers.size());
    for (const PortType& port : stage.spec->outputs) stage.outputs.push_back(port.make_output());
  }
}

OperatorChain::~OperatorChain() {
  close();
}

void OperatorChain::restore(std::vector<RestoredState> states) {
  WEIR_CHECK(states.size() == stages_.size());
  for (std::size_t i = 0; i < stages_.size(); ++i) begin_state(stages_[i], std::move(states[i]));
}

void OperatorChain::begin_state(Stage& stage, RestoredState restored) {
  stage.state = std::make_unique<StateBackend>(stage.context.keys, std::move(restored),
                                               stage.spec->operator_name);
  stage.context.state = stage.state.get();
}

// What a reader has begun or waits to begin is a state of its operator.
Result<void> OperatorChain::open_source(Stage& stage) {
  auto splits = stage.state->list<Split>("splits", StateKind::split_list);
  if (!splits) return splits.error();
  stage.splits = *std::move(splits);
  WEIR_TRY(stage.op->open(stage.context));
  for (const Split& split : *stage.splits) {
    WEIR_TRY(static_cast<SourceOperator&>(*stage.op).add_split(split));
  }
  return {};
}

// What was late before a restore is late after it.
Result<void> OperatorChain::open_keyed(Stage& stage) {
  WEIR_TRY(stage.context.reached.open(*stage.state));
  stage.context.watermark = stage.context.reached.watermark();
  return stage.op->open(stage.context);
}

Result<void> OperatorChain::open() {
  // From the end, so that whatever an operator puts out finds its consumers ready.
  for (std::size_t i = stages_.size(); i-- > 0;) {
    Stage& stage = stages_[i];
    try {
      stage.op = stage.spec->factory();  // copies the user's function
      WEIR_TRY(stage.spec->role == StageRole::source ? open_source(stage)
               : stage.spec->keyed                   ? open_keyed(stage)
                                                     : stage.op->open(stage.context));
      WEIR_TRY(stage.state->check_all_claimed());
    } catch (...) {
      return user_code_error(stage.spec->operator_name);
    }
    stage.opened = true;
  }
  return {};
}

void OperatorChain::close() {
  for (Stage& stage : stages_) {
    if (std::exchange(stage.opened, false)) stage.op->close();
  }
}

bool OperatorChain::wants_input() const {
  const Stage& head = stages_.front();
  return head.slot.empty() && !head.finishing && !head.ended && consumers_have_room(head);
}

void OperatorChain::feed(InputPort port, Element element) {
  WEIR_CHECK(!stages_.front().ended);
  stages_.front().slot.push_back({port, {}, std::move(element)});
}

Result<ChainActivity> OperatorChain::turn(const StepBudget& budget, ProcessingTime now) {
  bool waiting = false;
  for (std::size_t i = stages_.size(); i-- > 0;) {
    Stage& stage = stages_[i];
    if (!has_work(stage, now)) continue;
    const bool waits_outside = stage.waits_outside && !timer_is_due(stage, now);
    if (waits_outside || !consumers_have_room(stage)) {
      waiting = true;
      continue;
    }
    WEIR_TRY(call(stage, budget, now));
    return ChainActivity::worked;
  }
  return waiting ? ChainActivity::stalled : ChainActivity::starved;
}

bool OperatorChain::has_work(const Stage& stage, ProcessingTime now) const {
  return !stage.slot.empty() || stage.finishing || timer_is_due(stage, now);
}

bool OperatorChain::timer_is_due(const Stage& stage, ProcessingTime now) {
  const auto timer = stage.ended ? std::nullopt : stage.op->next_processing_timer();
  return timer && *timer <= now;
}

bool OperatorChain::consumers_have_room(const Stage& stage) const {
  for (const auto& port_targets : stage.spec->targets) {
    for (const ChainTarget& target : port_targets) {
      const bool room = target.kind == ChainTarget::Kind::stage
                            ? stages_[target.index].slot.empty()
                            : (*exchanges_)[target.index]->has_room();
      if (!room) return false;
    }
  }
  return true;
}

Result<void> OperatorChain::call(Stage& stage, const StepBudget& budget, ProcessingTime now) {
  prepare_outputs(stage);
  const SplitIndex split = stage.slot.empty() ? SplitIndex{} : stage.slot.front().split;
  Outputs out(stage.outputs, budget, split);
  set(metrics_->stage_called, static_cast<std::uint32_t>(&stage - stages_.data()));
  try {
    const auto result = dispatch(stage, out, now);
    if (!result) return result.error();
    stage.waits_outside = *result == StepResult::blocked;
  } catch (...) {
    return user_code_error(stage.spec->operator_name);
  }
  WEIR_TRY(deliver(stage, out, split));
  if (stage.finishing && stage.ended) {
    stage.finishing = false;
    deliver_control(stage, EndOfInput{});
  }
  return {};
}

Result<StepResult> OperatorChain::dispatch(Stage& stage, Outputs& out, ProcessingTime now) {
  const auto timer = stage.op->next_processing_timer();
  if (timer && *timer <= now) return stage.op->on_processing_time(now, out);
  if (stage.slot.empty()) {
    WEIR_CHECK(stage.finishing);
    auto result = stage.op->finish(out);
    if (result && *result == StepResult::done) stage.ended = true;
    return result;
  }
  Work& work = stage.slot.front();
  if (const auto* change = std::get_if<SplitChange>(&work.what)) {
    stage.op->on_split_change(*change, out);
    deliver_split_change(stage, *change);
    stage.slot.pop_front();
    return StepResult::done;
  }
  const InputPort port = work.port;
  auto& element = std::get<Element>(work.what);
  if (auto* batch = std::get_if<BatchPtr>(&element)) return process_batch(stage, port, *batch, out);
  auto result = process_control(stage, port, element, out);
  if (result && *result == StepResult::done) stage.slot.pop_front();
  return result;
}

Result<StepResult> OperatorChain::process_batch(Stage& stage, InputPort port, BatchPtr& batch,
                                                Outputs& out) {
  if (stage.position == 0) hash_if_keyed(stage, port, batch);
  const std::size_t size = batch->size();
  const std::size_t end = std::min(size, stage.position + stage.call_rows);
  const std::size_t asked = end - stage.position;
  const Clock& clock = out.budget().clock();
  const MonotonicTime begin = clock.now();
  auto progress = stage.op->process(port, batch, {stage.position, end}, out);
  if (!progress) return progress.error();
  WEIR_CHECK(progress->position >= stage.position);
  WEIR_CHECK(progress->position <= end);
  if (progress->position == end) {
    stage.call_rows = adapted_rows(stage.call_rows, asked, clock.now() - begin);
  }
  stage.position = progress->position;
  if (progress->result == StepResult::done) WEIR_CHECK(stage.position == end);
  if (progress->result == StepResult::done && stage.position == size) element_done(stage);
  return progress->result;
}

Result<StepResult> OperatorChain::process_control(Stage& stage, InputPort port,
                                                  const Element& element, Outputs& out) {
  if (const auto* watermark = std::get_if<Watermark>(&element)) {
    if (!stage.spec->keyed) return stage.op->on_watermark(watermark->time, out);
    GroupWatermarks& reached = stage.context.reached;
    if (watermark->time <= reached.watermark())
      return StepResult::done;  // read again after a restore
    auto result = stage.op->on_watermark(watermark->time, out);
    if (result && *result == StepResult::done) reached.reach(watermark->time);
    return result;
  }
  if (const auto* status = std::get_if<WatermarkStatus>(&element)) {
    return stage.op->on_idle(status->idle, out);
  }
  if (const auto* barrier = std::get_if<Barrier>(&element)) {
    auto ready = stage.op->on_barrier(barrier->checkpoint, out);
    if (!ready || *ready != StepResult::done) return ready;
    WEIR_TRY(snapshot(stage, barrier->checkpoint, out.budget().clock()));
    deliver_control(stage, *barrier);
    return StepResult::done;
  }
  if (const auto* marker = std::get_if<LoopMarker>(&element))
    return stage.op->on_loop_marker(*marker, out);
  WEIR_CHECK(std::holds_alternative<EndOfInput>(element));
  WEIR_CHECK(stage.open_inputs > 0);
  auto result = stage.op->on_end_of_input(port, out);
  if (result && *result == StepResult::done && --stage.open_inputs == 0) stage.finishing = true;
  return result;
}

// Barriers keep their order, so the first snapshot that this stage is not in yet is the one.
Result<void> OperatorChain::snapshot(Stage& stage, CheckpointId checkpoint, const Clock& clock) {
  auto at = std::ranges::find(snapshots_, checkpoint, &Snapshot::checkpoint);
  if (at == snapshots_.end()) at = snapshots_.insert(at, Snapshot{checkpoint, {}, {}, {}, {}});
  const MonotonicTime begin = clock.now();
  WEIR_TRY(stage.op->prepare_snapshot(checkpoint));
  if (stage.spec->role == StageRole::sink) {
    auto& sink = static_cast<SinkOperator&>(*stage.op);
    auto committables = sink.prepare_commit();
    if (!committables) return committables.error();
    at->commits.push_back({stage.spec->node, std::move(*committables)});
    if (auto unsynced = take_unsynced(sink, stage.spec->operator_name))
      at->to_make_durable.push_back(std::move(unsynced));
  }
  if (stage.splits != nullptr)
    *stage.splits = static_cast<const SourceOperator&>(*stage.op).snapshot_splits();
  if (stage.spec->keyed) stage.context.reached.prepare_snapshot();
  at->stages.push_back({stage.spec->node, stage.state->freeze()});
  at->sync_time += clock.now() - begin;
  return {};
}

Result<FrozenState> OperatorChain::freeze(std::size_t index) {
  Stage& stage = stages_[index];
  WEIR_TRY(stage.op->prepare_snapshot({}));
  if (stage.spec->keyed) stage.context.reached.prepare_snapshot();
  return stage.state->freeze();
}

std::optional<OperatorChain::Snapshot> OperatorChain::take_snapshot() {
  if (snapshots_.empty() || snapshots_.front().stages.size() < stages_.size()) return std::nullopt;
  Snapshot complete = std::move(snapshots_.front());
  snapshots_.pop_front();
  return complete;
}

Result<void> OperatorChain::on_checkpoint_complete(CheckpointId checkpoint) {
  for (Stage& stage : stages_) {
    if (!stage.opened || stage.ended) continue;
    try {
      WEIR_TRY(stage.op->on_checkpoint_complete(checkpoint));
    } catch (...) {
      return user_code_error(stage.spec->operator_name);
    }
  }
  return {};
}

void OperatorChain::on_checkpoint_aborted(CheckpointId checkpoint) {
  for (Stage& stage : stages_) {
    if (stage.opened && !stage.ended) stage.op->on_checkpoint_aborted(checkpoint);
  }
  wake();
}

void OperatorChain::hash_if_keyed(Stage& stage, InputPort port, BatchPtr& batch) {
  const auto& hasher = stage.spec->input_hashers[port.value];
  if (hasher == nullptr || batch->key_tag == hasher->tag()) return;
  AnyBatch& own = writable(batch);
  hasher->hash_keys(own, own.hashes);
  own.key_tag = hasher->tag();
}

void OperatorChain::element_done(Stage& stage) {
  BatchPtr batch = std::move(std::get<BatchPtr>(std::get<Element>(stage.slot.front().what)));
  stage.slot.pop_front();
  stage.position = 0;
  if (batch == nullptr) return;  // passed on
  if (&stage == &stages_.front()) {
    if (is_unique(batch)) {
      batch->clear();
      consumed_ = std::move(batch);
    }
  } else {
    pool_->put(std::move(batch));
  }
}

void OperatorChain::prepare_outputs(Stage& stage) {
  for (std::size_t i = 0; i < stage.outputs.size(); ++i) {
    if (stage.outputs[i]->wants_batch()) {
      stage.outputs[i]->reuse(pool_->get(*stage.spec->outputs[i].batch));
    }
  }
}

Result<void> OperatorChain::deliver(Stage& stage, const Outputs& out, SplitIndex split) {
  for (std::size_t port = 0; port < stage.outputs.size(); ++port) {
    if (stage.outputs[port]->empty()) continue;
    BatchPtr batch = stage.outputs[port]->take();
    if (&stage == &stages_.front()) add(metrics_->head_records_out, batch->size());
    const auto& targets = stage.spec->targets[port];
    for (std::size_t i = 0; i + 1 < targets.size(); ++i)
      WEIR_TRY(hand_over(targets[i], batch, split));
    if (targets.empty()) {
      pool_->put(std::move(batch));  // a side output that nobody reads
    } else {
      WEIR_TRY(hand_over(targets.back(), std::move(batch), split));
    }
  }
  stage.watermark = out.watermark().value_or(stage.watermark);
  stage.idle = out.idle().value_or(stage.idle);
  // A channel's watermark counts while it is active.
  if (out.idle() == false) deliver_control(stage, WatermarkStatus{false});
  if (out.watermark()) deliver_control(stage, Watermark{*out.watermark()});
  if (out.idle() == true) deliver_control(stage, WatermarkStatus{true});
  if (out.loop_marker()) deliver_control(stage, *out.loop_marker());
  return {};
}

Result<void> OperatorChain::hand_over(const ChainTarget& target, BatchPtr batch, SplitIndex split) {
  if (target.kind == ChainTarget::Kind::stage) {
    Stage& to = stages_[target.index];
    to.slot.push_back(
        {InputPort{0}, to.spec->keeps_splits ? split : SplitIndex{}, Element{std::move(batch)}});
    return {};
  }
  add(metrics_->records_out, batch->size());
  if (target.index < metrics_->exchanges.size())
    add(metrics_->exchanges[target.index].records_out, batch->size());
  ExchangeWriter& exchange = *(*exchanges_)[target.index];
  try {
    return exchange.write(std::move(batch));
  } catch (...) {
    return user_code_error(exchange.consumer_name());  // its key function or partitioner
  }
}

void OperatorChain::deliver_split_change(Stage& stage, const SplitChange& change) {
  for (const auto& port_targets : stage.spec->targets) {
    for (const ChainTarget& target : port_targets) {
      if (target.kind == ChainTarget::Kind::stage && stages_[target.index].spec->keeps_splits)
        stages_[target.index].slot.push_back({InputPort{0}, {}, change});
    }
  }
}

void OperatorChain::deliver_control(Stage& stage, const Element& control) {
  for (const auto& port_targets : stage.spec->targets) {
    for (const ChainTarget& target : port_targets) {
      if (target.kind == ChainTarget::Kind::stage) {
        stages_[target.index].slot.push_back({InputPort{0}, {}, control});
      } else {
        const auto* watermark = std::get_if<Watermark>(&control);
        if (watermark != nullptr && stages_.front().spec->role == StageRole::source)
          set(metrics_->watermark_ms, watermark->time.ms);
        (*exchanges_)[target.index]->broadcast(control);
      }
    }
  }
}

SourceOperator& OperatorChain::source() {
  WEIR_CHECK(stages_.front().spec->role == StageRole::source);
  return static_cast<SourceOperator&>(*stages_.front().op);
}

template <class Call>
Result<void> OperatorChain::call_source(Call call) {
  try {
    return call(source());
  } catch (...) {
    return user_code_error(stages_.front().spec->operator_name);
  }
}

Result<void> OperatorChain::add_split(Split split) {
  return call_source([&](SourceOperator& source) { return source.add_split(std::move(split)); });
}

Result<void> OperatorChain::on_no_more_splits() {
  return call_source([](SourceOperator& source) -> Result<void> {
    source.on_no_more_splits();
    return {};
  });
}

Result<Poll> OperatorChain::poll_source(const StepBudget& budget) {
  Stage& head = stages_.front();
  WEIR_CHECK(wants_input());
  prepare_outputs(head);
  Outputs out(head.outputs, budget);
  set(metrics_->stage_called, 0U);
  auto poll = [&]() -> Result<Poll> {
    try {
      return source().poll(out);
    } catch (...) {
      return user_code_error(head.spec->operator_name);
    }
  }();
  if (!poll) return poll;
  const SourceOperator::SplitNews news = source().take_split_news();
  for (const SplitBegun& begun : news.begun) deliver_split_change(head, begun);
  WEIR_TRY(deliver(head, out, news.of_records));
  for (const SplitEnded& ended : news.ended) deliver_split_change(head, ended);
  return poll;
}

void OperatorChain::end_source() {
  Stage& head = stages_.front();
  WEIR_CHECK(head.slot.empty());
  head.slot.push_back({InputPort{0}, {}, Watermark{EventTime::max()}});
  head.finishing = true;
}

void OperatorChain::set_source_paused(bool paused) {
  for (Stage& stage : stages_) {
    if (!stage.ended) stage.op->on_source_paused(paused);
  }
}

std::optional<ProcessingTime> OperatorChain::next_timer() const {
  std::optional<ProcessingTime> earliest;
  for (const Stage& stage : stages_) {
    const auto timer = stage.ended ? std::nullopt : stage.op->next_processing_timer();
    if (timer && (!earliest || *timer < *earliest)) earliest = timer;
  }
  return earliest;
}

void OperatorChain::wake() {
  for (Stage& stage : stages_) stage.waits_outside = false;
}

bool OperatorChain::ended() const {
  return std::ranges::all_of(stages_, &Stage::ended);
}

Result<std::vector<OperatorChain::SinkCommit>> OperatorChain::prepare_commit() {
  WEIR_CHECK(ended());
  std::vector<SinkCommit> commits;
  for (Stage& stage : stages_) {
    if (stage.spec->role != StageRole::sink) continue;
    auto& sink = static_cast<SinkOperator&>(*stage.op);
    try {
      auto committables = sink.prepare_commit();
      if (!committables) return committables.error();
      commits.push_back({stage.spec->node, std::move(*committables)});
      if (const auto unsynced = take_unsynced(sink, stage.spec->operator_name))
        WEIR_TRY(unsynced());
    } catch (...) {
      return user_code_error(stage.spec->operator_name);
    }
  }
  return commits;
}

}  // namespace weir
