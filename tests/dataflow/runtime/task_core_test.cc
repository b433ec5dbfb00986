#include "dataflow/runtime/task_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/operators/process.h"
#include "dataflow/operators/stateless.h"
#include "tests/dataflow/runtime/recording_transport.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
constexpr std::uint64_t wide = std::uint64_t{1} << 40;
using Kind = StepOutcome::Kind;

// Records what a task asks for.
class Environment final : public TaskEnvironment {
 public:
  void return_credit(ChannelIndex channel, std::uint64_t bytes, BatchPtr reusable) override {
    credits.emplace_back(channel.value, bytes);
    if (reusable != nullptr) ++reusable_batches;
  }
  void request_split() override { ++split_requests; }
  void acknowledge(FrozenTask frozen) override { acknowledged.push_back(std::move(frozen)); }
  void decline(CheckpointId checkpoint) override { declined.push_back(checkpoint); }
  void report_watermarks(std::vector<StepWatermark>) override {}
  void step_goes_on() override { ++told_to_go_on; }
  std::vector<FrozenTask> acknowledged;
  std::vector<CheckpointId> declined;

  std::vector<std::pair<std::uint32_t, std::uint64_t>> credits;
  int reusable_batches = 0;
  int split_requests = 0;
  int told_to_go_on = 0;
};

ChainStage stage(OperatorFactory factory, std::size_t inputs) {
  ChainStage stage;
  stage.operator_name = "step";
  stage.factory = std::move(factory);
  stage.outputs = {port_type_of<int>()};
  stage.targets = {{{ChainTarget::Kind::exchange, 0}}};
  stage.input_hashers.resize(inputs);
  return stage;
}

// A task of one operator with one outgoing channel.
class Task {
 public:
  Task(ChainStage head, std::vector<InputPort> inputs, std::uint64_t window = wide) {
    spec_.stages.push_back(std::move(head));
    spec_.exchanges.emplace_back();
    TaskCore::Wiring wiring;
    wiring.contexts.resize(1);
    wiring.contexts[0].operator_name = "step";
    wiring.contexts[0].metrics = &operator_metrics_;
    wiring.contexts[0].clock = &clock;
    wiring.input_channels = std::move(inputs);
    wiring.exchanges = {{{&out}, window}};
    core_ = std::make_unique<TaskCore>(spec_, std::move(wiring), environment, clock, metrics);
    EXPECT_TRUE(core_->open());
  }

  [[nodiscard]] TaskCore& core() { return *core_; }
  [[nodiscard]] Kind step() {
    const auto outcome = core_->step();
    EXPECT_TRUE(outcome);
    wake_at = outcome->wake_at;
    return outcome->kind;
  }
  void receive(std::uint32_t channel, Element element, std::uint64_t charged = 0) {
    core_->receive({channel}, {std::move(element), charged});
  }
  void receive(std::uint32_t channel, std::vector<int> values) {
    receive(channel, batch_of(std::move(values)), 100);
  }
  // Of the oldest batch that left; returns whether there was one.
  bool return_credit() {
    if (returned_ == out.batch_count()) return false;
    core_->add_credit(0, 0, out.batches()[returned_++]->bytes(), nullptr);
    return true;
  }
  void end(std::uint32_t channel) { receive(channel, EndOfInput{}); }

  RecordingTransport out;
  Environment environment;
  ManualClock clock;
  TaskMetrics metrics{1};
  std::optional<ProcessingTime> wake_at;

 private:
  ChainSpec spec_;
  OperatorMetrics operator_metrics_;
  std::unique_ptr<TaskCore> core_;
  std::size_t returned_ = 0;
};

constexpr auto same = [](int x) { return x; };
ChainStage pass_on() {
  return stage([] { return std::make_unique<MapOperator<int, int, decltype(same)>>(same); }, 1);
}

TEST(TaskCore, gives_back_what_was_charged_with_the_batch_when_its_head_has_consumed_it) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}});
  task.receive(1, batch_of(std::vector{1}), 12'345);
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.credits,
            (std::vector<std::pair<std::uint32_t, std::uint64_t>>{{1, 12'345}}));
  EXPECT_EQ(task.environment.reusable_batches, 1);
  EXPECT_EQ(task.out.values<int>(), (std::vector{1}));
  EXPECT_EQ(task.metrics.records_in.load(), 1U);
  EXPECT_EQ(task.metrics.records_out.load(), 1U);
}

TEST(TaskCore, says_that_a_step_goes_on_until_some_in_a_row_were_short) {
  Task task(pass_on(), {InputPort{0}});
  const auto is_told = [&] {
    task.environment.told_to_go_on = 0;
    task.receive(0, {1});
    EXPECT_EQ(task.step(), Kind::waiting);
    return task.environment.told_to_go_on > 0;
  };
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(is_told()) << i;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(is_told()) << i;
}

TEST(TaskCore, says_that_a_step_goes_on_however_many_had_nothing_to_do) {
  Task task(pass_on(), {InputPort{0}});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(task.step(), Kind::waiting);
  task.environment.told_to_go_on = 0;
  task.receive(0, {1});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_GT(task.environment.told_to_go_on, 0);
}

TEST(TaskCore, says_that_a_step_goes_on_again_after_a_long_one) {
  ManualClock* clock = nullptr;
  bool is_slow = false;
  const auto at_times_slow = [&](int x) {
    if (is_slow) clock->advance(Duration{1});
    return x;
  };
  using Slow = MapOperator<int, int, decltype(at_times_slow)>;
  Task task(stage([&] { return std::make_unique<Slow>(at_times_slow); }, 1), {InputPort{0}});
  clock = &task.clock;
  const auto is_told = [&] {
    task.environment.told_to_go_on = 0;
    task.receive(0, {1});
    EXPECT_EQ(task.step(), Kind::waiting);
    return task.environment.told_to_go_on > 0;
  };
  while (is_told()) continue;
  is_slow = true;
  EXPECT_FALSE(is_told());
  EXPECT_TRUE(is_told());
  is_slow = false;
  EXPECT_TRUE(is_told());
  while (is_told()) continue;
}

TEST(TaskCore, says_that_a_step_goes_on_when_it_has_several_batches_to_do) {
  Task task(pass_on(), {InputPort{0}});
  for (int i = 0; i < 8; ++i) {
    task.receive(0, {i});
    EXPECT_EQ(task.step(), Kind::waiting);
  }
  task.environment.told_to_go_on = 0;
  for (int i = 0; i < 10; ++i) task.receive(0, {i});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_GT(task.environment.told_to_go_on, 0);
}

TEST(TaskCore, keeps_credit_while_its_output_is_stalled) {
  Task task(pass_on(), {InputPort{0}}, 1);
  task.clock.advance(std::chrono::seconds{1});  // 0 would mean that nothing waits
  for (int i = 0; i < 3; ++i) task.receive(0, {i});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.credits.size(), 1U);
  EXPECT_NE(task.metrics.backpressured_since_ns.load(), 0);
  task.core().add_credit(0, 0, task.out.charged_bytes(), nullptr);
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.credits.size(), 2U);
}

TEST(TaskCore, shows_what_is_on_its_way_on_each_exchange) {
  Task task(pass_on(), {InputPort{0}}, 1'000);
  task.receive(0, {1, 2, 3});
  EXPECT_EQ(task.step(), Kind::waiting);
  const ExchangeMetrics& exchange = task.metrics.exchanges.front();
  EXPECT_EQ(exchange.records_out.load(), 3U);
  EXPECT_EQ(exchange.window_bytes.load(), 1'000U);
  EXPECT_GT(exchange.bytes_out.load(), 0U);
  const std::uint64_t sent = exchange.bytes_out.load();
  EXPECT_EQ(exchange.in_flight_bytes.load(), sent);
  task.core().add_credit(0, 0, sent, nullptr);  // lets the rest go
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(exchange.in_flight_bytes.load(), exchange.bytes_out.load() - sent);
}

TEST(TaskCore, finishes_only_when_everything_has_left) {
  Task task(pass_on(), {InputPort{0}}, 1);
  std::vector<int> sent;
  for (int i = 0; i < 20; ++i) {
    task.receive(0, std::vector<int>(1000, i));
    sent.insert(sent.end(), 1000, i);
  }
  task.end(0);
  while (task.step() != Kind::finished) {
    ASSERT_FALSE(std::holds_alternative<EndOfInput>(task.out.elements().back()));
    ASSERT_TRUE(task.return_credit());  // else it would wait for ever
  }
  EXPECT_EQ(task.out.values<int>(), sent);
  EXPECT_TRUE(std::holds_alternative<EndOfInput>(task.out.elements().back()));
}

TEST(TaskCore, a_union_ends_with_its_last_channel_and_its_time_is_that_of_the_slower) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}});
  task.receive(0, {1});
  task.receive(0, Watermark{EventTime{10}});
  task.receive(1, Watermark{EventTime{5}});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(std::get<Watermark>(task.out.elements().back()), Watermark{EventTime{5}});
  EXPECT_EQ(task.metrics.watermark_ms.load(), 5);
  task.end(1);
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(std::get<Watermark>(task.out.elements().back()), Watermark{EventTime{10}});
  task.receive(0, {2});
  task.end(0);
  EXPECT_EQ(task.step(), Kind::finished);
  EXPECT_EQ(task.out.values<int>(), (std::vector{1, 2}));
  const auto& elements = task.out.elements();
  EXPECT_EQ(std::get<Watermark>(elements[elements.size() - 2]), Watermark{EventTime::max()});
  EXPECT_TRUE(std::holds_alternative<EndOfInput>(elements.back()));
}

// Says which port has ended.
class Ends final : public Operator {
 public:
  Result<Progress> process(InputPort, BatchPtr&, RowRange rows, Outputs&) override {
    return Progress{StepResult::done, rows.end};
  }
  Result<StepResult> on_end_of_input(InputPort port, Outputs& out) override {
    out.port<int>().push(port.value);
    return StepResult::done;
  }
  Result<StepResult> finish(Outputs& out) override {
    out.port<int>().push(99);
    return StepResult::done;
  }
};

TEST(TaskCore, ports_end_one_by_one_and_the_task_with_the_last) {
  Task task(stage([] { return std::make_unique<Ends>(); }, 2),
            {InputPort{0}, InputPort{0}, InputPort{1}});
  task.end(0);
  task.end(2);
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.out.values<int>(), std::vector{1});
  task.end(1);
  EXPECT_EQ(task.step(), Kind::finished);
  EXPECT_EQ(task.out.values<int>(), (std::vector{1, 0, 99}));
}

// Reads its second input to the end before the first.
class SecondFirst final : public Operator {
 public:
  Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows, Outputs& out) override {
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      out.port<int>().push(10 * port.value + batch_cast<int>(*in).values[row]);
    }
    return Progress{StepResult::done, rows.end};
  }
  Result<StepResult> on_end_of_input(InputPort port, Outputs&) override {
    second_ended_ |= port == InputPort{1};
    return StepResult::done;
  }
  InputSelection next_input() const override {
    return second_ended_ ? InputSelection{} : InputSelection{0b10};
  }

 private:
  bool second_ended_ = false;
};

TEST(TaskCore, a_paused_input_waits_and_its_credit_with_it) {
  Task task(stage([] { return std::make_unique<SecondFirst>(); }, 2), {InputPort{0}, InputPort{1}});
  task.receive(0, {1});
  task.end(0);
  task.receive(1, {2});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.credits,
            (std::vector<std::pair<std::uint32_t, std::uint64_t>>{{1, 100}}));
  task.end(1);
  while (task.step() != Kind::finished) ASSERT_TRUE(task.return_credit());
  EXPECT_EQ(task.out.values<int>(), (std::vector{12, 1}));
  EXPECT_EQ(task.environment.credits.size(), 2U);
}

TEST(TaskCore, an_idle_input_is_passed_on_when_all_are_and_active_as_soon_as_one_is) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}});
  task.receive(0, WatermarkStatus{true});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_TRUE(task.out.elements().empty());
  task.receive(1, WatermarkStatus{true});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(std::get<WatermarkStatus>(task.out.elements().back()), WatermarkStatus{true});
  task.receive(0, WatermarkStatus{false});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(std::get<WatermarkStatus>(task.out.elements().back()), WatermarkStatus{false});
}

// Reads splits named by a number, that many records each; idle after 3.
class Reader final : public SourceOperator {
 public:
  Result<void> add_split(Split split) override {
    left_ = std::stoi(split.id);
    return {};
  }
  Result<Poll> poll(Outputs& out) override {
    if (left_ == 0) return Poll{PollResult::need_split};
    out.port<int>().push(left_);
    if (left_-- == 3) return Poll{PollResult::idle, ProcessingTime{50}};
    return Poll{PollResult::more};
  }
  std::vector<Split> snapshot_splits() const override {
    if (left_ == 0) return {};
    return {{.id = std::to_string(left_), .bytes = {}}};
  }

 private:
  int left_ = 0;
};

ChainStage source() {
  ChainStage head = stage([] { return std::make_unique<Reader>(); }, 0);
  head.role = StageRole::source;
  return head;
}

TEST(TaskCore, a_source_asks_for_a_split_at_a_time_until_there_are_no_more) {
  Task task(source(), {});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.split_requests, 1);
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.split_requests, 1);  // it has not been answered
  ASSERT_TRUE(task.core().add_split({.id = "2", .bytes = {}}));
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.split_requests, 2);
  ASSERT_TRUE(task.core().add_split({.id = "1", .bytes = {}}));
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.split_requests, 3);
  ASSERT_TRUE(task.core().no_more_splits());
  EXPECT_EQ(task.step(), Kind::finished);
  EXPECT_EQ(task.out.values<int>(), (std::vector{2, 1, 1}));
  const auto& elements = task.out.elements();
  EXPECT_EQ(std::get<Watermark>(elements[elements.size() - 2]), Watermark{EventTime::max()});
}

// Throws when it is told of what there is to read.
class ThrowingReader final : public SourceOperator {
 public:
  Result<void> add_split(Split split) override {
    throw std::runtime_error("cannot read " + split.id);
  }
  void on_no_more_splits() override { throw std::runtime_error("wants more"); }
  Result<Poll> poll(Outputs&) override { return Poll{PollResult::need_split}; }
  std::vector<Split> snapshot_splits() const override { return {}; }
};

TEST(TaskCore, a_source_that_throws_when_it_is_given_splits_is_named) {
  ChainStage head = source();
  head.factory = [] { return std::make_unique<ThrowingReader>(); };
  {
    Task task(head, {});
    EXPECT_EQ(task.step(), Kind::waiting);
    const auto added = task.core().add_split({.id = "2", .bytes = {}});
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Errc::user_code);
    EXPECT_THAT(added.error().message,
                AllOf(HasSubstr(head.operator_name), HasSubstr("cannot read 2")));
  }
  Task task(head, {});
  EXPECT_EQ(task.step(), Kind::waiting);
  const auto told = task.core().no_more_splits();
  ASSERT_FALSE(told);
  EXPECT_THAT(told.error().message, AllOf(HasSubstr(head.operator_name), HasSubstr("wants more")));
}

TEST(TaskCore, a_source_that_has_to_wait_for_a_split_asks_again_then) {
  Task task(source(), {});
  EXPECT_EQ(task.step(), Kind::waiting);
  task.core().ask_again_at(ProcessingTime{100});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.wake_at, ProcessingTime{100});
  EXPECT_EQ(task.environment.split_requests, 1);
  task.clock.advance(std::chrono::milliseconds{100});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.split_requests, 2);
}

TEST(TaskCore, a_source_that_is_idle_is_polled_again_when_it_said) {
  Task task(source(), {});
  EXPECT_EQ(task.step(), Kind::waiting);
  ASSERT_TRUE(task.core().add_split({.id = "4", .bytes = {}}));
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.wake_at, ProcessingTime{50});
  EXPECT_EQ(task.out.values<int>().size(), 1U);  // the second waits for the receiver of the first
  task.clock.advance(std::chrono::milliseconds{50});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.split_requests, 2);
  ASSERT_TRUE(task.core().no_more_splits());
  EXPECT_EQ(task.step(), Kind::finished);
  EXPECT_EQ(task.out.values<int>(), (std::vector{4, 3, 2, 1}));
}

// How many splits the source had at the barrier.
std::size_t splits_in(const FrozenTask& frozen) {
  return frozen.chain.stages.front().state.items.front().items.size();
}

TEST(TaskCore, a_split_that_comes_behind_a_barrier_is_not_in_its_checkpoint) {
  Task task(source(), {});
  EXPECT_EQ(task.step(), Kind::waiting);
  task.core().trigger_checkpoint({1});
  ASSERT_TRUE(task.core().add_split({.id = "2", .bytes = {}}));
  task.core().trigger_checkpoint({2});
  EXPECT_EQ(task.step(), Kind::waiting);
  ASSERT_EQ(task.environment.acknowledged.size(), 2U);
  EXPECT_EQ(splits_in(task.environment.acknowledged[0]), 0U);
  EXPECT_EQ(splits_in(task.environment.acknowledged[1]), 1U);
  while (task.return_credit()) (void)task.step();
  EXPECT_EQ(task.out.values<int>(), (std::vector{2, 1}));
}

TEST(TaskCore, a_split_behind_a_barrier_that_is_given_up_is_read_all_the_same) {
  Task task(source(), {});
  EXPECT_EQ(task.step(), Kind::waiting);
  task.core().trigger_checkpoint({1});
  ASSERT_TRUE(task.core().add_split({.id = "1", .bytes = {}}));
  task.core().abort_checkpoint({1});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_TRUE(task.environment.acknowledged.empty());
  EXPECT_EQ(task.out.values<int>(), (std::vector{1}));
}

TEST(TaskCore, a_channel_waits_behind_its_barrier_until_the_others_have_had_theirs) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}});
  task.receive(0, {1});
  task.receive(0, Barrier{{7}});
  task.receive(0, {2});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.out.values<int>(), (std::vector{1}));
  EXPECT_TRUE(task.environment.acknowledged.empty());
  task.receive(1, Barrier{{7}});
  EXPECT_EQ(task.step(), Kind::waiting);
  ASSERT_EQ(task.environment.acknowledged.size(), 1U);
  EXPECT_EQ(task.environment.acknowledged.front().chain.checkpoint, CheckpointId{7});
  while (task.return_credit()) (void)task.step();
  EXPECT_EQ(task.out.values<int>(), (std::vector{1, 2}));
}

// What has left, in order: values, and | for a barrier.
std::string left_by(const Task& task) {
  std::string text;
  for (const Element& element : task.out.elements()) {
    if (std::holds_alternative<Barrier>(element)) text += "| ";
    const auto* batch = std::get_if<BatchPtr>(&element);
    if (batch == nullptr) continue;
    for (const int value : batch_cast<int>(**batch).values) text += std::to_string(value) + " ";
  }
  return text;
}

TEST(TaskCore, all_records_before_the_last_barrier_leave_before_it_and_nothing_waits_behind_it) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}, InputPort{0}});
  const auto go_on = [&task] {
    EXPECT_EQ(task.step(), Kind::waiting);
    while (task.return_credit()) (void)task.step();
  };
  const auto record = [&](std::uint32_t channel, int value) {
    task.receive(channel, {value});
    go_on();
  };
  const auto barrier = [&](std::uint32_t channel) {
    task.receive(channel, Barrier{{7}});
    go_on();
  };
  record(0, 1);
  record(2, 2);
  record(0, 3);
  barrier(1);
  record(1, 10);
  barrier(2);
  record(2, 20);
  record(0, 4);
  EXPECT_EQ(left_by(task), "1 2 3 4 ");
  EXPECT_TRUE(task.environment.acknowledged.empty());
  barrier(0);
  EXPECT_EQ(left_by(task), "1 2 3 4 | 10 20 ");
  EXPECT_EQ(task.environment.acknowledged.size(), 1U);
  for (const std::uint32_t channel : {1U, 2U, 0U}) record(channel, 30);
  EXPECT_EQ(left_by(task), "1 2 3 4 | 10 20 30 30 30 ");
  EXPECT_EQ(task.environment.acknowledged.size(), 1U);
}

TEST(TaskCore, a_channel_that_ends_counts_as_having_had_its_barrier) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}});
  task.receive(0, Barrier{{7}});
  EXPECT_EQ(task.step(), Kind::waiting);
  task.end(1);
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.environment.acknowledged.size(), 1U);
}

TEST(TaskCore, a_checkpoint_that_is_given_up_lets_the_waiting_channels_go_on) {
  Task task(pass_on(), {InputPort{0}, InputPort{0}});
  task.receive(0, Barrier{{7}});
  task.receive(0, {1});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_TRUE(task.out.values<int>().empty());
  task.core().abort_checkpoint({7});
  EXPECT_EQ(task.step(), Kind::waiting);
  EXPECT_EQ(task.out.values<int>(), (std::vector{1}));
}

TEST(TaskCore, restored_as_finished_it_ends_at_once_with_the_last_watermark) {
  Task task(source(), {});
  task.core().restore({RestoredState{}}, true);
  EXPECT_EQ(task.step(), Kind::finished);
  EXPECT_EQ(task.environment.split_requests, 0);
  ASSERT_EQ(task.out.elements().size(), 2U);
  EXPECT_EQ(std::get<Watermark>(task.out.elements().front()), Watermark{EventTime::max()});
}

TEST(TaskCore, a_failure_of_its_operator_is_returned_by_the_step) {
  const auto broken = [](int) -> int { throw std::runtime_error("broken"); };
  Task task(
      stage([broken] { return std::make_unique<MapOperator<int, int, decltype(broken)>>(broken); },
            1),
      {InputPort{0}});
  task.receive(0, {1});
  const auto outcome = task.core().step();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::user_code);
}

}  // namespace
}  // namespace weir
