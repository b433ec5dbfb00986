// A job as tests of what is said about jobs have it: source (2) —hash→ count (2) —rebalance→ out (1).
#pragma once

#include <cstdint>
#include <string>

#include "actors/inspection.h"

namespace weir {

inline JobGraph sample_graph() {
  JobGraph graph;
  graph.job_name = "visits";
  graph.nodes = {{{0}, "lines", "text files", StageRole::source, false},
                 {{1}, "times", "event time", StageRole::transform, false},
                 {{2}, "count", "count", StageRole::transform, false},
                 {{3}, "out", "print", StageRole::sink, false}};
  graph.vertices = {{{0}, "lines → times", {{0}, {1}}, 2, 128, "default", false},
                    {{1}, "count", {{2}}, 2, 128, "default", false},
                    {{2}, "out", {{3}}, 1, 128, "default", false}};
  graph.edges = {{{0}, 0, {1}, {0}, Partitioning::hash},
                 {{1}, 0, {2}, {0}, Partitioning::rebalance}};
  return graph;
}

// Two looks, 1 s apart, at a job in which nothing happens; tests change what they are about.
struct SampleJob {
  static constexpr std::int64_t second_ns = 1'000'000'000;

  SampleJob() {
    sample.graph = sample_graph();
    JobDetails& now = sample.now;
    now.status = {{0x2a}, "visits", JobState::running, {}, {}};
    now.submitted_at = {1'700'000'000'000};
    now.attempt = {1};
    now.hosts = {{"alpha", 4711, "127.0.0.1:40001"}, {"beta", 4712, "127.0.0.1:40002"}};
    for (const JobVertex& vertex : sample.graph.vertices) {
      for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
        TaskInfo task{{vertex.id, {i}}, TaskState::running, i, {}};
        task.report.task = task.task;
        task.report.at_ns = second_ns;
        if (vertex.id.value < 2) task.report.exchanges.resize(1);
        now.tasks.push_back(task);
      }
    }
    sample.before = now;
    for (TaskInfo& task : now.tasks) task.report.at_ns += second_ns;
  }

  static TaskReport& report(JobDetails& details, std::uint32_t vertex, std::uint32_t subtask) {
    for (TaskInfo& task : details.tasks) {
      if (task.task == TaskId{{vertex}, {subtask}}) return task.report;
    }
    return details.tasks.front().report;
  }
  // As the later look shows it.
  TaskReport& now(std::uint32_t vertex, std::uint32_t subtask) {
    return report(sample.now, vertex, subtask);
  }
  TaskReport& before(std::uint32_t vertex, std::uint32_t subtask) {
    return report(*sample.before, vertex, subtask);
  }

  // Shares of the second between the looks, of all subtasks.
  void spends(std::uint32_t vertex, double busy, double backpressured) {
    for (TaskInfo& task : sample.now.tasks) {
      if (task.task.vertex.value != vertex) continue;
      task.report.busy_ns = static_cast<std::uint64_t>(busy * second_ns);
      task.report.backpressured_ns = static_cast<std::uint64_t>(backpressured * second_ns);
    }
  }
  void watermark(std::uint32_t vertex, std::uint32_t subtask, EventTime time) {
    before(vertex, subtask).watermark = time;
    now(vertex, subtask).watermark = time;
  }

  JobSample sample;
};

}  // namespace weir
