#include "actors/diagnosis.h"

#include <gtest/gtest.h>

#include "actors/finding_text.h"
#include "tests/actors/sample_job.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr EventTime noon{1'700'000'000'000};

template <class F>
std::vector<F> findings_of(const Diagnosis& diagnosis) {
  std::vector<F> found;
  for (const Finding& finding : diagnosis.findings) {
    if (const auto* one = std::get_if<F>(&finding)) found.push_back(*one);
  }
  return found;
}

TEST(Diagnosis, of_a_job_that_waits_for_input_finds_nothing) {
  SampleJob job;
  job.spends(0, 0.1, 0);
  job.spends(1, 0.2, 0.1);
  const Diagnosis diagnosis = diagnose(job.sample);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_DOUBLE_EQ(diagnosis.seconds, 1);
}

TEST(Diagnosis, names_the_busy_vertex_behind_the_backpressured_ones) {
  SampleJob job;
  job.spends(0, 0.02, 0.97);
  job.spends(1, 0.05, 0.9);
  job.spends(2, 0.99, 0);
  job.now(2, 0).records_in = 800;
  job.now(2, 0).queued_bytes = 4'096;
  const auto found = findings_of<Bottleneck>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].vertex, VertexId{2});
  EXPECT_FALSE(found[0].subtask);
  EXPECT_NEAR(found[0].busy, 0.99, 1e-6);
  EXPECT_DOUBLE_EQ(found[0].records_per_second, 800);
  EXPECT_EQ(found[0].queued_bytes, 4'096U);
  ASSERT_EQ(found[0].backpressured.size(), 2U);  // nearest first
  EXPECT_EQ(found[0].backpressured[0].vertex, VertexId{1});
  EXPECT_EQ(found[0].backpressured[1].vertex, VertexId{0});
  EXPECT_NEAR(found[0].backpressured[1].share, 0.97, 1e-6);
}

TEST(Diagnosis, names_the_subtask_that_alone_is_busy) {
  SampleJob job;
  job.spends(0, 0, 0.9);
  job.spends(1, 0.1, 0);
  job.now(1, 1).busy_ns = 950'000'000;
  const auto found = findings_of<Bottleneck>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].vertex, VertexId{1});
  EXPECT_EQ(found[0].subtask, SubtaskIndex{1});
  EXPECT_NEAR(found[0].busy_mean, 0.525, 1e-6);
}

TEST(Diagnosis, does_not_blame_a_vertex_that_is_not_busy) {
  SampleJob job;
  job.spends(0, 0, 0.9);
  job.spends(1, 0.2, 0.1);
  job.now(0, 0).in_flight_bytes = 1'000;
  const Diagnosis diagnosis = diagnose(job.sample);
  EXPECT_TRUE(findings_of<Bottleneck>(diagnosis).empty());
  const auto found = findings_of<UnexplainedBackpressure>(diagnosis);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].backpressured.vertex, VertexId{0});
  EXPECT_EQ(found[0].busiest_consumer.vertex, VertexId{1});
  EXPECT_EQ(found[0].in_flight_bytes, 1'000U);
}

TEST(Diagnosis, names_a_source_that_nothing_holds_up) {
  SampleJob job;
  job.spends(0, 0.98, 0.01);
  job.spends(1, 0.6, 0);
  const auto found = findings_of<Bottleneck>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].vertex, VertexId{0});
  EXPECT_TRUE(found[0].backpressured.empty());
}

TEST(Diagnosis, names_a_vertex_that_cannot_keep_up_before_anything_waits_for_it) {
  SampleJob job;
  job.spends(0, 0.1, 0);
  job.spends(1, 0.99, 0);
  job.now(1, 0).queued_bytes = 300;  // the windows are far from full
  const auto found = findings_of<Bottleneck>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].vertex, VertexId{1});
  EXPECT_TRUE(found[0].backpressured.empty());
}

TEST(Diagnosis, does_not_blame_a_busy_vertex_whose_input_is_empty) {
  SampleJob job;
  job.spends(1, 0.99, 0);
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
}

TEST(Diagnosis, of_a_job_that_has_no_slots_says_what_it_waits_for) {
  SampleJob job;
  job.sample.now.status.progress.waiting_for = "3 slots (2 free of 2)";
  const Diagnosis diagnosis = diagnose(job.sample);
  const auto found = findings_of<WaitsForSlots>(diagnosis);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].for_what, "3 slots (2 free of 2)");
  EXPECT_EQ(diagnosis.findings.size(), 1U);
}

TEST(Diagnosis, of_a_job_that_is_restarting_says_why_and_when) {
  SampleJob job;
  job.spends(1, 0.99, 0);
  job.sample.now.status.state = JobState::restarting;
  job.sample.now.status.progress.restarts = 2;
  job.sample.now.status.progress.last_restart = "restarts in 1000 ms, attempt 3: it broke";
  const Diagnosis diagnosis = diagnose(job.sample);
  ASSERT_EQ(diagnosis.findings.size(), 1U);
  const FindingText text = describe(job.sample.graph, diagnosis.findings[0]);
  EXPECT_EQ(text.what, "the job has failed 2 times");
  EXPECT_EQ(
      text.evidence,
      (std::vector<std::string>{"the last word on it: restarts in 1000 ms, attempt 3: it broke"}));
}

// What its tasks did while they were being ended tells nothing.
TEST(Diagnosis, of_a_job_whose_tasks_are_being_ended_says_just_that) {
  SampleJob job;
  job.spends(1, 0.99, 0);
  job.sample.now.status.state = JobState::restarting;
  const Diagnosis diagnosis = diagnose(job.sample);
  ASSERT_EQ(diagnosis.findings.size(), 1U);
  EXPECT_EQ(describe(job.sample.graph, diagnosis.findings[0]).what, "the job has failed 1 time");
}

TEST(Diagnosis, of_a_job_that_runs_again_tells_of_its_failures_first) {
  SampleJob job;
  job.spends(0, 0, 0.97);
  job.spends(1, 1, 0);
  job.sample.now.status.progress.restarts = 6;
  job.sample.now.status.progress.last_restart = "restarts in 4000 ms, attempt 7: it broke";
  const Diagnosis diagnosis = diagnose(job.sample);
  ASSERT_FALSE(diagnosis.findings.empty());
  EXPECT_EQ(describe(job.sample.graph, diagnosis.findings[0]).what, "the job has failed 6 times");
}

TEST(Diagnosis, needs_two_looks_for_bottlenecks) {
  SampleJob job;
  job.spends(0, 0, 0.97);
  job.spends(1, 1, 0);
  job.sample.before.reset();
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
}

TEST(Diagnosis, does_not_compare_different_attempts) {
  SampleJob job;
  job.spends(0, 0, 0.97);
  job.spends(1, 1, 0);
  job.sample.now.attempt = {2};
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
}

TEST(Diagnosis, names_the_source_subtask_that_holds_the_watermark) {
  SampleJob job;
  job.watermark(0, 0, noon);
  job.watermark(0, 1, noon - 10min);
  for (const std::uint32_t subtask : {0U, 1U}) job.watermark(1, subtask, noon - 10min);
  job.watermark(2, 0, noon - 10min);
  const auto found = findings_of<WatermarkHolder>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].task, (TaskId{{0}, {1}}));
  EXPECT_EQ(found[0].behind(), Duration(10min));
  EXPECT_FALSE(found[0].by_queue);
  EXPECT_FALSE(found[0].whole_vertex);
}

TEST(Diagnosis, names_the_source_whose_subtasks_all_hold_the_watermark) {
  SampleJob job;
  // A second source, far ahead, that "count" reads too.
  job.sample.graph.nodes.push_back({{4}, "more", "text files", StageRole::source, false});
  job.sample.graph.vertices.push_back({{3}, "more", {{4}}, 1, 128, "default", false});
  job.sample.graph.edges.push_back({{3}, 0, {1}, {0}, Partitioning::hash});
  TaskInfo ahead = job.sample.now.tasks.back();
  ahead.task = ahead.report.task = {{3}, {0}};
  ahead.report.watermark = noon;
  job.sample.now.tasks.push_back(ahead);
  ahead.report.at_ns -= SampleJob::second_ns;
  job.sample.before->tasks.push_back(ahead);
  for (const std::uint32_t subtask : {0U, 1U}) {
    job.watermark(0, subtask, noon - 10min + Duration{subtask});
    job.watermark(1, subtask, noon - 10min);
  }
  job.watermark(2, 0, noon - 10min);
  const auto found = findings_of<WatermarkHolder>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].task, (TaskId{{0}, {0}}));
  EXPECT_TRUE(found[0].whole_vertex);
  EXPECT_EQ(found[0].behind(), Duration(10min));
}

TEST(Diagnosis, names_an_input_that_has_given_no_watermark) {
  SampleJob job;
  job.watermark(0, 0, noon);
  const auto found = findings_of<WatermarkHolder>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].task, (TaskId{{0}, {1}}));
  EXPECT_FALSE(found[0].behind());
  EXPECT_EQ(found[0].others, noon);
}

TEST(Diagnosis, passes_over_an_input_that_is_idle) {
  SampleJob job;
  job.watermark(0, 0, noon);
  job.watermark(0, 1, noon - 10min);  // yet those behind it have gone on
  for (const std::uint32_t subtask : {0U, 1U}) job.watermark(1, subtask, noon);
  job.watermark(2, 0, noon);
  EXPECT_TRUE(findings_of<WatermarkHolder>(diagnose(job.sample)).empty());
}

TEST(Diagnosis, passes_over_a_watermark_that_is_hardly_behind) {
  SampleJob job;
  job.watermark(0, 0, noon);
  job.watermark(0, 1, noon - 10min);
  for (const std::uint32_t subtask : {0U, 1U}) job.watermark(1, subtask, noon - 10min);
  job.watermark(2, 0, noon - 10min);
  job.before(0, 0).watermark = noon - 1h;  // a replay: an hour a second
  EXPECT_TRUE(findings_of<WatermarkHolder>(diagnose(job.sample)).empty());
}

TEST(Diagnosis, names_the_vertex_whose_queue_holds_the_watermark) {
  SampleJob job;
  for (const std::uint32_t subtask : {0U, 1U}) {
    job.watermark(0, subtask, noon);
    job.watermark(1, subtask, noon - 1s);
  }
  job.watermark(2, 0, noon - 2min);
  job.now(2, 0).queued_bytes = 512;
  const auto found = findings_of<WatermarkHolder>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].task, (TaskId{{2}, {0}}));
  EXPECT_TRUE(found[0].by_queue);
  EXPECT_EQ(found[0].queued_bytes, 512U);
}

TEST(Diagnosis, finds_nothing_about_watermarks_without_event_time) {
  EXPECT_TRUE(findings_of<WatermarkHolder>(diagnose(SampleJob().sample)).empty());
}

TEST(Diagnosis, names_a_skewed_subtask_and_its_key_group) {
  SampleJob job;
  job.now(1, 0).records_in = 1'000;
  job.now(1, 1).records_in = 9'000;
  for (const std::uint32_t producer : {0U, 1U}) {
    job.now(0, producer).exchanges[0] = {.sampled_records = 100,
                                         .largest_group_records = 70 + producer * 10,
                                         .largest_group = 100};  // of 128, so subtask 1
  }
  const auto found = findings_of<Skew>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].task, (TaskId{{1}, {1}}));
  EXPECT_DOUBLE_EQ(found[0].factor(), 9);
  ASSERT_TRUE(found[0].key_group);
  EXPECT_EQ(found[0].key_group->group, KeyGroup{100});
  EXPECT_DOUBLE_EQ(found[0].key_group->share, 0.75);
  EXPECT_EQ(found[0].key_group->sampled_records, 200U);
}

TEST(Diagnosis, names_no_key_group_where_none_stands_out) {
  SampleJob job;
  job.now(1, 1).records_in = 9'000;
  job.now(0, 0).exchanges[0] = {
      .sampled_records = 100, .largest_group_records = 3, .largest_group = 100};
  const auto found = findings_of<Skew>(diagnose(job.sample));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].key_group);
}

TEST(Diagnosis, passes_over_few_records_and_even_ones) {
  SampleJob job;
  job.now(1, 1).records_in = skew_records_min - 1;
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
  job.now(1, 0).records_in = 6'000;
  job.now(1, 1).records_in = 10'000;
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
}

SplitOverview two_splits(EventTime least, EventTime furthest) {
  return {.splits = 2,
          .idle = 0,
          .idle_ids = {},
          .holder = "old.log",
          .least = least,
          .furthest = furthest};
}

TEST(Diagnosis, names_the_split_that_the_source_which_holds_the_watermark_reads) {
  SampleJob job;
  job.watermark(0, 0, noon);
  job.watermark(0, 1, noon - 10min);
  for (const std::uint32_t subtask : {0U, 1U}) job.watermark(1, subtask, noon - 10min);
  job.watermark(2, 0, noon - 10min);
  job.now(0, 1).splits = two_splits(noon - 10min, noon);
  job.now(0, 1).splits.splits = 3;
  job.now(0, 1).splits.idle = 1;
  job.now(0, 1).splits.idle_ids = {"silent.log"};
  const Diagnosis diagnosis = diagnose(job.sample);
  ASSERT_EQ(diagnosis.findings.size(), 1U) << "the split is part of that";
  const FindingText text = describe(job.sample.graph, diagnosis.findings[0]);
  EXPECT_EQ(text.kind, "watermark");
  EXPECT_EQ(text.evidence.back(),
            "it reads 3 splits, of which 1 split is idle (silent.log); the furthest behind is "
            "'old.log'");
}

TEST(Diagnosis, names_a_split_that_is_behind_the_others_of_its_subtask) {
  SampleJob job;
  for (const std::uint32_t subtask : {0U, 1U}) {
    job.watermark(0, subtask, noon);
    job.watermark(1, subtask, noon);
  }
  job.watermark(2, 0, noon);
  job.now(0, 1).splits = two_splits(noon, noon + 10min);
  const Diagnosis diagnosis = diagnose(job.sample);
  const auto found = findings_of<SplitHolder>(diagnosis);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].task, (TaskId{{0}, {1}}));
  EXPECT_EQ(found[0].behind(), Duration(10min));
  EXPECT_EQ(
      describe(job.sample.graph, diagnosis.findings[0]).what,
      "split 'old.log' of 'lines → times (2/2)' holds the watermark: it is 10 min 0 s behind");
  job.now(0, 1).splits.least = EventTime::min();
  EXPECT_EQ(describe(job.sample.graph, diagnose(job.sample).findings[0]).what,
            "split 'old.log' of 'lines → times (2/2)' holds the watermark: it has given none yet");
}

TEST(Diagnosis, does_not_mind_splits_that_are_about_as_far_as_others) {
  SampleJob job;
  job.now(0, 1).splits = two_splits(noon, noon + 1s);
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
}

TEST(Diagnosis, says_which_group_a_source_waits_for_and_who_is_the_slowest_of_it) {
  SampleJob job;
  job.sample.graph.nodes[1].alignment_group = "visits";
  for (const std::uint32_t subtask : {0U, 1U}) job.watermark(1, subtask, noon - 3s);
  job.watermark(2, 0, noon - 3s);
  job.watermark(0, 0, noon);
  job.watermark(0, 1, noon - 3s);
  job.now(0, 0).waits_for = NodeId{1};
  const Diagnosis diagnosis = diagnose(job.sample);
  const auto found = findings_of<WaitsForGroup>(diagnosis);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].vertex, VertexId{0});
  EXPECT_EQ(found[0].waiting, 1U);
  EXPECT_EQ(found[0].group, "visits");
  EXPECT_EQ(found[0].slowest, (TaskId{{0}, {1}}));
  const FindingText text = describe(job.sample.graph, diagnosis.findings[0]);
  EXPECT_EQ(text.kind, "alignment");
  EXPECT_EQ(text.what,
            "'lines → times' waits for alignment group 'visits': it is ahead of it by more than it "
            "may be");
  EXPECT_EQ(text.evidence,
            (std::vector<std::string>{
                "1 of its 2 subtasks wait", "its watermark is 2023-11-14T22:13:20Z",
                "the slowest of the group, 'lines → times (2/2)', is at 2023-11-14T22:13:17Z"}));
}

TEST(Diagnosis, takes_no_step_that_is_not_there_for_one_that_is_waited_for) {
  SampleJob job;
  job.now(0, 0).waits_for = NodeId{99};
  EXPECT_TRUE(diagnose(job.sample).findings.empty());
}

}  // namespace
}  // namespace weir
