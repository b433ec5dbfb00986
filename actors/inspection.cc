#include "actors/inspection.h"

#include <algorithm>

namespace weir {
namespace {

const TaskReport* report_of(const JobDetails& details, TaskId task) {
  const auto found = std::ranges::find(details.tasks, task, &TaskInfo::task);
  return found == details.tasks.end() ? nullptr : &found->report;
}

std::uint64_t grown(std::uint64_t before, std::uint64_t after) {
  return after - std::min(before, after);
}

std::uint64_t channels_of(const JobGraph& graph, const PhysicalEdge& edge) {
  const std::uint64_t from = graph.vertex(edge.from).parallelism;
  const std::uint64_t to = graph.vertex(edge.to).parallelism;
  return is_all_to_all(edge.partitioning) ? from * to : std::max(from, to);
}

}  // namespace

JobDetails settled(JobDetails details) {
  for (TaskInfo& task : details.tasks) {
    if (!is_terminal(task.state) && !is_terminal(details.status.state)) continue;
    task.report.queued_bytes = 0;
    task.report.in_flight_bytes = 0;
    task.report.waits_for.reset();
    for (ExchangeReport& exchange : task.report.exchanges) exchange.in_flight_bytes = 0;
  }
  return details;
}

std::optional<TaskActivity> activity_between(const TaskReport& before, const TaskReport& after) {
  if (before.at_ns == 0 || after.at_ns <= before.at_ns) return {};
  const double ns = static_cast<double>(after.at_ns - before.at_ns);
  const double seconds = ns / 1e9;
  const auto share = [&](std::uint64_t from, std::uint64_t to) {
    return std::min(1.0, static_cast<double>(grown(from, to)) / ns);
  };
  const auto rate = [&](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(grown(from, to)) / seconds;
  };
  TaskActivity activity{
      .seconds = seconds,
      .busy = share(before.busy_ns, after.busy_ns),
      .backpressured = share(before.backpressured_ns, after.backpressured_ns),
      .idle = 0,
      .records_in = rate(before.records_in, after.records_in),
      .records_out = rate(before.records_out, after.records_out),
      .bytes_in = rate(before.bytes_in, after.bytes_in),
      .bytes_out = rate(before.bytes_out, after.bytes_out),
  };
  // The figures of a report are not all of one instant.
  activity.backpressured = std::min(activity.backpressured, 1 - activity.busy);
  activity.idle = 1 - activity.busy - activity.backpressured;
  return activity;
}

std::optional<TaskActivity> activity_of(const JobSample& sample, TaskId task) {
  if (!sample.before || sample.before->attempt != sample.now.attempt) return {};
  const TaskReport* before = report_of(*sample.before, task);
  const TaskReport* after = report_of(sample.now, task);
  if (before == nullptr || after == nullptr) return {};
  return activity_between(*before, *after);
}

double seconds_watched(const JobSample& sample) {
  double sum = 0;
  int count = 0;
  for (const TaskInfo& task : sample.now.tasks) {
    if (task.state != TaskState::running) continue;
    const auto activity = activity_of(sample, task.task);
    if (!activity) continue;
    sum += activity->seconds;
    ++count;
  }
  return count == 0 ? 0 : sum / count;
}

EdgeTraffic traffic_on(const JobSample& sample, const PhysicalEdge& edge) {
  EdgeTraffic traffic{.channels = channels_of(sample.graph, edge)};
  const bool comparable = sample.before && sample.before->attempt == sample.now.attempt;
  for (const TaskInfo& task : sample.now.tasks) {
    if (task.task.vertex == edge.to) traffic.queued_bytes += task.report.queued_bytes;
    if (task.task.vertex != edge.from || edge.exchange >= task.report.exchanges.size()) continue;
    const ExchangeReport& exchange = task.report.exchanges[edge.exchange];
    traffic.records += exchange.records_out;
    traffic.bytes += exchange.bytes_out;
    traffic.in_flight_bytes += exchange.in_flight_bytes;
    traffic.window_bytes += exchange.window_bytes;
    const TaskReport* before = comparable ? report_of(*sample.before, task.task) : nullptr;
    if (before == nullptr || edge.exchange >= before->exchanges.size()) continue;
    if (before->at_ns >= task.report.at_ns) continue;
    const double seconds = static_cast<double>(task.report.at_ns - before->at_ns) / 1e9;
    const std::uint64_t records =
        grown(before->exchanges[edge.exchange].records_out, exchange.records_out);
    traffic.records_per_second =
        traffic.records_per_second.value_or(0) + static_cast<double>(records) / seconds;
  }
  return traffic;
}

std::string group_waited_for(const JobGraph& graph, const TaskReport& report) {
  const bool known = report.waits_for && report.waits_for->value < graph.nodes.size();
  return known ? graph.node(*report.waits_for).alignment_group : "";
}

std::string task_name(const JobGraph& graph, TaskId task) {
  const JobVertex& vertex = graph.vertex(task.vertex);
  return task_name(vertex.name, task.subtask, vertex.parallelism);
}

std::vector<TaskId> find_tasks(const JobGraph& graph, const std::string& text) {
  std::vector<TaskId> found;
  for (const JobVertex& vertex : graph.vertices) {
    const bool step = std::ranges::any_of(
        vertex.stages, [&](NodeId node) { return graph.node(node).name == text; });
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      const TaskId task{vertex.id, {i}};
      const std::string numbers = std::to_string(vertex.id.value) + "/" + std::to_string(i);
      if (step || text == vertex.name || text == numbers || text == task_name(graph, task))
        found.push_back(task);
    }
  }
  return found;
}

}  // namespace weir
