#include "actors/pipelined_regions.h"

#include <gtest/gtest.h>

#include "actors/run.h"
#include "dataflow/api/weir.h"

namespace weir {
namespace {

JobGraph graph_of(Job& job) {
  return make_job_graph(**make_plan(job, {.parallelism = 2}));
}

void add_pipeline(Job& job, const std::string& name) {
  (void)job.source(name, from_sequence(0, 9))
      .key_by([](std::int64_t n) { return n; })
      .count("count of " + name)
      .collect();
}

TEST(PipelinedRegions, vertices_joined_by_edges_are_one) {
  Job job("one");
  add_pipeline(job, "numbers");
  const auto regions = pipelined_regions(graph_of(job));
  ASSERT_EQ(regions.size(), 1U);
  EXPECT_EQ(regions.front().size(), 2U);
}

TEST(PipelinedRegions, pipelines_that_share_nothing_are_apart) {
  Job job("two");
  add_pipeline(job, "first");
  add_pipeline(job, "second");
  const JobGraph graph = graph_of(job);
  const auto regions = pipelined_regions(graph);
  ASSERT_EQ(regions.size(), 2U);
  for (const auto& region : regions) {
    EXPECT_EQ(region.size(), 2U);
    for (const PhysicalEdge& edge : graph.edges) {
      const bool from = std::ranges::find(region, edge.from) != region.end();
      const bool to = std::ranges::find(region, edge.to) != region.end();
      EXPECT_EQ(from, to);
    }
  }
}

TEST(PipelinedRegions, pipelines_that_meet_are_one) {
  Job job("meeting");
  const auto left = job.source("left", from_sequence(0, 9)).rebalance();
  const auto right = job.source("right", from_sequence(0, 9)).rebalance();
  (void)left.union_with(right).map([](std::int64_t n) { return n; }).collect();
  EXPECT_EQ(pipelined_regions(graph_of(job)).size(), 1U);
}

}  // namespace
}  // namespace weir
