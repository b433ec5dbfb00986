// Watermarks of the splits of a source, from its reader to a window behind them.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dataflow/api/job.h"
#include "dataflow/connectors/collect.h"
#include "dataflow/connectors/discard.h"
#include "dataflow/runtime/stepped_tasks.h"
#include "tests/dataflow/runtime/partitioned_source.h"
#include "tests/dataflow/runtime/source_task.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

EventTime as_time(std::int64_t ms) {
  return EventTime{ms};
}

// Two partitions of the same times. The second has a tenth of the records, so it is far ahead when both are read in turns.
std::shared_ptr<Partitions> uneven_partitions() {
  auto partitions = std::make_shared<Partitions>(2);
  for (std::int64_t ms = 0; ms < 20'000; ++ms) (*partitions)[0].times.push_back(ms);
  for (std::int64_t ms = 0; ms < 20'000; ms += 10) (*partitions)[1].times.push_back(ms);
  for (Partition& partition : *partitions) partition.closed = true;
  return partitions;
}

// How many records of these partitions are late for windows of 100 ms, with an event_time that is made by `step`.
template <class Step>
std::uint64_t late_records(Step step, PlanSettings settings = {}) {
  Job job("test");
  const auto rows = step(job.source("times", PartitionedSource(uneven_partitions(), 5)))
                        .window_all(Tumbling::of(100ms))
                        .count("count")
                        .collect();
  const ManualClock clock;
  SteppedTasks tasks(make_physical_plan(job.plan(), settings), clock, {});
  EXPECT_TRUE(tasks.open());
  EXPECT_TRUE(tasks.run_until_quiet());
  EXPECT_TRUE(tasks.finished());
  std::int64_t counted = 0;
  for (const auto& row : rows->rows()) counted += row.value;
  EXPECT_EQ(counted + static_cast<std::int64_t>(tasks.late_records_dropped()), 22'000);
  return tasks.late_records_dropped();
}

TEST(SplitWatermarksOfAJob, make_no_record_late_for_being_in_another_split_that_is_ahead) {
  EXPECT_EQ(late_records([](const Stream<std::int64_t>& times) {
              return times.event_time(as_time, monotonous());
            }),
            0U);
}

TEST(SplitWatermarksOfAJob, pass_steps_that_put_out_what_they_make_of_each_record) {
  EXPECT_EQ(late_records([](const Stream<std::int64_t>& times) {
              return times.map([](std::int64_t ms) { return ms * 2; })
                  .filter([](std::int64_t) { return true; })
                  .flat_map([](std::int64_t ms) { return std::vector{ms / 2}; })
                  .parse("same", [](std::int64_t ms) { return std::optional(ms); })
                  .event_time(as_time, monotonous())
                  .event_time(as_time, monotonous());
            }),
            0U);
}

// What shows that the tests above can fail: behind an exchange, nobody knows of splits.
TEST(SplitWatermarksOfAJob, need_an_event_time_that_is_chained_to_the_source) {
  const auto in_a_task_of_its_own = [](const Stream<std::int64_t>& times) {
    return times.event_time(as_time, monotonous()).start_new_chain();
  };
  EXPECT_GT(late_records(in_a_task_of_its_own), 0U);
}

// The chain of source and event_time with these watermarks, alone.
template <class Strategy>
std::shared_ptr<const PhysicalPlan> plan_of(std::shared_ptr<Partitions> partitions,
                                            Strategy strategy) {
  Job job("test");
  job.source("times", PartitionedSource(std::move(partitions), 10))
      .event_time(as_time, strategy)
      .to("out", discard())
      .no_chain();
  return make_physical_plan(job.plan(), {});
}

TEST(SplitWatermarksOfAJob, follow_each_batch_with_the_least_of_all_splits) {
  auto partitions = std::make_shared<Partitions>(2);
  (*partitions)[0].times = {10, 20};
  SourceTask task(plan_of(partitions, monotonous()));
  (void)task.run();
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"10", "20"})) << "the other has none yet";
  (*partitions)[1].times = {5};
  (void)task.run_for(2ms);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"5", "WM 4"}));
  (*partitions)[1].times = {30};
  (*partitions)[1].closed = true;
  (void)task.run_for(2ms);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"30", "WM 19"}));
  (*partitions)[0].times = {40};
  (void)task.run_for(2ms);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"40", "WM 39"})) << "the other has ended";
  (*partitions)[0].closed = true;
  (void)task.run_for(2ms);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"WM MAX", "END"}));
}

TEST(SplitWatermarksOfAJob, know_idleness_per_split) {
  auto partitions = std::make_shared<Partitions>(2);
  SourceTask task(plan_of(partitions, monotonous().with_idleness(1s)));
  for (std::int64_t i = 0; i < 20; ++i) {
    (*partitions)[0].times.push_back(i * 100);
    (void)task.run_for(100ms);
  }
  EXPECT_EQ(task.take_sent<std::int64_t>().back(), "WM 1899") << "the other is idle";
  (void)task.run_for(2s);
  EXPECT_EQ(task.take_sent<std::int64_t>(), Texts{"IDLE"});
  (*partitions)[1].times = {1000};
  (void)task.run_for(2ms);
  EXPECT_EQ(task.take_sent<std::int64_t>(), (Texts{"1000", "ACTIVE"}));
}

}  // namespace
}  // namespace weir
