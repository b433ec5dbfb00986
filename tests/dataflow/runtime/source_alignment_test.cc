// A source that waits for others: the task of it.
#include "dataflow/runtime/source_alignment.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/api/job.h"
#include "dataflow/connectors/discard.h"
#include "tests/dataflow/runtime/partitioned_source.h"
#include "tests/dataflow/runtime/source_task.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;
using Reports = std::vector<std::vector<StepWatermark>>;

// A source of one partition, a record a poll, and its aligned event_time, which is step 1.
template <class Strategy>
std::shared_ptr<const PhysicalPlan> plan_of(std::shared_ptr<Partitions> partitions,
                                            Strategy strategy) {
  Job job("test");
  job.source("times", PartitionedSource(std::move(partitions), 1))
      .event_time([](std::int64_t ms) { return EventTime{ms}; }, strategy)
      .to("out", discard())
      .no_chain();
  return make_physical_plan(job.plan(), {});
}

std::shared_ptr<Partitions> one_partition(std::vector<std::int64_t> times) {
  auto partitions = std::make_shared<Partitions>(1);
  partitions->front().times.assign(times.begin(), times.end());
  return partitions;
}

std::vector<StepWatermark> group_at(EventTime least) {
  return {{NodeId{1}, least}};
}
std::vector<StepWatermark> group_at(std::int64_t least) {
  return group_at(EventTime{least});
}

TEST(SourceAlignment, a_source_reads_until_it_has_a_watermark_and_waits_for_the_first_answer) {
  SourceTask task(plan_of(one_partition({100, 200, 300}), monotonous().with_alignment("g", 1s)));
  EXPECT_EQ(task.run(), StepOutcome::Kind::waiting);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"100", "WM 99"}));
  EXPECT_EQ(task.reports, (Reports{group_at(99)}));
  task.core().align(group_at(99));
  (void)task.run();
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"200", "WM 199", "300", "WM 299"}));
}

TEST(SourceAlignment, a_source_that_is_beyond_its_group_is_not_read_from) {
  SourceTask task(
      plan_of(one_partition({100, 1100, 1101, 1102, 1103}), monotonous().with_alignment("g", 1s)));
  (void)task.run();
  task.core().align(group_at(100));  // so up to 1100
  (void)task.run();
  EXPECT_EQ(task.take_sent<std::int64_t>(),
            (Texts{"100", "WM 99", "1100", "WM 1099", "1101", "WM 1100", "1102", "WM 1101"}));
  EXPECT_EQ(task.metrics.waits_for_step.load(), 1U + 1U);
  task.core().align(group_at(101));
  (void)task.run();
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"1103", "WM 1102"}));
}

TEST(SourceAlignment, reports_come_at_the_interval_whatever_the_task_does) {
  SourceTask task(plan_of(one_partition({100, 200}), monotonous().with_alignment("g", 1s, 500ms)));
  (void)task.run_for(1600ms);
  EXPECT_EQ(task.reports, (Reports{group_at(99), group_at(99), group_at(99), group_at(99)}));
  task.core().align(group_at(99));
  (void)task.run();
  EXPECT_EQ(task.reports.size(), 4U) << "and not before, so that their rate is bounded";
}

TEST(SourceAlignment, a_source_that_waits_passes_barriers_on) {
  SourceTask task(plan_of(one_partition({100, 200}), monotonous().with_alignment("g", 0s)));
  (void)task.run();
  (void)task.take_sent<std::int64_t>();
  task.core().trigger_checkpoint({7});
  (void)task.run();
  EXPECT_EQ(task.take_sent<std::int64_t>(), Texts{"BARRIER 7"});
  EXPECT_EQ(task.acknowledged, std::vector{CheckpointId{7}});
}

TEST(SourceAlignment, an_idle_source_holds_nobody) {
  SourceTask task(
      plan_of(one_partition({100}), monotonous().with_idleness(2s).with_alignment("g", 1s)));
  (void)task.run();
  task.core().align(group_at(99));
  (void)task.run_for(5s);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"100", "WM 99", "IDLE"}));
  EXPECT_EQ(task.reports.back(), group_at(EventTime::max()));
}

TEST(SourceAlignment, the_time_that_a_source_waits_for_others_is_no_idleness) {
  SourceTask task(
      plan_of(one_partition({100, 200}), monotonous().with_idleness(2s).with_alignment("g", 1s)));
  (void)task.run_for(1min);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"100", "WM 99"}));
  task.core().align(group_at(1000));
  (void)task.run_for(1s);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"200", "WM 199"}));
  (void)task.run_for(5s);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"IDLE"})) << "now it is silent";
}

TEST(SourceAlignment, a_source_that_has_ended_holds_nobody) {
  auto partitions = one_partition({100});
  partitions->front().closed = true;
  SourceTask task(plan_of(partitions, monotonous().with_alignment("g", 1s)));
  (void)task.run();
  task.core().align(group_at(99));
  EXPECT_EQ(task.run(), StepOutcome::Kind::finished);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"100", "WM 99", "WM MAX", "END"}));
}

TEST(SourceAlignment, of_a_chain_that_is_not_aligned_says_nothing) {
  SourceTask task(plan_of(one_partition({100, 200}), monotonous()));
  (void)task.run_for(10s);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"100", "WM 99", "200", "WM 199"}));
  EXPECT_TRUE(task.reports.empty());
}

}  // namespace
}  // namespace weir
