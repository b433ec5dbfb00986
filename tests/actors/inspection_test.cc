#include "actors/inspection.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "actors/finding_text.h"
#include "actors/inspection_json.h"
#include "actors/inspection_text.h"
#include "actors/text_table.h"
#include "tests/actors/sample_job.h"

namespace weir {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

json topology_of(const SampleJob& job) {
  return json::parse(topology_json(job.sample, JsonLayout::indented));
}

TaskReport report_at(std::int64_t ns, std::uint64_t busy_ns, std::uint64_t backpressured_ns) {
  TaskReport report;
  report.at_ns = ns;
  report.busy_ns = busy_ns;
  report.backpressured_ns = backpressured_ns;
  return report;
}

TEST(TaskActivity, is_the_difference_over_the_time_between) {
  const TaskReport before = report_at(1'000, 5, 7);
  TaskReport after = before;
  after.at_ns += 2'000'000'000;
  after.records_in += 300;
  after.bytes_in += 400;
  after.busy_ns += 500'000'000;
  after.backpressured_ns += 1'000'000'000;
  const auto activity = activity_between(before, after);
  ASSERT_TRUE(activity);
  EXPECT_DOUBLE_EQ(activity->seconds, 2);
  EXPECT_DOUBLE_EQ(activity->records_in, 150);
  EXPECT_DOUBLE_EQ(activity->bytes_in, 200);
  EXPECT_DOUBLE_EQ(activity->busy, 0.25);
  EXPECT_DOUBLE_EQ(activity->backpressured, 0.5);
  EXPECT_DOUBLE_EQ(activity->idle, 0.25);
}

TEST(TaskActivity, shares_are_never_more_than_the_whole) {
  const auto activity = activity_between(report_at(1, 0, 0), report_at(1'001, 900, 900));
  ASSERT_TRUE(activity);
  EXPECT_DOUBLE_EQ(activity->busy, 0.9);
  EXPECT_DOUBLE_EQ(activity->backpressured, 0.1);
  EXPECT_NEAR(activity->idle, 0, 1e-9);
}

TEST(TaskActivity, needs_two_reports_in_order) {
  EXPECT_FALSE(activity_between(report_at(0, 0, 0), report_at(5, 0, 0)));
  EXPECT_FALSE(activity_between(report_at(5, 0, 0), report_at(5, 0, 0)));
  EXPECT_FALSE(activity_between(report_at(6, 0, 0), report_at(5, 0, 0)));
}

TEST(EdgeTraffic, adds_up_producers_and_consumers) {
  SampleJob job;
  for (const std::uint32_t subtask : {0U, 1U}) {
    job.before(0, subtask).exchanges[0].records_out = 50;
    job.now(0, subtask).exchanges[0] = {
        .records_out = 150, .bytes_out = 2'000, .in_flight_bytes = 30, .window_bytes = 100};
    job.now(1, subtask).queued_bytes = 7;
  }
  const EdgeTraffic traffic = traffic_on(job.sample, job.sample.graph.edges[0]);
  EXPECT_EQ(traffic.channels, 4U);
  EXPECT_EQ(traffic.records, 300U);
  EXPECT_EQ(traffic.bytes, 4'000U);
  EXPECT_EQ(traffic.in_flight_bytes, 60U);
  EXPECT_EQ(traffic.window_bytes, 200U);
  EXPECT_EQ(traffic.queued_bytes, 14U);
  ASSERT_TRUE(traffic.records_per_second);
  EXPECT_DOUBLE_EQ(*traffic.records_per_second, 200);
}

TEST(Settled, tasks_that_have_ended_have_nothing_in_flight) {
  SampleJob job;
  for (TaskInfo& task : job.sample.now.tasks) {
    task.report.queued_bytes = task.report.in_flight_bytes = 10;
    for (ExchangeReport& exchange : task.report.exchanges) exchange.in_flight_bytes = 10;
  }
  job.sample.now.tasks[0].state = TaskState::finished;
  const JobDetails details = settled(job.sample.now);
  EXPECT_EQ(details.tasks[0].report.in_flight_bytes, 0U);
  EXPECT_EQ(details.tasks[0].report.queued_bytes, 0U);
  EXPECT_EQ(details.tasks[0].report.exchanges[0].in_flight_bytes, 0U);
  EXPECT_EQ(details.tasks[1].report.in_flight_bytes, 10U);
}

TEST(FindTasks, knows_the_ways_to_name_them) {
  const JobGraph graph = sample_graph();
  EXPECT_EQ(find_tasks(graph, "count (2/2)"), (std::vector<TaskId>{{{1}, {1}}}));
  EXPECT_EQ(find_tasks(graph, "1/0"), (std::vector<TaskId>{{{1}, {0}}}));
  EXPECT_EQ(find_tasks(graph, "count").size(), 2U);
  EXPECT_EQ(find_tasks(graph, "lines → times").size(), 2U);
  EXPECT_EQ(find_tasks(graph, "times"), (std::vector<TaskId>{{{0}, {0}}, {{0}, {1}}}));
  EXPECT_TRUE(find_tasks(graph, "count (3/2)").empty());
}

TEST(TextTable, lines_up_numbers_to_the_right) {
  TextTable table({{"NAME"}, {"COUNT", Align::right}, {"STATE"}});
  table.add({"a", "1", "RUNNING"});
  table.add({"lines → out", "1,000", "FAILED"});
  EXPECT_EQ(table.text(),
            "NAME         COUNT  STATE\n"
            "a                1  RUNNING\n"
            "lines → out  1,000  FAILED\n");
}

TEST(NodesJson, has_the_documented_fields) {
  const NodeList nodes{{{{"alpha", "worker", "10.0.0.1", "0.1.0", 4711, 2, 0}, 1, 40},
                        {{"master", "master", "10.0.0.1:7000", "0.1.0", 4710, 0, 0}, 0, 0}}};
  const json read = json::parse(nodes_json(nodes, JsonLayout::one_line));
  ASSERT_EQ(read["nodes"].size(), 2U);
  const json& worker = read["nodes"][0];
  EXPECT_EQ(worker["id"], "alpha");
  EXPECT_EQ(worker["role"], "worker");
  EXPECT_EQ(worker["address"], "10.0.0.1");
  EXPECT_EQ(worker["slots"], 2);
  EXPECT_EQ(worker["free_slots"], 1);
  EXPECT_NE(nodes_text(nodes).find("alpha   worker  10.0.0.1"), std::string::npos)
      << nodes_text(nodes);
}

TEST(TopologyJson, is_a_tree_of_nodes_processes_and_tasks) {
  SampleJob job;
  job.spends(1, 0.25, 0.5);
  job.now(1, 1).records_in = 1'234;
  job.watermark(1, 1, EventTime{1'431'857'103'000});
  const json read = topology_of(job);
  EXPECT_EQ(read["job"], "000000000000002a");
  EXPECT_DOUBLE_EQ(read["seconds"], 1);
  ASSERT_EQ(read["nodes"].size(), 2U);
  const json& process = read["nodes"][1]["processes"][0];
  EXPECT_EQ(process["process"], 4712);
  EXPECT_EQ(process["data_address"], "127.0.0.1:40002");
  ASSERT_EQ(process["tasks"].size(), 2U);  // the second subtasks of two vertices
  const json& task = process["tasks"][1];
  EXPECT_EQ(task["task"], "count (2/2)");
  EXPECT_EQ(task["state"], "RUNNING");
  EXPECT_EQ(task["records_in"], 1'234);
  EXPECT_EQ(task["records_in_per_second"], 1'234);
  EXPECT_EQ(task["watermark"], "2015-05-17T10:05:03Z");
  EXPECT_NEAR(task["busy"].get<double>(), 0.25, 1e-6);
  EXPECT_NEAR(task["backpressured"].get<double>(), 0.5, 1e-6);
  EXPECT_EQ(task["operators"][0]["name"], "count");
}

TEST(TopologyJson, says_null_for_what_two_looks_would_show) {
  SampleJob job;
  job.sample.before.reset();
  const json read = topology_of(job);
  EXPECT_TRUE(read["seconds"].is_null());
  EXPECT_TRUE(read["nodes"][0]["processes"][0]["tasks"][0]["busy"].is_null());
  EXPECT_TRUE(read["nodes"][0]["processes"][0]["tasks"][0]["watermark"].is_null());
}

TEST(Json, on_one_line_is_one_line) {
  const std::string line = channels_json(SampleJob().sample, JsonLayout::one_line);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_EQ(json::parse(line)["channels"].size(), 2U);
}

TEST(ExceptionsJson, keeps_bytes_that_are_not_utf8_from_breaking_it) {
  JobDetails job;
  job.exceptions.push_back({{1}, {5}, "count (1/2)", "alpha", {Errc::bad_record, "bad \xff byte"}});
  const json read = json::parse(exceptions_json(job, JsonLayout::indented));
  EXPECT_EQ(read["exceptions"][0]["code"], "bad_record");
  EXPECT_EQ(read["exceptions"][0]["node"], "alpha");
}

TEST(ExceptionsText, shows_all_lines_of_a_message) {
  const std::string text = exceptions_text({{{1},
                                             {1'700'000'000'000},
                                             "count (1/2)",
                                             "alpha",
                                             {Errc::process_lost, "died\nlast words"}}});
  EXPECT_EQ(text,
            "2023-11-14T22:13:20Z  attempt 1  count (1/2)  on node alpha  process_lost\n"
            "  died\n"
            "  last words\n");
  EXPECT_EQ(exceptions_text({}), "no exceptions\n");
}

TEST(TopologyText, shows_who_runs_where_and_what_it_does) {
  SampleJob job;
  job.spends(2, 0.99, 0);
  job.now(2, 0).records_in = 12'345;
  EXPECT_NE(topology_text(job.sample)
                .find("    out (1/1)  RUNNING  busy 99 %, backpressured 0 %, idle 1 %\n"
                      "      in  12,345 records  0 B  12,345/s  0 B/s  queued 0 B\n"
                      "      watermark none yet\n"
                      "      · out  [print]\n"),
            std::string::npos)
      << topology_text(job.sample);
}

// A source with splits that waits for others.
SampleJob job_with_splits() {
  SampleJob job;
  job.sample.graph.nodes[1].alignment_group = "visits";
  job.now(0, 0).waits_for = NodeId{1};
  job.now(0, 0).splits = {.splits = 3,
                          .idle = 2,
                          .idle_ids = {"a.log", "b.log"},
                          .holder = "c.log",
                          .least = EventTime{1'431'857'103'000},
                          .furthest = EventTime{1'431'857'104'000}};
  return job;
}

TEST(TopologyText, shows_the_splits_of_a_source_and_the_group_that_it_waits_for) {
  EXPECT_NE(topology_text(job_with_splits().sample)
                .find("      watermark none yet\n"
                      "      3 splits  least c.log  idle 2 a.log b.log\n"
                      "      waits for alignment group visits\n"
                      "      · lines  [text files]\n"),
            std::string::npos)
      << topology_text(job_with_splits().sample);
}

TEST(TopologyJson, has_the_splits_of_a_source_and_the_group_that_it_waits_for) {
  const json read = topology_of(job_with_splits());
  const json& task = read["nodes"][0]["processes"][0]["tasks"][0];
  EXPECT_EQ(task["waits_for_group"], "visits");
  EXPECT_EQ(task["splits"], (json{{"count", 3},
                                  {"idle", 2},
                                  {"idle_ids", {"a.log", "b.log"}},
                                  {"holder", "c.log"},
                                  {"watermark", "2015-05-17T10:05:03Z"},
                                  {"furthest", "2015-05-17T10:05:04Z"}}));
  const json& other = read["nodes"][1]["processes"][0]["tasks"][0];
  EXPECT_TRUE(other["splits"].is_null());
  EXPECT_TRUE(other["waits_for_group"].is_null());
}

TEST(DoctorJson, has_the_figures_of_a_source_that_waits) {
  const SampleJob job = job_with_splits();
  const json read =
      json::parse(doctor_json(job.sample, diagnose(job.sample), JsonLayout::indented));
  ASSERT_EQ(read["findings"].size(), 1U);
  const json& found = read["findings"][0];
  EXPECT_EQ(found["kind"], "alignment");
  EXPECT_EQ(found["group"], "visits");
  EXPECT_EQ(found["waiting"], 1);
  EXPECT_EQ(found["slowest"], "lines → times (2/2)");
  EXPECT_TRUE(found["slowest_watermark"].is_null());
}

TEST(DoctorText, gives_evidence_and_advice) {
  SampleJob job;
  job.spends(0, 0.02, 0.97);
  job.spends(1, 0.05, 0.9);
  job.spends(2, 0.99, 0);
  job.now(2, 0).records_in = 800;
  const std::string text = doctor_text(job.sample, diagnose(job.sample));
  EXPECT_EQ(text,
            "job 000000000000002a  visits  RUNNING  (rates over 1.0 s)\n"
            "\n"
            "bottleneck: 'out' is the bottleneck: busy 99 % of the time while what is before it "
            "waits\n"
            "  - 'count' before it is backpressured 90 % of the time\n"
            "  - 'lines → times' before it is backpressured 97 % of the time\n"
            "  - it takes in 800/s records, and 0 B wait in its input\n"
            "  → give 'out' more subtasks, .parallelism(N) with N above 1, or make its function "
            "cheaper; mark it .blocking() if it waits for something outside\n");
}

TEST(DoctorText, says_when_nothing_stands_out) {
  const SampleJob job;
  EXPECT_EQ(doctor_text(job.sample, diagnose(job.sample)),
            "job 000000000000002a  visits  RUNNING  (rates over 1.0 s)\nnothing stands out\n");
}

TEST(DoctorJson, has_the_figures_of_each_finding) {
  SampleJob job;
  job.now(1, 0).records_in = 1'000;
  job.now(1, 1).records_in = 9'000;
  const json read =
      json::parse(doctor_json(job.sample, diagnose(job.sample), JsonLayout::indented));
  ASSERT_EQ(read["findings"].size(), 1U);
  EXPECT_EQ(read["findings"][0]["kind"], "skew");
  EXPECT_EQ(read["findings"][0]["task"], "count (2/2)");
  EXPECT_DOUBLE_EQ(read["findings"][0]["factor"], 9);
  EXPECT_TRUE(read["findings"][0]["key_group"].is_null());
}

TEST(DurationText, is_short) {
  EXPECT_EQ(duration_text(250ms), "250 ms");
  EXPECT_EQ(duration_text(1'500ms), "1.5 s");
  EXPECT_EQ(duration_text(200s), "3 min 20 s");
  EXPECT_EQ(duration_text(125min), "2 h 5 min");
}

}  // namespace
}  // namespace weir
