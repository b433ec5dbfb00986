#include "dataflow/runtime/operator_chain.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "dataflow/operators/process.h"
#include "dataflow/operators/stateless.h"
#include "tests/dataflow/runtime/recording_transport.h"

namespace weir {
namespace {

constexpr auto ints = port_type_of<int>;

// Says what it is called for, and does as it is told.
class Scripted : public Operator {
 public:
  explicit Scripted(std::vector<std::string>& calls) : calls_(&calls) {}

  Result<void> open(const OperatorContext& context) override {
    calls_->push_back("open " + context.operator_name);
    return {};
  }
  Result<Progress> process(InputPort, BatchPtr&, RowRange rows, Outputs&) override {
    calls_->push_back("process " + std::to_string(rows.begin) + "–" + std::to_string(rows.end));
    return Progress{StepResult::done, rows.end};
  }
  Result<StepResult> on_end_of_input(InputPort port, Outputs&) override {
    calls_->push_back("end of input " + std::to_string(port.value));
    return StepResult::done;
  }
  Result<StepResult> finish(Outputs&) override {
    calls_->push_back("finish");
    return StepResult::done;
  }
  void close() override { calls_->push_back("close"); }

 protected:
  std::vector<std::string>* calls_;
};

// A chain with what it needs around it. Stages and exchanges are added before start().
class Chain {
 public:
  // An operator whose main output goes to the stages and exchanges given.
  std::uint32_t stage(std::string name, OperatorFactory factory, std::vector<PortType> outputs,
                      std::vector<std::vector<ChainTarget>> targets) {
    spec_.stages.push_back({.node = {static_cast<std::uint32_t>(spec_.stages.size())},
                            .operator_name = std::move(name),
                            .role = StageRole::transform,
                            .keyed = false,
                            .factory = std::move(factory),
                            .outputs = std::move(outputs),
                            .targets = std::move(targets),
                            .input_hashers = {nullptr}});
    return static_cast<std::uint32_t>(spec_.stages.size()) - 1;
  }
  template <class F>
  void map(std::string name, F f, std::vector<ChainTarget> targets) {
    stage(std::move(name), [f] { return std::make_unique<MapOperator<int, int, F>>(f); }, {ints()},
          {std::move(targets)});
  }

  // With one channel to each exchange.
  void start(std::size_t exchange_count, std::uint64_t window) {
    transports_.resize(exchange_count);
    for (RecordingTransport& transport : transports_) {
      spec_.exchanges.emplace_back();
      senders_.push_back(std::make_unique<ChannelSender>(transport, window));
      writers_.push_back(std::make_unique<ExchangeWriter>(
          ExchangeSpec{}, std::vector{senders_.back().get()}, pool_, 1));
    }
    std::vector<OperatorContext> contexts(spec_.stages.size());
    for (std::size_t i = 0; i < contexts.size(); ++i) {
      contexts[i].operator_name = spec_.stages[i].operator_name;
      contexts[i].clock = &clock;
      contexts[i].metrics = &operator_metrics_;
    }
    chain_ = std::make_unique<OperatorChain>(spec_, std::move(contexts), writers_, pool_, metrics_);
    opened = chain_->open();
  }

  // Turns until no operator can go on.
  Result<ChainActivity> run() {
    while (true) {
      for (auto& writer : writers_) WEIR_TRY(writer->advance());
      const StepBudget budget(clock, limits::step_time_max);
      auto activity = chain_->turn(budget, clock.processing_time());
      if (!activity || *activity != ChainActivity::worked) return activity;
    }
  }
  void feed(std::vector<int> values) { chain_->feed({}, batch_of(std::move(values))); }
  void feed(Element element) { chain_->feed({}, std::move(element)); }
  bool consume(std::size_t exchange) {
    return transports_[exchange].consume_one(*senders_[exchange]);
  }
  void flush() {
    for (auto& writer : writers_) writer->flush_to_idle_receivers();
  }

  [[nodiscard]] OperatorChain& chain() { return *chain_; }
  [[nodiscard]] const RecordingTransport& out(std::size_t exchange) const {
    return transports_[exchange];
  }

  ManualClock clock;
  Result<void> opened;

 private:
  ChainSpec spec_;
  std::vector<RecordingTransport> transports_;
  std::vector<std::unique_ptr<ChannelSender>> senders_;
  BatchPool pool_;
  std::vector<std::unique_ptr<ExchangeWriter>> writers_;
  OperatorMetrics operator_metrics_;
  TaskMetrics metrics_;
  std::unique_ptr<OperatorChain> chain_;
};

constexpr ChainTarget to_stage(std::uint32_t index) {
  return {ChainTarget::Kind::stage, index};
}
constexpr ChainTarget to_exchange(std::uint32_t index) {
  return {ChainTarget::Kind::exchange, index};
}
constexpr std::uint64_t wide = std::uint64_t{1} << 40;

TEST(OperatorChain,
     a_record_that_expands_to_a_million_stays_bounded_in_front_of_a_stalled_exchange) {
  constexpr int million = 1'000'000;
  const auto up_to = [](int n) { return std::views::iota(0, n); };
  Chain chain;
  chain.stage(
      "expand",
      [up_to] { return std::make_unique<FlatMapOperator<int, int, decltype(up_to)>>(up_to); },
      {ints()}, {{to_stage(1)}});
  chain.map("same", [](int x) { return x; }, {to_exchange(0)});
  chain.start(1, 1);
  chain.feed({million});
  std::uint64_t largest = 0;
  do {
    ASSERT_TRUE(chain.run());
    chain.flush();
    // What has left and not been consumed; between the stages waits at most one batch more.
    largest = std::max(largest, chain.out(0).charged_bytes());
  } while (chain.consume(0));
  EXPECT_LE(largest, 2 * limits::batch_rows_max * sizeof(int));
  const auto values = chain.out(0).values<int>();
  ASSERT_EQ(values.size(), static_cast<std::size_t>(million));
  for (int i = 0; i < million; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
}

TEST(OperatorChain, is_stalled_while_its_exchange_has_no_room) {
  Chain chain;
  chain.map("same", [](int x) { return x; }, {to_exchange(0)});
  chain.start(1, 1);
  chain.feed({1});
  EXPECT_EQ(*chain.run(), ChainActivity::starved);
  EXPECT_FALSE(chain.chain().wants_input());
  chain.feed({2});
  EXPECT_EQ(*chain.run(), ChainActivity::stalled);
  EXPECT_TRUE(chain.chain().head_is_busy());
  ASSERT_TRUE(chain.consume(0));
  EXPECT_EQ(*chain.run(), ChainActivity::starved);
  EXPECT_FALSE(chain.chain().head_is_busy());
}

TEST(OperatorChain, what_a_function_throws_is_an_error_with_the_operators_name) {
  Chain chain;
  chain.map("fine", [](int x) { return x; }, {to_stage(1)});
  chain.map("broken",
            [](int x) { return x == 3 ? throw std::out_of_range("three is too much") : x; },
            {to_exchange(0)});
  chain.start(1, wide);
  chain.feed({1, 2, 3});
  const auto result = chain.run();
  ASSERT_FALSE(result);
  EXPECT_EQ(
      result.error(),
      (Error{Errc::user_code, "user function of 'broken' threw an exception: three is too much"}));
}

TEST(OperatorChain, what_is_thrown_may_be_anything) {
  Chain chain;
  chain.map("broken", [](int x) { return x == 0 ? throw 5 : x; }, {to_exchange(0)});
  chain.start(1, wide);
  chain.feed({0});
  EXPECT_EQ(chain.run().error().message,
            "user function of 'broken' threw something that is not a std::exception");
}

TEST(OperatorChain, a_side_output_that_nobody_reads_is_dropped) {
  struct Sides {
    SideOutput<std::string> texts{};
    SideOutput<double> halves{};
    void on_element(const int& x, Context<int>& ctx) {
      ctx.emit(x);
      texts.push(std::to_string(x));
      halves.push(x / 2.0);
    }
  };
  Chain chain;
  chain.stage("sides", [] { return std::make_unique<ProcessOperator<Sides, int, int>>(Sides{}); },
              {ints(), port_type_of<std::string>(), port_type_of<double>()},
              {{to_exchange(0)}, {}, {to_exchange(1)}});
  chain.start(2, wide);
  chain.feed({3, 4});
  chain.feed(Watermark{EventTime{5}});
  ASSERT_TRUE(chain.run());
  EXPECT_EQ(chain.out(0).values<int>(), (std::vector{3, 4}));
  EXPECT_EQ(chain.out(1).values<double>(), (std::vector{1.5, 2.0}));
  EXPECT_TRUE(std::holds_alternative<Watermark>(chain.out(1).elements().back()));
}

// Changes its batch in place, as event_time does, and forwards it.
class Increment final : public Operator {
 public:
  Result<Progress> process(InputPort, BatchPtr& in, RowRange rows, Outputs& out) override {
    if (rows.begin == 0) writable(in);
    for (std::size_t row = rows.begin; row < rows.end; ++row) ++batch_cast<int>(*in).values[row];
    if (rows.end == in->size()) out.port<int>().forward(std::move(in));
    return Progress{StepResult::done, rows.end};
  }
};

TEST(OperatorChain, consumers_of_one_output_share_its_batch_and_copy_it_to_change_it) {
  Chain chain;
  chain.map("head", [](int x) { return x; }, {to_stage(1), to_stage(2), to_exchange(0)});
  for (const std::uint32_t exchange : {1U, 2U}) {
    chain.stage("increment", [] { return std::make_unique<Increment>(); }, {ints()},
                {{to_exchange(exchange)}});
  }
  chain.start(3, wide);
  std::vector<int> many(5000, 1);
  chain.feed(many);
  ASSERT_TRUE(chain.run());
  chain.flush();
  EXPECT_EQ(chain.out(0).values<int>(), many);
  EXPECT_EQ(chain.out(1).values<int>(), std::vector<int>(5000, 2));
  EXPECT_EQ(chain.out(2).values<int>(), std::vector<int>(5000, 2));
}

TEST(OperatorChain, a_batch_that_all_pass_on_is_never_copied) {
  Chain chain;
  chain.stage("increment", [] { return std::make_unique<Increment>(); }, {ints()}, {{to_stage(1)}});
  chain.stage("increment again", [] { return std::make_unique<Increment>(); }, {ints()},
              {{to_exchange(0)}});
  chain.start(1, wide);
  auto batch = batch_of(std::vector<int>(4000, 1));
  const AnyBatch* const address = batch.get();
  chain.feed(Element(BatchPtr(std::move(batch))));
  ASSERT_TRUE(chain.run());
  EXPECT_EQ(chain.out(0).batches().front().get(), address);
  EXPECT_EQ(chain.chain().take_consumed(), nullptr);
}

TEST(OperatorChain, a_consumed_batch_is_given_back_for_reuse) {
  Chain chain;
  chain.map("same", [](int x) { return x; }, {to_exchange(0)});
  chain.start(1, wide);
  chain.feed({1, 2});
  ASSERT_TRUE(chain.run());
  const BatchPtr consumed = chain.chain().take_consumed();
  ASSERT_NE(consumed, nullptr);
  EXPECT_EQ(consumed->size(), 0U);
}

// Wants to be called at 10 and 20.
class Alarm final : public Operator {
 public:
  Result<Progress> process(InputPort, BatchPtr&, RowRange rows, Outputs&) override {
    return Progress{StepResult::done, rows.end};
  }
  std::optional<ProcessingTime> next_processing_timer() const override {
    return next_ > 20 ? std::nullopt : std::optional(ProcessingTime{next_});
  }
  Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    out.port<int>().push(static_cast<int>(now.ms));
    next_ += 10;
    return StepResult::done;
  }

 private:
  std::int64_t next_ = 10;
};

TEST(OperatorChain, operators_are_called_at_the_times_they_ask_for) {
  Chain chain;
  chain.map("head", [](int x) { return x; }, {to_stage(1)});
  chain.stage("alarm", [] { return std::make_unique<Alarm>(); }, {ints()}, {{to_exchange(0)}});
  chain.start(1, wide);
  EXPECT_EQ(chain.chain().next_timer(), ProcessingTime{10});
  ASSERT_TRUE(chain.run());
  chain.clock.advance(std::chrono::milliseconds{10});
  ASSERT_TRUE(chain.run());
  EXPECT_EQ(chain.chain().next_timer(), ProcessingTime{20});
  chain.clock.advance(std::chrono::milliseconds{15});
  ASSERT_TRUE(chain.run());
  chain.feed(EndOfInput{});
  ASSERT_TRUE(chain.run());
  EXPECT_EQ(chain.out(0).values<int>(), (std::vector{10, 25}));
  EXPECT_FALSE(chain.chain().next_timer());
}

// Waits for something outside before the second row.
class Waiting final : public Operator {
 public:
  explicit Waiting(const bool& arrived) : arrived_(&arrived) {}
  Result<Progress> process(InputPort, BatchPtr& in, RowRange rows, Outputs& out) override {
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (row == 1 && !*arrived_) return Progress{StepResult::blocked, row};
      out.port<int>().push(batch_cast<int>(*in).values[row]);
    }
    return Progress{StepResult::done, rows.end};
  }

 private:
  const bool* arrived_;
};

TEST(OperatorChain, an_operator_that_waits_for_something_outside_goes_on_when_woken) {
  bool arrived = false;
  Chain chain;
  chain.stage("waiting", [&arrived] { return std::make_unique<Waiting>(arrived); }, {ints()},
              {{to_exchange(0)}});
  chain.start(1, wide);
  chain.feed({1, 2, 3});
  EXPECT_EQ(*chain.run(), ChainActivity::stalled);
  chain.flush();
  EXPECT_EQ(chain.out(0).values<int>(), std::vector{1});
  EXPECT_EQ(*chain.run(), ChainActivity::stalled);
  arrived = true;
  chain.chain().wake();
  EXPECT_EQ(*chain.run(), ChainActivity::starved);
  chain.feed(EndOfInput{});
  ASSERT_TRUE(chain.run());
  EXPECT_EQ(chain.out(0).values<int>(), (std::vector{1, 2, 3}));
}

TEST(OperatorChain, calls_come_in_the_order_of_the_contract) {
  std::vector<std::string> calls;
  Chain chain;
  chain.stage("scripted", [&calls] { return std::make_unique<Scripted>(calls); }, {}, {});
  chain.start(0, wide);
  chain.feed(std::vector<int>(20));
  chain.feed(EndOfInput{});
  EXPECT_FALSE(chain.chain().ended());
  ASSERT_TRUE(chain.run());
  EXPECT_TRUE(chain.chain().ended());
  chain.chain().close();
  chain.chain().close();
  EXPECT_EQ(calls, (std::vector<std::string>{"open scripted", "process 0–1", "process 1–3",
                                             "process 3–7", "process 7–15", "process 15–20",
                                             "end of input 0", "finish", "close"}));
}

TEST(OperatorChain, the_end_passes_through_all_operators_behind_their_last_output) {
  Chain chain;
  chain.map("first", [](int x) { return x; }, {to_stage(1)});
  chain.map("second", [](int x) { return x; }, {to_exchange(0)});
  chain.start(1, wide);
  chain.feed({1});
  chain.feed(Watermark{EventTime::max()});
  chain.feed(EndOfInput{});
  ASSERT_TRUE(chain.run());
  ASSERT_EQ(chain.out(0).elements().size(), 3U);
  EXPECT_TRUE(std::holds_alternative<BatchPtr>(chain.out(0).elements()[0]));
  EXPECT_EQ(std::get<Watermark>(chain.out(0).elements()[1]), Watermark{EventTime::max()});
  EXPECT_TRUE(std::holds_alternative<EndOfInput>(chain.out(0).elements()[2]));
}

// Fails to open.
class Unopenable final : public Scripted {
 public:
  using Scripted::Scripted;
  Result<void> open(const OperatorContext&) override { throw std::runtime_error("no such table"); }
};

TEST(OperatorChain, when_one_operator_does_not_open_those_that_did_are_closed) {
  std::vector<std::string> calls;
  {
    Chain chain;
    chain.stage("unopenable", [&calls] { return std::make_unique<Unopenable>(calls); }, {},
                {{to_stage(1)}});
    chain.stage("fine", [&calls] { return std::make_unique<Scripted>(calls); }, {}, {});
    chain.start(0, wide);
    ASSERT_FALSE(chain.opened);
    EXPECT_EQ(chain.opened.error().message,
              "user function of 'unopenable' threw an exception: no such table");
  }
  EXPECT_EQ(calls, (std::vector<std::string>{"open fine", "close"}));
}

}  // namespace
}  // namespace weir
