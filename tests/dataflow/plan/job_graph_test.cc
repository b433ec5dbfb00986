#include "dataflow/plan/job_graph.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/clock.h"
#include "base/codec.h"
#include "base/random.h"
#include "dataflow/api/weir.h"
#include "dataflow/plan/physical_plan.h"
#include "tests/support/fuzz.h"

namespace weir {
namespace {

JobGraph counting_graph(std::uint32_t parallelism = 3, std::int64_t modulus = 7) {
  Job job("counting");
  job.source("numbers", from_sequence(0, 99))
      .key_by([modulus](std::int64_t n) { return n % modulus; })
      .count("count")
      .to("out", csv_files(OutputDirectory{"somewhere", false}));
  PlanSettings settings{.parallelism = parallelism, .max_parallelism = {}, .chaining = true};
  return make_job_graph(*make_physical_plan(std::move(job.plan()), settings));
}

TEST(JobGraph, keeps_what_roles_need_of_a_plan) {
  const JobGraph graph = counting_graph();
  EXPECT_EQ(graph.job_name, "counting");
  ASSERT_EQ(graph.nodes.size(), 3U);
  EXPECT_TRUE(graph.nodes[0].has_coordinator()) << "splits are handed out";
  EXPECT_FALSE(graph.nodes[1].has_coordinator());
  EXPECT_TRUE(graph.nodes[2].commits);
  ASSERT_EQ(graph.vertices.size(), 2U);
  EXPECT_TRUE(graph.is_source(graph.vertices[0]));
  EXPECT_FALSE(graph.is_last({0}));
  EXPECT_TRUE(graph.is_last({1}));
  EXPECT_EQ(slots_needed(graph), 3U);
  EXPECT_TRUE(check_consistent(graph).has_value());
}

TEST(JobGraph, comes_back_from_its_bytes) {
  JobGraph graph = counting_graph();
  graph.nodes[1].alignment_group = "group";
  const auto decoded = from_bytes<JobGraph>(to_bytes(graph));
  ASSERT_TRUE(decoded.has_value()) << decoded.error().message;
  EXPECT_EQ(*decoded, graph);
}

TEST(JobGraph, has_the_same_fingerprint_if_it_is_described_alike) {
  EXPECT_EQ(fingerprint(counting_graph()), fingerprint(counting_graph()));
  EXPECT_NE(fingerprint(counting_graph(3)), fingerprint(counting_graph(4)));
  JobGraph renamed = counting_graph();
  renamed.nodes[1].name = "other";
  EXPECT_NE(fingerprint(renamed), fingerprint(counting_graph()));
  JobGraph elsewhere = counting_graph();
  elsewhere.nodes[2].kind = "csv files into /another/place";
  EXPECT_EQ(fingerprint(elsewhere), fingerprint(counting_graph())) << "paths may differ";
}

TEST(JobGraph, that_makes_no_sense_is_refused_with_the_reason) {
  const auto reason_of = [](auto damage) {
    JobGraph graph = counting_graph();
    damage(graph);
    const auto checked = check_consistent(graph);
    return checked ? std::string("consistent") : checked.error().message;
  };
  EXPECT_NE(reason_of([](JobGraph& g) { g.nodes.clear(); }).find("empty"), std::string::npos);
  EXPECT_NE(reason_of([](JobGraph& g) { g.edges[0].to = {9}; }).find("leads nowhere"),
            std::string::npos);
  EXPECT_NE(reason_of([](JobGraph& g) { g.vertices[1].parallelism = 0; }).find("parallelism"),
            std::string::npos);
  EXPECT_NE(reason_of([](JobGraph& g) {
              g.vertices[0].stages = {{1}, {1}};
            }).find("two places"),
            std::string::npos);
  EXPECT_NE(reason_of([](JobGraph& g) { g.nodes[0].role = StageRole::transform; }).find("source"),
            std::string::npos);
  EXPECT_NE(
      reason_of([](JobGraph& g) { g.nodes[0].role = static_cast<StageRole>(77); }).find("role"),
      std::string::npos);
}

// Damaged bytes give an error or some graph that the check judges: never a crash, never much memory.
TEST(JobGraph, fuzzed_bytes_are_refused_or_checked) {
  Random random(fuzz_seed());
  const MonotonicTime until = system_clock().now() + fuzz_time();
  const Bytes sound = to_bytes(counting_graph());
  std::uint64_t refused = 0;
  while (system_clock().now() < until) {
    Bytes bytes = sound;
    for (std::uint64_t i = random.below(8) + 1; i > 0; --i) {
      switch (random.below(4)) {
        case 0:
          bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
          break;
        case 1:
          bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
          break;
        case 2:
          bytes.resize(random.below(bytes.size()) + 1);
          break;
        default:
          bytes.push_back(static_cast<std::byte>(random.below(256)));
      }
    }
    const auto graph = from_bytes<JobGraph>(bytes);
    if (!graph || !check_consistent(*graph)) ++refused;
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace weir
