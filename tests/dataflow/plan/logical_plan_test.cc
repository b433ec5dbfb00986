#include "dataflow/plan/logical_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "dataflow/api/weir.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr auto same = [](int x) { return x; };

Stream<int> numbers(Job& job, std::string name = "numbers") {
  return job.source(std::move(name), collection(std::vector{1, 2, 3}));
}

std::vector<std::string> mistakes(Job& job, const PlanSettings& settings = {}) {
  return validate(job.plan(), settings);
}

TEST(LogicalPlan, of_a_complete_job_has_no_mistakes) {
  Job job("test");
  numbers(job).map(same).key_by(same).count("count").to("out", discard());
  EXPECT_THAT(mistakes(job), IsEmpty());
  EXPECT_TRUE(check_valid(job.plan(), {}));
}

TEST(LogicalPlan, needs_a_step) {
  Job job("test");
  EXPECT_THAT(mistakes(job), ElementsAre("the job has no steps: begin with job.source(…)"));
}

TEST(LogicalPlan, names_are_short) {
  Job job(std::string(201, 'j'));
  numbers(job, std::string(201, 's')).to("out", discard()).slot_group(std::string(201, 'g'));
  EXPECT_THAT(
      mistakes(job),
      ElementsAre("the name of the job has 201 bytes: at most 200 are possible",
                  "the name of the step '" + std::string(40, 's') +
                      "…' has 201 bytes: at most 200 are possible",
                  "the name of the slot group of 'out' has 201 bytes: at most 200 are possible"));
}

TEST(LogicalPlan, settings_must_be_possible) {
  Job job("test");
  numbers(job).to("out", discard());
  EXPECT_THAT(mistakes(job, {.parallelism = 0, .max_parallelism = 100'000}),
              ElementsAre("the job's parallelism is 0: it must be at least 1",
                          "the job's maximum parallelism is 100000: at most 32768 is possible"));
}

TEST(LogicalPlan, names_must_be_unique_where_they_are_given) {
  Job job("test");
  numbers(job).map(same).map(same).named("twice").key_by(same).count("twice").to("twice",
                                                                                 discard());
  EXPECT_THAT(mistakes(job),
              ElementsAre("the name 'twice' is used by 3 steps: names must be unique in a job"));
}

TEST(LogicalPlan, settings_behind_a_union_or_partitioning_are_nobodys) {
  Job job("test");
  numbers(job, "a").union_with(numbers(job, "b")).named("both").map(same).to("out", discard());
  numbers(job, "c").rebalance().parallelism(3).map(same).to("out 2", discard());
  const auto of = [](const std::string& name) {
    return "a setting (.named, .parallelism …) follows a union, side output or partitioning after "
           "'" +
           name + "': put it directly behind the step it is meant for";
  };
  EXPECT_THAT(mistakes(job), ElementsAre(of("a"), of("c")));
}

TEST(LogicalPlan, names_that_are_not_given_are_made_unique) {
  Job job("test");
  numbers(job).map(same).map(same).to("out", discard());
  EXPECT_EQ(job.plan().nodes[1].name, "map");
  EXPECT_EQ(job.plan().nodes[2].name, "map 2");
}

TEST(LogicalPlan, a_name_must_not_be_empty) {
  Job job("test");
  numbers(job).map(same).named("").to("out", discard());
  EXPECT_THAT(mistakes(job), ElementsAre("a map step has an empty name: give it one"));
}

TEST(LogicalPlan, a_step_with_state_needs_a_name) {
  Job job("test");
  auto stream = numbers(job).map(same);
  stream.last_node().stateful = true;
  stream.to("out", discard());
  EXPECT_THAT(mistakes(job), ElementsAre("a map step has state but no name: give it one, its state "
                                         "is found by it after a restart"));
}

TEST(LogicalPlan, every_branch_must_end_in_a_sink) {
  Job job("test");
  (void)numbers(job).map(same);
  EXPECT_THAT(mistakes(job),
              ElementsAre("nothing consumes the output of 'map': end the branch with .to(…)"));
}

TEST(LogicalPlan, parallelism_must_be_possible) {
  Job job("test");
  numbers(job)
      .rebalance()
      .map(same)
      .named("none")
      .parallelism(0)
      .rebalance()
      .map(same)
      .named("wide")
      .parallelism(40'000)
      .key_by(same)
      .count("count")
      .parallelism(200)
      .max_parallelism(128)
      .key_by(&Keyed<int, std::int64_t>::key)
      .count("groups")
      .max_parallelism(40'000)
      .to("out", discard());
  EXPECT_THAT(
      mistakes(job),
      ElementsAre("the parallelism of 'none' is 0: it must be at least 1",
                  "the parallelism of 'wide' is 40000: at most 32768 is possible",
                  "the parallelism of 'count' is 200, over its maximum of 128: lower it, or raise "
                  "--max-parallelism (which fixes the key groups for good)",
                  "the maximum parallelism of 'groups' is 40000: at most 32768 is possible"));
}

TEST(LogicalPlan, the_maximum_of_the_job_holds_for_steps_that_name_none) {
  Job job("test");
  numbers(job).key_by(same).count("count").to("out", discard());
  EXPECT_TRUE(check_valid(job.plan(), {.parallelism = 4, .max_parallelism = 4, .chaining = true}));
  EXPECT_FALSE(check_valid(job.plan(), {.parallelism = 5, .max_parallelism = 4, .chaining = true}));
}

TEST(LogicalPlan, forward_needs_equal_parallelism) {
  Job job("test");
  numbers(job).forward().map(same).parallelism(3).to("out", discard());
  EXPECT_THAT(mistakes(job, {.parallelism = 2, .max_parallelism = {}}),
              ElementsAre("forward from 'numbers' (parallelism 2) to 'map' (3) needs equal "
                          "parallelism: use .rebalance() or "
                          ".rescale()"));
}

TEST(LogicalPlan, a_keyed_step_needs_a_key) {
  Job job("test");
  auto stream = numbers(job).map(same).named("per key");
  stream.last_node().keyed = true;
  stream.to("out", discard());
  EXPECT_THAT(
      mistakes(job),
      ElementsAre(
          "'per key' works per key, but its input 'numbers' has none: put .key_by(…) before it"));
}

TEST(LogicalPlan, sinks_have_output_directories_of_their_own) {
  Job job("test");
  const auto found = numbers(job);
  found.to("first", line_files("a/out"));
  found.to("same", csv_files("./a//b/../out/"));
  found.to("inside", line_files("a/out/deeper"));
  found.to("beside", line_files("a/output"));
  const std::string remedy = "): give each a directory of its own, or union them before one sink";
  EXPECT_THAT(
      mistakes(job),
      ElementsAre("'first' and 'same' would write into each other's output ('a/out' and "
                  "'./a//b/../out/'" +
                      remedy,
                  "'first' and 'inside' would write into each other's output ('a/out' and "
                  "'a/out/deeper'" +
                      remedy,
                  "'same' and 'inside' would write into each other's output ('./a//b/../out/' and "
                  "'a/out/deeper'" +
                      remedy));
}

TEST(LogicalPlan, a_side_output_is_asked_of_the_stream_that_has_it) {
  struct Odd {
    SideOutput<int> odd{};
    void on_element(const int& x, Context<int>& ctx) { ctx.emit(x); }
  };
  Job job("test");
  const auto processed = numbers(job).process("split", Odd{});
  processed.to("out", discard());
  processed.side(&Odd::odd).to("odd", discard());
  EXPECT_THAT(mistakes(job), IsEmpty());
  processed.map(same).side(&Odd::odd).to("mapped", discard());
  EXPECT_THAT(
      mistakes(job),
      ElementsAre("'map' has no such side output: ask the stream that .process(…) returned"));
}

Stream<int> aligned(const Stream<int>& stream) {
  return stream.event_time([](int ms) { return EventTime{ms}; },
                           monotonous().with_alignment("g", std::chrono::seconds{1}));
}

TEST(LogicalPlan, aligned_watermarks_are_made_where_the_source_reads) {
  Job job("test");
  aligned(numbers(job)).to("out", discard());
  aligned(numbers(job, "more").map(same).filter([](int) {
    return true;
  })).to("more out", discard());
  EXPECT_THAT(mistakes(job), IsEmpty());
  EXPECT_THAT(mistakes(job, {.parallelism = 1, .max_parallelism = {}, .chaining = false}),
              testing::SizeIs(2));
}

TEST(LogicalPlan, aligned_watermarks_need_a_source_in_the_same_task) {
  constexpr auto text = [](const std::string& step) {
    return "'" + step +
           "' has with_alignment(\"g\", …), but is not chained to a source, which could wait: put "
           "event_time directly behind the source, or behind steps like map, filter or parse of "
           "its "
           "parallelism and slot group, without union_with, partitioning, no_chain or "
           "--no-chaining between";
  };
  Job job("test");
  const auto source = numbers(job);
  aligned(source.union_with(numbers(job, "others"))).named("united").to("1", discard());
  aligned(source.rebalance()).named("rebalanced").to("2", discard());
  aligned(source).named("wider").parallelism(3).to("3", discard());
  aligned(source.map(same).named("alone").no_chain()).named("behind").to("4", discard());
  EXPECT_THAT(mistakes(job),
              ElementsAre(text("united"), text("rebalanced"), text("wider"), text("behind")));
}

TEST(LogicalPlan, what_is_wrong_with_an_alignment_is_a_mistake) {
  Job job("test");
  numbers(job)
      .event_time([](int ms) { return EventTime{ms}; },
                  monotonous().with_alignment("", std::chrono::seconds{1}))
      .to("out", discard());
  EXPECT_THAT(mistakes(job), ElementsAre(testing::HasSubstr("has an empty group")));
}

TEST(LogicalPlan, all_mistakes_are_told_at_once) {
  Job job("test");
  numbers(job, "in").map(same).named("step").parallelism(0).to("step", discard());
  (void)numbers(job, "in");
  const auto valid = check_valid(job.plan(), {});
  ASSERT_FALSE(valid);
  EXPECT_EQ(valid.error().code, Errc::invalid_plan);
  EXPECT_EQ(valid.error().message,
            "the job has 4 mistakes:\n"
            "  - the name 'in' is used by 2 steps: names must be unique in a job\n"
            "  - the name 'step' is used by 2 steps: names must be unique in a job\n"
            "  - nothing consumes the output of 'in': end the branch with .to(…)\n"
            "  - the parallelism of 'step' is 0: it must be at least 1");
}

}  // namespace
}  // namespace weir
