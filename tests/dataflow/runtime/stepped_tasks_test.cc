#include "dataflow/runtime/stepped_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/dataflow/plan/random_job.h"

namespace weir {
namespace {

// Everything of the data plane together: splits, chains, exchanges, credit, gates and ends.
TEST(SteppedTasks, every_record_of_a_random_job_arrives_once) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomJob job(seed);
    const PlanSettings settings{
        .parallelism = job.parallelism(), .max_parallelism = {}, .chaining = seed % 2 == 0};
    const ManualClock clock;
    SteppedTasks tasks(make_physical_plan(job.plan(), settings), clock, {.random_seed = seed});
    ASSERT_TRUE(tasks.open());
    const auto ran = tasks.run_until_quiet();
    ASSERT_TRUE(ran) << ran.error().message;
    ASSERT_TRUE(tasks.finished());
    for (const auto& sink : job.sinks()) ASSERT_EQ(sink.rows->rows().size(), sink.expected_count);
  }
}

TEST(SteppedTasks, a_run_is_the_same_each_time) {
  const auto run = [] {
    RandomJob job(5);
    const ManualClock clock;
    SteppedTasks tasks(
        make_physical_plan(job.plan(), {.parallelism = 3, .max_parallelism = {}, .chaining = true}),
        clock, {});
    EXPECT_TRUE(tasks.open());
    EXPECT_TRUE(tasks.run_until_quiet());
    std::vector<int> rows;
    for (const auto& sink : job.sinks()) {
      const auto some = sink.rows->rows();
      rows.insert(rows.end(), some.begin(), some.end());
    }
    return rows;
  };
  EXPECT_EQ(run(), run());
}

TEST(SteppedTasks, a_source_whose_input_is_missing_fails_to_open) {
  Job job("test");
  job.source("lines", text_files("/does/not/exist/*")).to("out", discard());
  const ManualClock clock;
  SteppedTasks tasks(make_physical_plan(job.plan(), {}), clock, {});
  const auto opened = tasks.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::input_missing);
}

}  // namespace
}  // namespace weir
