#include "dataflow/runtime/task_core.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/limits.h"

namespace weir {
namespace {

std::vector<std::unique_ptr<ChannelSender>> make_senders(
    const std::vector<ExchangeChannels>& exchanges) {
  std::vector<std::unique_ptr<ChannelSender>> senders;
  for (const auto& exchange : exchanges) {
    for (ChannelTransport* transport : exchange.transports) {
      senders.push_back(std::make_unique<ChannelSender>(*transport, exchange.window_bytes));
    }
  }
  return senders;
}

std::vector<std::vector<ChannelSender*>> grouped(
    const std::vector<std::unique_ptr<ChannelSender>>& senders,
    const std::vector<ExchangeChannels>& exchanges) {
  std::vector<std::vector<ChannelSender*>> groups;
  std::size_t next = 0;
  for (const auto& exchange : exchanges) {
    auto& group = groups.emplace_back();
    for (std::size_t i = 0; i < exchange.transports.size(); ++i)
      group.push_back(senders[next++].get());
  }
  return groups;
}

std::vector<std::unique_ptr<ExchangeWriter>> make_writers(
    const ChainSpec& spec, const std::vector<std::vector<ChannelSender*>>& senders, BatchPool& pool,
    std::uint64_t seed) {
  WEIR_CHECK(senders.size() == spec.exchanges.size());
  std::vector<std::unique_ptr<ExchangeWriter>> writers;
  for (std::size_t i = 0; i < senders.size(); ++i) {
    writers.push_back(
        std::make_unique<ExchangeWriter>(spec.exchanges[i], senders[i], pool, seed + i));
  }
  return writers;
}

std::optional<WatermarkValve> make_valve(std::size_t channel_count) {
  return channel_count == 0 ? std::nullopt : std::optional<WatermarkValve>(channel_count);
}

std::optional<BarrierAligner> make_aligner(std::size_t channel_count, CheckpointMode mode) {
  return channel_count == 0 ? std::nullopt
                            : std::optional<BarrierAligner>(std::in_place, channel_count, mode);
}

std::optional<LoopMarkerAligner> make_loop_markers(std::size_t channels) {
  if (channels == 0) return std::nullopt;
  return LoopMarkerAligner(channels);
}

std::vector<std::uint32_t> count_by_port(const std::vector<InputPort>& channels) {
  std::vector<std::uint32_t> counts;
  for (const InputPort port : channels) {
    if (counts.size() <= port.value) counts.resize(port.value + std::size_t{1});
    ++counts[port.value];
  }
  return counts;
}

// A task with so many short steps in a row, of those with something to do, is expected to make another one: a few turns, one of
// them for a record.
constexpr std::chrono::microseconds short_step_time{100};
constexpr std::uint32_t trusted_after = 8;
constexpr int short_step_turns = 4;

struct ExchangeBytes {
  std::uint64_t sent = 0;
  std::uint64_t in_flight = 0;
};

void show(ExchangeBytes bytes, const KeyGroupSample& sample, ExchangeMetrics& metrics) {
  set(metrics.bytes_out, bytes.sent);
  set(metrics.in_flight_bytes, bytes.in_flight);
  set(metrics.sampled_records, sample.records());
  set(metrics.largest_group_records, sample.records_of_largest());
  set(metrics.largest_group, sample.largest().value);
}

}  // namespace

TaskCore::TaskCore(const ChainSpec& spec, Wiring wiring, TaskEnvironment& environment,
                   const Clock& clock, TaskMetrics& metrics)
    : environment_(&environment),
      clock_(&clock),
      metrics_(&metrics),
      senders_(make_senders(wiring.exchanges)),
      senders_of_(grouped(senders_, wiring.exchanges)),
      exchanges_(make_writers(spec, senders_of_, pool_, wiring.random_seed)),
      gate_(wiring.input_channels),
      valve_(make_valve(wiring.input_channels.size())),
      open_channels_of_port_(count_by_port(wiring.input_channels)),
      chain_(spec, std::move(wiring.contexts), exchanges_, pool_, metrics),
      aligner_(make_aligner(wiring.input_channels.size(), wiring.checkpoint_mode)),
      loop_markers_(make_loop_markers(wiring.input_channels.size())),
      is_source_(spec.stages.front().role == StageRole::source),
      splits_overtake_barriers_(wiring.splits_overtake_barriers),
      alignment_(spec) {
  if (!wiring.restored.empty()) chain_.restore(std::move(wiring.restored));
  WEIR_CHECK(is_source_ == wiring.input_channels.empty());
  measure_windows();
}

void TaskCore::set_window(std::uint32_t exchange, std::uint32_t consumer, std::uint64_t bytes) {
  WEIR_CHECK(exchange < senders_of_.size());
  WEIR_CHECK(consumer < senders_of_[exchange].size());
  senders_of_[exchange][consumer]->set_window(bytes);
  measure_windows();
}

void TaskCore::measure_windows() {
  std::uint64_t all = 0;
  for (std::size_t i = 0; i < senders_of_.size(); ++i) {
    std::uint64_t of_exchange = 0;
    for (const ChannelSender* sender : senders_of_[i]) of_exchange += sender->window_bytes();
    if (i < metrics_->exchanges.size()) set(metrics_->exchanges[i].window_bytes, of_exchange);
    all += of_exchange;
  }
  set(metrics_->window_bytes, all);
}

void TaskCore::receive(ChannelIndex channel, ChargedElement content) {
  gate_.put(channel, std::move(content));
  set(metrics_->queued_bytes, gate_.queued_bytes());
}

void TaskCore::add_credit(std::uint32_t exchange, std::uint32_t consumer, std::uint64_t bytes,
                          BatchPtr reusable) {
  WEIR_CHECK(exchange < senders_of_.size());
  WEIR_CHECK(consumer < senders_of_[exchange].size());
  senders_of_[exchange][consumer]->add_credit(bytes);
  if (reusable != nullptr) pool_.put(std::move(reusable));
}

Result<void> TaskCore::add_split(Split split) {
  WEIR_CHECK(splits_ == SplitState::asked && !held_split_);
  const bool behind_barrier = !triggered_.empty() || chain_.head_is_busy();
  if (behind_barrier && !splits_overtake_barriers_) {
    held_split_ = HeldSplit{std::move(split), triggered_.size()};
    return {};
  }
  splits_ = SplitState::unasked;
  return chain_.add_split(std::move(split));
}

void TaskCore::ask_again_at(ProcessingTime time) {
  WEIR_CHECK(splits_ == SplitState::asked);
  splits_ = SplitState::waiting;
  ask_split_at_ = time;
}

Result<void> TaskCore::no_more_splits() {
  WEIR_CHECK(splits_ == SplitState::asked);
  splits_ = SplitState::exhausted;
  return chain_.on_no_more_splits();
}

Result<StepOutcome> TaskCore::step() {
  const MonotonicTime begin = clock_->now();
  end_backpressure(begin);
  set(metrics_->step_began_ns, std::int64_t{begin.time_since_epoch().count()});
  const StepBudget budget(*clock_, limits::step_time_max);
  bool starved = false;
  if (restored_as_finished_) return end_at_once();
  bool works = false;
  int turns = 0;
  do {
    WEIR_TRY(advance_exchanges());
    if (short_steps_ < trusted_after || ++turns > short_step_turns) environment_->step_goes_on();
    if (!is_source_ && !triggered_.empty()) inject_barriers();
    const auto activity = chain_.turn(budget, clock_->processing_time());
    if (!activity) return activity.error();
    acknowledge_snapshots();
    works = works || *activity == ChainActivity::worked;
    if (*activity == ChainActivity::worked) continue;
    const auto fed = feed_head(budget);
    if (!fed) return fed.error();
    works = works || *fed;
    starved = !*fed;
  } while (!starved && !budget.spent());
  report_watermarks();
  for (auto& exchange : exchanges_) exchange->flush_to_idle_receivers();
  settle_consumed();
  if (valve_) set(metrics_->watermark_ms, valve_->current().ms);
  measure_channels();
  const MonotonicTime end = clock_->now();
  add(metrics_->busy_ns, static_cast<std::uint64_t>((end - begin).count()));
  if (works) short_steps_ = end - begin > short_step_time ? 0 : short_steps_ + 1;
  set(metrics_->step_began_ns, std::int64_t{0});
  if (starved && !chain_.wants_input() && !chain_.ended())
    set(metrics_->backpressured_since_ns, std::int64_t{end.time_since_epoch().count()});
  return outcome(starved);
}

void TaskCore::end_backpressure(MonotonicTime now) {
  const std::int64_t since = metrics_->backpressured_since_ns.load(std::memory_order_relaxed);
  if (since == 0) return;
  add(metrics_->backpressured_ns,
      static_cast<std::uint64_t>(now.time_since_epoch().count() - since));
  set(metrics_->backpressured_since_ns, std::int64_t{0});
}

void TaskCore::measure_channels() {
  std::uint64_t sent = 0;
  std::uint64_t in_flight = 0;
  for (std::size_t i = 0; i < senders_of_.size(); ++i) {
    ExchangeBytes bytes;
    for (const ChannelSender* sender : senders_of_[i]) {
      bytes.sent += sender->sent_bytes();
      bytes.in_flight += static_cast<std::uint64_t>(sender->in_flight_bytes());
    }
    sent += bytes.sent;
    in_flight += bytes.in_flight;
    if (i < metrics_->exchanges.size())
      show(bytes, exchanges_[i]->key_groups(), metrics_->exchanges[i]);
  }
  set(metrics_->bytes_out, sent);
  set(metrics_->in_flight_bytes, in_flight);
  set(metrics_->queued_bytes, gate_.queued_bytes());
}

Result<void> TaskCore::advance_exchanges() {
  for (auto& exchange : exchanges_) WEIR_TRY(exchange->advance());
  return {};
}

// The head is done with its batch, or has passed it on: the sender may send as much again.
void TaskCore::settle_consumed() {
  if (!charged_ || chain_.head_is_busy()) return;
  const auto [channel, bytes] = *charged_;
  charged_.reset();
  environment_->return_credit(channel, bytes, chain_.take_consumed());
}

Result<bool> TaskCore::feed_head(const StepBudget& budget) {
  if (!chain_.wants_input()) return false;
  return is_source_ ? poll_source(budget) : Result<bool>(take_from_gate());
}

Result<bool> TaskCore::poll_source(const StepBudget& budget) {
  const ProcessingTime now = clock_->processing_time();
  if (source_ended_) return false;
  if (held_split_ && held_split_->barriers_before == 0) {
    splits_ = SplitState::unasked;
    WEIR_TRY(chain_.add_split(std::exchange(held_split_, std::nullopt)->split));
  }
  if (!triggered_.empty()) {
    chain_.feed(InputPort{0}, Barrier{triggered_.front()});
    triggered_.pop_front();
    if (held_split_) --held_split_->barriers_before;
    return true;
  }
  if (splits_ == SplitState::asked) return false;
  if (splits_ == SplitState::waiting) {
    if (now < ask_split_at_) return false;
    splits_ = SplitState::unasked;
  }
  if (source_idle_until_ && now < *source_idle_until_) return false;
  if (source_waits_for_others()) return false;
  source_idle_until_.reset();

  const auto poll = chain_.poll_source(budget);
  if (!poll) return poll.error();
  set(metrics_->read_units, chain_.read_units());
  switch (poll->result) {
    case PollResult::more:
      return true;
    case PollResult::idle:
      source_idle_until_ = poll->wake_at;
      return true;
    case PollResult::need_split:
      if (splits_ == SplitState::exhausted) break;
      splits_ = SplitState::asked;
      environment_->request_split();
      return true;
    case PollResult::finished:
      break;
  }
  source_ended_ = true;
  chain_.end_source();
  return true;
}

void TaskCore::look_at_watermarks() {
  for (std::size_t i = 0; i < alignment_.size(); ++i) {
    const std::uint32_t stage = alignment_.stage(i);
    alignment_.reach(i, chain_.watermark_of(stage), chain_.is_idle(stage));
  }
}

void TaskCore::report_watermarks() {
  if (alignment_.size() == 0) return;
  look_at_watermarks();
  const ProcessingTime now = clock_->processing_time();
  if (alignment_.report_is_due(now)) environment_->report_watermarks(alignment_.take_report(now));
}

bool TaskCore::source_waits_for_others() {
  if (alignment_.size() == 0) return false;
  look_at_watermarks();
  const auto waits_for = alignment_.waits_for();
  set(metrics_->waits_for_step, waits_for ? waits_for->value + 1 : 0U);
  if (source_paused_ != waits_for.has_value()) {
    source_paused_ = waits_for.has_value();
    chain_.set_source_paused(source_paused_);
  }
  return source_paused_;
}

bool TaskCore::take_from_gate() {
  auto item = gate_.take(chain_.next_input());
  if (!item) return false;
  settle_consumed();
  auto* batch = std::get_if<BatchPtr>(&item->content.element);
  if (batch == nullptr) {
    feed_control(*item);
    return true;
  }
  add(metrics_->records_in, (*batch)->size());
  add(metrics_->bytes_in, item->content.charged_bytes);
  charged_.emplace(item->channel, item->content.charged_bytes);
  chain_.feed(item->port, std::move(*batch));
  return true;
}

void TaskCore::feed_control(const GateItem& item) {
  const Element& element = item.content.element;
  if (const auto* watermark = std::get_if<Watermark>(&element)) {
    feed_valve_output(valve_->on_watermark(item.channel, watermark->time));
  } else if (const auto* status = std::get_if<WatermarkStatus>(&element)) {
    feed_valve_output(valve_->on_status(item.channel, status->idle));
  } else if (const auto* barrier = std::get_if<Barrier>(&element)) {
    act_on(item.channel, aligner_->on_barrier(item.channel, barrier->checkpoint, clock_->now()));
  } else if (const auto* marker = std::get_if<LoopMarker>(&element)) {
    feed_markers(loop_markers_->on_marker(item.channel, *marker));
  } else {
    end_channel(item.channel, item.port);
  }
}

void TaskCore::feed_valve_output(const ValveOutput& output) {
  if (output.watermark) chain_.feed(InputPort{0}, Watermark{*output.watermark});
  if (output.idle) chain_.feed(InputPort{0}, WatermarkStatus{*output.idle});
}

void TaskCore::feed_markers(const std::vector<LoopMarker>& markers) {
  for (const LoopMarker marker : markers) chain_.feed(InputPort{0}, marker);
}

// A channel that ends was all there was to wait for: the barrier goes before the end.
void TaskCore::end_channel(ChannelIndex channel, InputPort port) {
  feed_markers(loop_markers_->on_end_of_input(channel));
  act_on(channel, aligner_->on_end_of_input(channel, clock_->now()));
  feed_valve_output(valve_->on_status(channel, false));
  feed_valve_output(valve_->on_watermark(channel, EventTime::max()));
  if (--open_channels_of_port_[port.value] == 0) chain_.feed(port, EndOfInput{});
}

void TaskCore::abort_checkpoint(CheckpointId checkpoint) {
  const auto aborted = std::ranges::find(triggered_, checkpoint);
  if (aborted != triggered_.end()) {
    const auto position = static_cast<std::size_t>(aborted - triggered_.begin());
    if (held_split_ && position < held_split_->barriers_before) --held_split_->barriers_before;
    triggered_.erase(aborted);
  }
  if (aligner_) act_on({}, aligner_->on_cancel(checkpoint));
  chain_.on_checkpoint_aborted(checkpoint);
}

void TaskCore::act_on(ChannelIndex channel, const Alignment& alignment) {
  for (const CheckpointId aborted : alignment.aborted) environment_->decline(aborted);
  for (const AlignedCheckpoint& complete : alignment.complete) {
    alignments_[complete.id] = complete.alignment;
    chain_.feed(InputPort{0}, Barrier{complete.id});
  }
  if (alignment.unblocks) {
    for (std::uint32_t i = 0; i < gate_.channel_count(); ++i) gate_.set_blocked({i}, false);
  }
  if (alignment.blocks) gate_.set_blocked(channel, true);
}

void TaskCore::inject_barriers() {
  for (const std::uint32_t open : open_channels_of_port_) {
    if (open > 0) return;
  }
  for (const CheckpointId id : std::exchange(triggered_, {})) {
    if (chain_.outlives_inputs()) act_on({}, aligner_->on_injected(id));
  }
  chain_.wake();
}

void TaskCore::acknowledge_snapshots() {
  while (auto snapshot = chain_.take_snapshot()) {
    const auto alignment = alignments_.extract(snapshot->checkpoint);
    environment_->acknowledge({*std::move(snapshot), alignment.empty() ? std::chrono::nanoseconds{}
                                                                       : alignment.mapped()});
  }
}

// Its consumers were restored as of a time when they had everything of this task but the news that it has ended.
StepOutcome TaskCore::end_at_once() {
  if (!std::exchange(end_announced_, true)) {
    for (auto& exchange : exchanges_) {
      exchange->broadcast(Watermark{EventTime::max()});
      exchange->broadcast(EndOfInput{});
    }
  }
  return {everything_left() ? StepOutcome::Kind::finished : StepOutcome::Kind::waiting, {}};
}

StepOutcome TaskCore::outcome(bool starved) {
  if (chain_.ended() && everything_left()) return {StepOutcome::Kind::finished, {}};
  if (!starved) return {StepOutcome::Kind::again, {}};
  auto wake_at = chain_.next_timer();
  const auto consider = [&wake_at](ProcessingTime time) {
    if (!wake_at || time < *wake_at) wake_at = time;
  };
  if (source_idle_until_) consider(*source_idle_until_);
  if (splits_ == SplitState::waiting) consider(ask_split_at_);
  if (const auto report_at = alignment_.next_report()) consider(*report_at);
  return {StepOutcome::Kind::waiting, wake_at};
}

bool TaskCore::everything_left() const {
  return std::ranges::all_of(exchanges_,
                             [](const auto& exchange) { return exchange->drained(); }) &&
         std::ranges::all_of(senders_, [](const auto& sender) { return sender->drained(); });
}

}  // namespace weir
