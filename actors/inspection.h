// What two looks at a job, some time apart, say about what it does. Pure functions over plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "actors/job_status.h"
#include "dataflow/plan/job_graph.h"

namespace weir {

// A job, seen once or twice. Rates need both looks.
struct JobSample {
  JobGraph graph;
  std::optional<JobDetails> before;
  JobDetails now;
};

// Without what was on its way when a task ended: its last report says so, but it has been taken or thrown away since.
[[nodiscard]] JobDetails settled(JobDetails details);

// What a task did between two reports.
struct TaskActivity {
  double seconds = 0;
  // Shares of that time, from 0 to 1, that add up to 1.
  double busy = 0;           // in a step, so also in the user's functions
  double backpressured = 0;  // it had work and no room downstream
  double idle = 0;           // it had nothing to do, or waited for a core
  // Per second.
  double records_in = 0;
  double records_out = 0;
  double bytes_in = 0;
  double bytes_out = 0;
};

// Nothing if the reports are not of one execution, one after the other.
[[nodiscard]] std::optional<TaskActivity> activity_between(const TaskReport& before,
                                                           const TaskReport& after);
[[nodiscard]] std::optional<TaskActivity> activity_of(const JobSample& sample, TaskId task);

// How long the tasks that still run were watched, on average; 0 if none was seen twice.
[[nodiscard]] double seconds_watched(const JobSample& sample);

// What travels on an edge of the job, over all its channels.
struct EdgeTraffic {
  std::uint64_t channels = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  std::uint64_t in_flight_bytes = 0;  // sent and not yet consumed
  std::uint64_t window_bytes = 0;     // what may be in flight
  std::uint64_t queued_bytes = 0;     // at the consumers, from all their inputs
  std::optional<double> records_per_second = {};
};
[[nodiscard]] EdgeTraffic traffic_on(const JobSample& sample, const PhysicalEdge& edge);

// The alignment group that a source waits for; "" if it waits for none.
[[nodiscard]] std::string group_waited_for(const JobGraph& graph, const TaskReport& report);

// "count (2/4)"
[[nodiscard]] std::string task_name(const JobGraph& graph, TaskId task);

// The tasks that a person means by "count (2/4)", by the name of a vertex or of a step in it, or by
// "2/0" (numbers of vertex and subtask).
[[nodiscard]] std::vector<TaskId> find_tasks(const JobGraph& graph, const std::string& text);

}  // namespace weir
