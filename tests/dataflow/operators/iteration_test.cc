#include "dataflow/operators/iteration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/connectors/collect.h"
#include "dataflow/harness.h"
#include "dataflow/plan/physical_plan.h"
#include "dataflow/runtime/stepped_tasks.h"
#include "tests/dataflow/runtime/scripted_source.h"

namespace weir {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Harness = StreamHarness<int, int>;

// Each number goes round until it is 0; then it leaves.
Stream<int> counted_down(Stream<int> numbers) {
  return numbers.iterate("count down", [](Stream<int> in) {
    auto less = in.map([](int x) { return x - 1; });
    return LoopEnds{less.filter([](int x) { return x > 0; }),
                    less.filter([](int x) { return x <= 0; })};
  });
}

TEST(Iteration, records_go_round_until_they_leave) {
  Harness harness(counted_down);
  harness.push(3);
  harness.push(100);
  EXPECT_THAT(harness.take_values(), ElementsAre(0, 0));
}

TEST(Iteration, ends_when_its_input_has_and_nothing_is_on_its_way) {
  Harness harness(counted_down);
  std::vector<Record<int>> numbers;
  for (int i = 1; i <= 500; ++i) numbers.push_back({i});
  harness.push_batch(std::move(numbers));
  harness.end_input();
  EXPECT_TRUE(harness.finished());
  const auto outputs = harness.take_outputs();
  ASSERT_THAT(outputs, SizeIs(501));
  EXPECT_EQ(outputs.back(), Emitted<int>(Watermark{EventTime::max()}))
      << "the end of time comes behind all records of the loop";
}

TEST(Iteration, without_a_record_ends_at_once) {
  Harness harness(counted_down);
  harness.end_input();
  EXPECT_TRUE(harness.finished());
}

TEST(Iteration, one_record_may_become_many) {
  // Every number n becomes two of n - 1: 2^10 of 0.
  Harness harness([](Stream<int> numbers) {
    return numbers.iterate("split", [](Stream<int> in) {
      auto parts = in.flat_map([](int x) { return std::vector<int>{x - 1, x - 1}; });
      return LoopEnds{parts.filter([](int x) { return x > 0; }),
                      parts.filter([](int x) { return x == 0; })};
    });
  });
  harness.push(10);
  harness.end_input();
  EXPECT_TRUE(harness.finished());
  EXPECT_THAT(harness.take_values(), SizeIs(1024));
}

// Records change their subtask with each round.
TEST(Iteration, ends_with_exchanges_inside_and_many_subtasks) {
  for (const std::uint32_t parallelism : {2U, 3U, 5U}) {
    SCOPED_TRACE(testing::Message() << "parallelism " << parallelism);
    Harness harness([parallelism](Stream<int> numbers) {
      return numbers.rebalance().iterate("count down", [parallelism](Stream<int> in) {
        in.parallelism(parallelism);
        auto less = in.key_by([](int x) { return x; })
                        .process("less",
                                 [] {
                                   struct Less {
                                     void on_element(const int& x, KeyedContext<int, int>& ctx) {
                                       ctx.emit(x - 1);
                                     }
                                   };
                                   return Less{};
                                 }())
                        .parallelism(parallelism);
        return LoopEnds{less.filter([](int x) { return x > 0; }).parallelism(parallelism),
                        less.filter([](int x) { return x <= 0; }).parallelism(parallelism)};
      });
    });
    for (int i = 1; i <= 50; ++i) harness.push(i);
    harness.end_input();
    ASSERT_TRUE(harness.status()) << harness.status().error().message;
    EXPECT_TRUE(harness.finished());
    const auto left = harness.take_values();
    EXPECT_THAT(left, SizeIs(50));
    EXPECT_THAT(left, Each(0));
  }
}

struct Less {
  void on_element(const int& x, KeyedContext<int, int>& ctx) { ctx.emit(x - 1); }
};

// A loop of two subtasks in which numbers count down to 0 and change their subtask with each round; the source has as many subtasks as asked
// for, and does what the test says.
class TwoHeads {
 public:
  explicit TwoHeads(std::uint32_t sources)
      : script_(std::make_shared<Script>(sources)), rows_(describe()), tasks_(plan(), clock_, {}) {
    EXPECT_TRUE(tasks_.open());
    run();
  }

  void push(std::size_t source, int number) {
    (*script_)[source].emplace_back(batch_of(std::vector{number}));
  }
  void end(std::size_t source) { (*script_)[source].emplace_back(EndOfInput{}); }
  void run() {
    const auto ran = tasks_.run_until_quiet();
    EXPECT_TRUE(ran) << ran.error().message;
  }
  // Called with each number that goes round.
  void at_each_round(std::function<void(int)> call) { *at_each_round_ = std::move(call); }
  bool checkpoint(std::uint64_t id) {
    tasks_.trigger_checkpoint({id});
    run();
    return tasks_.checkpoint_is_whole({id});
  }
  [[nodiscard]] std::vector<int> left() const { return rows_->rows(); }
  [[nodiscard]] SteppedTasks& tasks() { return tasks_; }

 private:
  std::shared_ptr<CollectedRows<int>> describe() {
    const auto sources = static_cast<std::uint32_t>(script_->size());
    auto numbers = job_.source("numbers", ScriptedSource(script_)).parallelism(sources);
    return numbers
        .iterate("count down",
                 [call = at_each_round_](Stream<int> in) {
                   auto seen = in.map([call](int x) {
                     if (*call) (*call)(x);
                     return x;
                   });
                   auto less = seen.key_by([](int x) { return x; }).process("less", Less{});
                   return LoopEnds{less.filter([](int x) { return x > 0; }),
                                   less.filter([](int x) { return x <= 0; })};
                 })
        .collect();
  }
  std::shared_ptr<const PhysicalPlan> plan() {
    const PlanSettings settings{.parallelism = 2, .max_parallelism = {}, .chaining = true};
    const auto valid = check_valid(job_.plan(), settings);
    EXPECT_TRUE(valid) << valid.error().message;
    return make_physical_plan(job_.plan(), settings);
  }

  Job job_{"loop"};
  std::shared_ptr<Script> script_;
  std::shared_ptr<std::function<void(int)>> at_each_round_ =
      std::make_shared<std::function<void(int)>>();
  std::shared_ptr<CollectedRows<int>> rows_;
  ManualClock clock_;
  SteppedTasks tasks_;
};

TEST(Iteration, checkpoints_are_no_rounds_without_records) {
  TwoHeads loop(1);
  for (std::uint64_t id = 1; id <= 5; ++id) EXPECT_TRUE(loop.checkpoint(id));
  loop.push(0, 50);  // for one of the heads
  loop.end(0);
  loop.run();
  EXPECT_TRUE(loop.tasks().finished());
  EXPECT_THAT(loop.left(), ElementsAre(0)) << "the other must not end before it";
}

TEST(Iteration, a_checkpoint_is_whole_though_a_source_has_ended_before_others) {
  TwoHeads loop(2);
  loop.push(0, 50);
  loop.end(0);
  loop.push(1, 60);
  loop.run();
  EXPECT_TRUE(loop.checkpoint(1));
  loop.push(1, 70);
  loop.run();
  EXPECT_TRUE(loop.checkpoint(2));
  loop.end(1);
  loop.run();
  EXPECT_TRUE(loop.tasks().finished());
  EXPECT_THAT(loop.left(), ElementsAre(0, 0, 0));
}

TEST(Iteration, takes_part_in_checkpoints_when_its_input_has_ended) {
  TwoHeads loop(2);
  std::vector<bool> whole;
  loop.at_each_round([&](int x) {
    if (x == 30 || x == 20) whole.push_back(loop.tasks().checkpoint_is_whole({whole.size() + 1}));
    if (x == 40 || x == 30) loop.tasks().trigger_checkpoint({whole.size() + 1});
  });
  loop.push(0, 50);
  loop.end(0);
  loop.end(1);
  loop.run();
  EXPECT_TRUE(loop.tasks().finished());
  EXPECT_THAT(whole, ElementsAre(true, true));
  EXPECT_THAT(loop.left(), ElementsAre(0));
}

TEST(Iteration, a_barrier_waits_for_no_marker_once_its_checkpoint_is_given_up) {
  IterationHead<int> head(std::make_shared<FeedbackHub>());
  StateBackend state(KeyGroupSlice{}, RestoredState{}, "head");
  OperatorContext context;
  context.state = &state;
  ASSERT_TRUE(head.open(context));
  const ManualClock clock;
  const std::vector<std::unique_ptr<AnyOutput>> ports;
  Outputs out(ports, StepBudget(clock, std::chrono::seconds{1}));
  EXPECT_EQ(*head.on_barrier({1}, out), StepResult::blocked);
  head.on_checkpoint_aborted({1});
  EXPECT_EQ(*head.on_barrier({1}, out), StepResult::done);
  head.on_checkpoint_aborted({3});
  EXPECT_EQ(*head.on_barrier({2}, out), StepResult::blocked) << "an older one may still be whole";
}

TEST(Iteration, its_records_must_be_able_to_begin_in_each_subtask) {
  Job job("loop");
  const auto script = std::make_shared<Script>(2);
  (void)job.source("numbers", ScriptedSource(script))
      .forward()
      .iterate("count down",
               [](Stream<int> in) {
                 return LoopEnds{in.map([](int x) { return x; }), in.map([](int x) { return x; })};
               })
      .collect();
  const auto valid =
      check_valid(job.plan(), {.parallelism = 2, .max_parallelism = {}, .chaining = true});
  ASSERT_FALSE(valid);
  EXPECT_THAT(valid.error().message,
              HasSubstr("the loop 'count down' has 2 subtasks, and 'numbers' leads to some of them "
                        "only (forward)"));
}

TEST(Iteration, what_is_fed_back_must_come_from_the_loop) {
  const Harness harness([](Stream<int> numbers) {
    return numbers.iterate("loop", [numbers](Stream<int> in) {
      return LoopEnds{numbers.map([](int x) { return x; }), in.map([](int x) { return x; })};
    });
  });
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(harness.status().error().message,
              HasSubstr("what the loop 'loop' feeds back does not come from its own records"));
}

TEST(Iteration, a_step_inside_takes_nothing_from_outside) {
  const Harness harness([](Stream<int> numbers) {
    return numbers.iterate("loop", [numbers](Stream<int> in) {
      auto both = in.union_with(numbers).map([](int x) { return x - 1; }).named("both");
      return LoopEnds{both, both};
    });
  });
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(harness.status().error().message,
              HasSubstr("'both' is in the loop 'loop' and takes 'harness input' from outside"));
}

TEST(Iteration, loops_do_not_nest) {
  const Harness harness([](Stream<int> numbers) {
    return numbers.iterate("outer", [](Stream<int> in) {
      auto inner = counted_down(in);
      return LoopEnds{inner.filter([](int x) { return x > 0; }), inner};
    });
  });
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(
      harness.status().error().message,
      HasSubstr("the loop 'count down' is inside the loop 'outer': put one behind the other"));
}

TEST(Iteration, loops_follow_each_other) {
  Harness harness([](Stream<int> numbers) {
    return counted_down(numbers).map([](int) { return 7; }).iterate("again", [](Stream<int> in) {
      auto less = in.map([](int x) { return x - 1; });
      return LoopEnds{less.filter([](int x) { return x > 3; }),
                      less.filter([](int x) { return x <= 3; })};
    });
  });
  harness.push(5);
  harness.end_input();
  EXPECT_TRUE(harness.finished());
  EXPECT_THAT(harness.take_values(), ElementsAre(3));
}

}  // namespace
}  // namespace weir
