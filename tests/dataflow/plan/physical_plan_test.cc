#include "dataflow/plan/physical_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "dataflow/api/weir.h"
#include "dataflow/plan/job_graph.h"
#include "tests/dataflow/plan/random_job.h"

namespace weir {
namespace {

using testing::ElementsAre;

constexpr auto same = [](int x) { return x; };
using Plan = std::shared_ptr<const PhysicalPlan>;

// The plan of a job that is described by a function of its source, and ends in a sink named "out".
template <class Describe>
Plan plan_of(Describe describe,
             PlanSettings settings = {.parallelism = 2, .max_parallelism = {}, .chaining = true}) {
  Job job("test");
  describe(job.source("in", collection(std::vector{1, 2, 3}))).to("out", discard());
  const auto valid = check_valid(job.plan(), settings);
  EXPECT_TRUE(valid) << (valid ? "" : valid.error().message);
  return make_physical_plan(job.plan(), settings);
}

std::vector<std::string> chains(const Plan& plan) {
  std::vector<std::string> names;
  for (const Vertex& vertex : plan->vertices) names.push_back(vertex.name);
  return names;
}

TEST(Chaining, joins_steps_of_equal_parallelism) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.map(same); })), ElementsAre("in → map → out"));
}

TEST(Chaining, joins_an_explicit_forward) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.forward().map(same); })),
              ElementsAre("in → map → out"));
}

TEST(Chaining, ends_at_every_other_partitioning) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.rebalance().map(same); })),
              ElementsAre("in", "map → out"));
  EXPECT_THAT(chains(plan_of([](auto in) { return in.rescale().map(same); })),
              ElementsAre("in", "map → out"));
  EXPECT_THAT(chains(plan_of([](auto in) { return in.broadcast().map(same); })),
              ElementsAre("in", "map → out"));
  EXPECT_THAT(chains(plan_of([](auto in) { return in.shuffle().map(same); })),
              ElementsAre("in", "map → out"));
  EXPECT_THAT(chains(plan_of([](auto in) { return in.global().map(same); })),
              ElementsAre("in", "map → out"));
  EXPECT_THAT(chains(plan_of([](auto in) {
                return in.partition_custom([](int, std::uint32_t) { return 0U; }).map(same);
              })),
              ElementsAre("in", "map → out"));
  EXPECT_THAT(chains(plan_of([](auto in) { return in.key_by(same).count("count"); })),
              ElementsAre("in", "count → out"));
}

TEST(Chaining, joins_a_stream_that_is_keyed_already) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.reinterpret_as_keyed(same).count("count"); })),
              ElementsAre("in → count → out"));
}

TEST(Chaining, ends_where_the_parallelism_changes) {
  const auto plan = plan_of([](auto in) { return in.map(same).parallelism(3); });
  EXPECT_THAT(chains(plan), ElementsAre("in", "map", "out"));
  EXPECT_EQ(plan->edges[0].partitioning, Partitioning::rebalance);
}

TEST(Chaining, ends_where_the_slot_group_changes) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.map(same).slot_group("own"); })),
              ElementsAre("in", "map", "out"));
}

TEST(Chaining, leaves_a_step_alone_that_asks_for_it) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.map(same).no_chain(); })),
              ElementsAre("in", "map", "out"));
}

TEST(Chaining, begins_anew_at_a_step_that_asks_for_it) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.map(same).start_new_chain(); })),
              ElementsAre("in", "map → out"));
}

TEST(Chaining, keeps_blocking_steps_apart) {
  const auto plan = plan_of([](auto in) { return in.map(same).blocking(); });
  EXPECT_THAT(chains(plan), ElementsAre("in", "map", "out"));
  EXPECT_TRUE(plan->vertices[1].blocking);
  EXPECT_FALSE(plan->vertices[0].blocking);
}

TEST(Chaining, ends_before_a_union) {
  EXPECT_THAT(
      chains(plan_of([](auto in) { return in.union_with(in.map(same)).map(same).named("both"); })),
      ElementsAre("in → map", "both → out"));
}

TEST(Chaining, ends_before_a_step_of_two_inputs) {
  struct Merge {
    void on_element1(const int& x, Context<int>& ctx) { ctx.emit(x); }
    void on_element2(const int& x, Context<int>& ctx) { ctx.emit(x); }
  };
  const auto plan =
      plan_of([](auto in) { return in.connect(in.map(same)).process("merge", Merge{}); });
  EXPECT_THAT(chains(plan), ElementsAre("in → map", "merge → out"));
  EXPECT_THAT(input_channel_ports(*plan, {1}, {0}), ElementsAre(InputPort{0}, InputPort{1}));
}

TEST(Chaining, can_be_switched_off) {
  EXPECT_THAT(chains(plan_of([](auto in) { return in.map(same); },
                             {.parallelism = 1, .max_parallelism = {}, .chaining = false})),
              ElementsAre("in", "map", "out"));
}

TEST(Chaining, makes_a_tree_of_several_consumers) {
  const auto plan = plan_of([](auto in) {
    in.map(same).named("aside").to("aside out", discard());
    return in.map(same);
  });
  EXPECT_THAT(chains(plan), ElementsAre("in → aside → aside out → map → out"));
  const auto& stages = plan->vertices[0].chain.stages;
  ASSERT_EQ(stages[0].targets[0].size(), 2U);
  EXPECT_EQ(stages[0].targets[0][0].index, 1U);
  EXPECT_EQ(stages[0].targets[0][1].index, 3U);
}

TEST(PhysicalPlan, key_groups_of_a_chain_are_those_of_its_keyed_step) {
  const auto plan =
      plan_of([](auto in) { return in.key_by(same).count("count").max_parallelism(512); });
  EXPECT_EQ(plan->vertices[1].max_parallelism, 512U);
  EXPECT_EQ(plan->vertices[0].chain.exchanges[0].max_parallelism, 512U);
}

std::uint32_t slots_needed_by(const PhysicalPlan& plan) {
  return slots_needed(make_job_graph(plan));
}

TEST(PhysicalPlan, slots_are_shared_within_a_group_and_added_between_groups) {
  EXPECT_EQ(slots_needed_by(*plan_of([](auto in) { return in.map(same).parallelism(5); })), 5U);
  EXPECT_EQ(slots_needed_by(
                *plan_of([](auto in) { return in.map(same).parallelism(5).slot_group("own"); })),
            7U);
  EXPECT_EQ(slots_needed_by(
                *plan_of([](auto in) { return in.map(same).parallelism(1).slot_group("own"); })),
            3U);
}

TEST(PhysicalPlan, steps_joined_by_pipelined_edges_restart_together) {
  Job job("test");
  for (const std::string name : {"a", "b"}) {
    job.source(name, collection(std::vector{1}))
        .rebalance()
        .map(same)
        .named("map " + name)
        .to("out " + name, discard());
  }
  const auto plan = make_physical_plan(job.plan(), {});
  EXPECT_THAT(pipelined_regions(*plan), ElementsAre(0U, 0U, 2U, 2U));
}

TEST(PhysicalPlan, channels_share_the_memory_of_their_gate_within_bounds) {
  const auto window = [](std::uint32_t producers) {
    const auto plan = plan_of([](auto in) { return in.map(same).parallelism(1); },
                              {.parallelism = producers, .max_parallelism = {}, .chaining = true});
    return channel_window_bytes(*plan, {1});
  };
  EXPECT_EQ(window(2), limits::channel_bytes_max);
  EXPECT_EQ(window(16), limits::gate_bytes_max / 16);
  EXPECT_EQ(window(1000), limits::channel_bytes_min);
}

// For each consumer, the producers it is connected to.
std::vector<std::vector<std::uint32_t>> producers(std::uint32_t from, std::uint32_t to) {
  const auto plan = plan_of([to](auto in) { return in.rescale().map(same).parallelism(to); },
                            {.parallelism = from, .max_parallelism = {}, .chaining = true});
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t consumer = 0; consumer < to; ++consumer) {
    auto& some = all.emplace_back();
    for (const ChannelEnd& end : input_channels(*plan, {1}, {consumer}))
      some.push_back(end.subtask.value);
  }
  return all;
}

TEST(PhysicalPlan, rescale_connects_each_subtask_to_its_share) {
  EXPECT_THAT(producers(2, 4),
              ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1), ElementsAre(1)));
  EXPECT_THAT(producers(4, 2), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(producers(2, 3), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(producers(3, 2), ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
  EXPECT_THAT(producers(3, 3), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(producers(1, 3), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(0)));
}

void expect_ends_agree(const PhysicalPlan& plan) {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const Vertex& vertex : plan.vertices) {
    for (std::uint32_t subtask = 0; subtask < vertex.parallelism; ++subtask) {
      const auto channels = input_channels(plan, vertex.id, {subtask});
      ASSERT_EQ(input_channel_ports(plan, vertex.id, {subtask}).size(), channels.size());
      for (std::uint32_t i = 0; i < channels.size(); ++i) {
        const auto lanes = output_channels(plan, channels[i].vertex, channels[i].subtask);
        ASSERT_LT(channels[i].exchange, lanes.size());
        ASSERT_LT(channels[i].index, lanes[channels[i].exchange].size());
        const ChannelEnd& back = lanes[channels[i].exchange][channels[i].index];
        ASSERT_EQ(back.vertex, vertex.id);
        ASSERT_EQ(back.subtask, SubtaskIndex{subtask});
        ASSERT_EQ(back.index, i);
      }
      inputs += channels.size();
      for (const auto& lanes : output_channels(plan, vertex.id, {subtask})) {
        ASSERT_FALSE(lanes.empty());
        outputs += lanes.size();
      }
    }
  }
  EXPECT_EQ(inputs, outputs);
}

TEST(PhysicalPlan, both_ends_of_every_channel_agree_in_random_plans) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomJob random(seed);
    const PlanSettings settings{
        .parallelism = random.parallelism(), .max_parallelism = {}, .chaining = seed % 2 == 0};
    ASSERT_THAT(validate(random.plan(), settings), testing::IsEmpty());
    const auto plan = make_physical_plan(random.plan(), settings);
    expect_ends_agree(*plan);
    for (const PhysicalEdge& edge : plan->edges)
      EXPECT_LT(edge.from, edge.to) << "not in topological order";
  }
}

TEST(PhysicalPlan, explains_itself) {
  struct Split {
    SideOutput<int> odd{};
    void on_element(const int& x, Context<int>& ctx) { ctx.emit(x); }
  };
  Job job("sorted");
  const auto numbers = job.source("numbers", collection(std::vector{1, 2, 3}));
  const auto split = numbers.map(same).process("split", Split{});
  split.key_by(same).count("count").parallelism(6).to("out", discard());
  split.side(&Split::odd)
      .global()
      .to("odd", discard())
      .parallelism(1)
      .slot_group("odd ones")
      .blocking();
  EXPECT_EQ(explain(*make_physical_plan(
                job.plan(), {.parallelism = 2, .max_parallelism = {}, .chaining = true})),
            R"(Logical plan of sorted
  0  numbers  (collection of 3)  parallelism 2
  1  map  parallelism 2
       ← numbers
  2  split  (process)  parallelism 2
       ← map
  3  count  (aggregate)  parallelism 6
       ← split, hash
  4  out  (discard)  parallelism 2
       ← count
  5  odd  (discard)  parallelism 1
       ← split / odd, global

Physical plan: 11 tasks in 7 slots
  [0] numbers → map → split
      parallelism 2
      → [1] hash, 12 channels
      → [3] global, 2 channels
  [1] count
      parallelism 6, key groups 0–21 22–42 43–63 64–85 … 107–127
      → [2] rebalance, 12 channels
  [2] out
      parallelism 2
  [3] odd
      parallelism 1, slot group odd ones, blocking
)");
}

}  // namespace
}  // namespace weir
