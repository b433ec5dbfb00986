#include "actors/inspection_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "actors/finding_text.h"

namespace weir {
namespace {

// Fields keep the order in which they are written here.
using Json = nlohmann::ordered_json;

// Messages may quote bytes of bad input, which need not be UTF-8.
std::string written(const Json& json, JsonLayout layout) {
  return json.dump(layout == JsonLayout::indented ? 2 : -1, ' ', false,
                   Json::error_handler_t::replace) +
         "\n";
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json watermark_json(EventTime watermark) {
  if (watermark == EventTime::min()) return {};
  return watermark == EventTime::max() ? "end" : to_string(watermark);
}

Json time_json(ProcessingTime time) {
  return time.ms == 0 ? Json() : Json(to_string(EventTime{time.ms}));
}

Json error_json(const std::optional<Error>& error) {
  if (!error) return {};
  return {{"code", name_of(error->code)}, {"message", error->message}};
}

Json head_json(const JobSample& sample) {
  const double seconds = seconds_watched(sample);
  return {{"job", to_string(sample.now.status.job)},
          {"name", sample.now.status.name},
          {"state", name_of(sample.now.status.state)},
          {"attempt", sample.now.attempt.value},
          {"waiting_for", text_or_null(sample.now.status.progress.waiting_for)},
          {"seconds", seconds > 0 ? Json(seconds) : Json()}};
}

Json summary_json(const JobDetails& job) {
  const JobProgress& progress = job.status.progress;
  Json counters = Json::array();
  for (const NamedCount& count : progress.counters)
    counters.push_back({{"step", count.step}, {"name", count.name}, {"value", count.value}});
  return {{"id", to_string(job.status.job)},
          {"name", job.status.name},
          {"state", name_of(job.status.state)},
          {"submitted_at", time_json(job.submitted_at)},
          {"ended_at", time_json(job.ended_at)},
          {"attempt", job.attempt.value},
          {"tasks_running", progress.tasks_running},
          {"tasks_total", progress.tasks_total},
          {"records_read", progress.records_read},
          {"bad_records", progress.bad_records},
          {"late_records_dropped", progress.late_records_dropped},
          {"records_ahead", progress.records_ahead},
          {"counters", std::move(counters)},
          {"watermark", progress.watermark ? watermark_json(*progress.watermark) : Json()},
          {"waiting_for", text_or_null(progress.waiting_for)},
          {"error", error_json(job.status.error)}};
}

Json splits_json(const SplitOverview& splits) {
  if (splits.splits == 0) return {};
  return {{"count", splits.splits},
          {"idle", splits.idle},
          {"idle_ids", splits.idle_ids},
          {"holder", text_or_null(splits.holder)},
          {"watermark", watermark_json(splits.least)},
          {"furthest", watermark_json(splits.furthest)}};
}

Json task_json(const JobSample& sample, const TaskInfo& task) {
  const JobVertex& vertex = sample.graph.vertex(task.task.vertex);
  const TaskReport& report = task.report;
  const auto activity = activity_of(sample, task.task);
  const auto of = [&](double TaskActivity::*figure) {
    return activity ? Json((*activity).*figure) : Json();
  };
  Json operators = Json::array();
  for (const NodeId id : vertex.stages) {
    const JobNode& node = sample.graph.node(id);
    const char* role = node.role == StageRole::source ? "source"
                       : node.role == StageRole::sink ? "sink"
                                                      : "transform";
    operators.push_back({{"name", node.name}, {"kind", node.kind}, {"role", role}});
  }
  return {{"task", task_name(sample.graph, task.task)},
          {"vertex", vertex.name},
          {"vertex_id", vertex.id.value},
          {"subtask", task.task.subtask.value},
          {"parallelism", vertex.parallelism},
          {"state", name_of(task.state)},
          {"operators", std::move(operators)},
          {"records_read", sample.graph.is_source(vertex) ? Json(report.head_records_out) : Json()},
          {"records_in", report.records_in},
          {"records_out", report.records_out},
          {"bytes_in", report.bytes_in},
          {"bytes_out", report.bytes_out},
          {"records_in_per_second", of(&TaskActivity::records_in)},
          {"records_out_per_second", of(&TaskActivity::records_out)},
          {"bytes_in_per_second", of(&TaskActivity::bytes_in)},
          {"bytes_out_per_second", of(&TaskActivity::bytes_out)},
          {"bad_records", report.bad_records},
          {"late_records_dropped", report.late_records_dropped},
          {"records_ahead", report.records_ahead},
          {"watermark", watermark_json(report.watermark)},
          {"splits", splits_json(report.splits)},
          {"waits_for_group", text_or_null(group_waited_for(sample.graph, report))},
          {"queued_bytes", report.queued_bytes},
          {"in_flight_bytes", report.in_flight_bytes},
          {"window_bytes", report.window_bytes},
          {"busy", of(&TaskActivity::busy)},
          {"backpressured", of(&TaskActivity::backpressured)},
          {"idle", of(&TaskActivity::idle)}};
}

Json process_json(const JobSample& sample, std::size_t host) {
  const TaskHostInfo& info = sample.now.hosts[host];
  Json tasks = Json::array();
  for (const TaskInfo& task : sample.now.tasks) {
    if (task.host == host) tasks.push_back(task_json(sample, task));
  }
  return {
      {"process", info.process}, {"data_address", info.data_address}, {"tasks", std::move(tasks)}};
}

Json figures_json(const JobGraph& /*graph*/, const WaitsForSlots& found) {
  return {{"waiting_for", found.for_what}};
}

Json figures_json(const JobGraph& /*graph*/, const Restarts& found) {
  return {{"why", found.why}, {"count", found.count}};
}

Json figures_json(const JobGraph& graph, const Bottleneck& found) {
  Json before = Json::array();
  for (const VertexShare& one : found.backpressured) {
    before.push_back({{"vertex", graph.vertex(one.vertex).name}, {"backpressured", one.share}});
  }
  return {{"vertex", graph.vertex(found.vertex).name},
          {"task", found.subtask ? Json(task_name(graph, {found.vertex, *found.subtask})) : Json()},
          {"operator", graph.node(found.last_called).name},
          {"busy", found.busy},
          {"busy_mean", found.busy_mean},
          {"records_per_second", found.records_per_second},
          {"queued_bytes", found.queued_bytes},
          {"before", std::move(before)}};
}

Json figures_json(const JobGraph& graph, const UnexplainedBackpressure& found) {
  return {{"vertex", graph.vertex(found.backpressured.vertex).name},
          {"backpressured", found.backpressured.share},
          {"busiest_consumer", graph.vertex(found.busiest_consumer.vertex).name},
          {"busy", found.busiest_consumer.share},
          {"in_flight_bytes", found.in_flight_bytes},
          {"queued_bytes", found.queued_bytes}};
}

Json figures_json(const JobGraph& graph, const WatermarkHolder& found) {
  const auto behind = found.behind();
  return {{"vertex", graph.vertex(found.task.vertex).name},
          {"task", task_name(graph, found.task)},
          {"whole_vertex", found.whole_vertex},
          {"watermark", watermark_json(found.watermark)},
          {"others", watermark_json(found.others)},
          {"behind_ms", behind ? Json(behind->count()) : Json()},
          {"by_queue", found.by_queue},
          {"queued_bytes", found.queued_bytes},
          {"splits", splits_json(found.splits)}};
}

Json figures_json(const JobGraph& graph, const SplitHolder& found) {
  const auto behind = found.behind();
  return {{"vertex", graph.vertex(found.task.vertex).name},
          {"task", task_name(graph, found.task)},
          {"split", found.splits.holder},
          {"behind_ms", behind ? Json(behind->count()) : Json()},
          {"splits", splits_json(found.splits)}};
}

Json figures_json(const JobGraph& graph, const WaitsForGroup& found) {
  return {{"vertex", graph.vertex(found.vertex).name},
          {"group", found.group},
          {"waiting", found.waiting},
          {"watermark", watermark_json(found.watermark)},
          {"slowest", found.slowest ? Json(task_name(graph, *found.slowest)) : Json()},
          {"slowest_watermark", watermark_json(found.slowest_watermark)}};
}

Json figures_json(const JobGraph& graph, const Skew& found) {
  Json group;
  if (found.key_group) {
    group = {{"key_group", found.key_group->group.value},
             {"share", found.key_group->share},
             {"sampled_records", found.key_group->sampled_records}};
  }
  return {{"vertex", graph.vertex(found.task.vertex).name},
          {"task", task_name(graph, found.task)},
          {"records", found.records},
          {"mean_of_others", found.mean_of_others},
          {"factor", found.factor()},
          {"key_group", std::move(group)}};
}

}  // namespace

std::string nodes_json(const NodeList& nodes, JsonLayout layout) {
  Json all = Json::array();
  for (const NodeStatus& status : nodes.nodes) {
    const NodeInfo& node = status.node;
    all.push_back({{"id", node.id},
                   {"role", node.role},
                   {"address", node.address},
                   {"slots", node.slots},
                   {"free_slots", status.free_slots},
                   {"memory_bytes", node.memory_bytes},
                   {"process", node.process},
                   {"version", node.version},
                   {"silent_ms", status.silent_ms}});
  }
  return written({{"nodes", std::move(all)}}, layout);
}

std::string jobs_json(const std::vector<JobDetails>& jobs, JsonLayout layout) {
  Json all = Json::array();
  for (const JobDetails& job : jobs) all.push_back(summary_json(job));
  return written({{"jobs", std::move(all)}}, layout);
}

std::string job_json(const JobSample& sample, JsonLayout layout) {
  Json json = summary_json(sample.now);
  Json tasks = Json::array();
  for (const TaskInfo& task : sample.now.tasks) {
    Json one = task_json(sample, task);
    one["node"] = task.host < sample.now.hosts.size() ? sample.now.hosts[task.host].node : "";
    tasks.push_back(std::move(one));
  }
  json["tasks"] = std::move(tasks);
  return written(json, layout);
}

std::string exceptions_json(const JobDetails& job, JsonLayout layout) {
  Json all = Json::array();
  for (const JobException& exception : job.exceptions) {
    all.push_back({{"at", time_json(exception.at)},
                   {"attempt", exception.attempt.value},
                   {"task", text_or_null(exception.task)},
                   {"node", text_or_null(exception.node)},
                   {"code", name_of(exception.error.code)},
                   {"message", exception.error.message}});
  }
  return written({{"job", to_string(job.status.job)}, {"exceptions", std::move(all)}}, layout);
}

std::string topology_json(const JobSample& sample, JsonLayout layout) {
  Json json = head_json(sample);
  json["nodes"] = Json::array();
  std::map<std::string, std::size_t> positions;
  for (std::size_t host = 0; host < sample.now.hosts.size(); ++host) {
    const std::string& id = sample.now.hosts[host].node;
    const auto [position, fresh] = positions.emplace(id, positions.size());
    if (fresh) json["nodes"].push_back({{"id", id}, {"processes", Json::array()}});
    json["nodes"][position->second]["processes"].push_back(process_json(sample, host));
  }
  return written(json, layout);
}

std::string channels_json(const JobSample& sample, JsonLayout layout) {
  Json json = head_json(sample);
  json["channels"] = Json::array();
  for (const PhysicalEdge& edge : sample.graph.edges) {
    const EdgeTraffic traffic = traffic_on(sample, edge);
    json["channels"].push_back({{"from", sample.graph.vertex(edge.from).name},
                                {"to", sample.graph.vertex(edge.to).name},
                                {"partitioning", name_of(edge.partitioning)},
                                {"channels", traffic.channels},
                                {"records", traffic.records},
                                {"bytes", traffic.bytes},
                                {"records_per_second", or_null(traffic.records_per_second)},
                                {"in_flight_bytes", traffic.in_flight_bytes},
                                {"window_bytes", traffic.window_bytes},
                                {"queued_bytes", traffic.queued_bytes}});
  }
  return written(json, layout);
}

std::string doctor_json(const JobSample& sample, const Diagnosis& diagnosis, JsonLayout layout) {
  Json json = head_json(sample);
  json["findings"] = Json::array();
  for (const Finding& finding : diagnosis.findings) {
    const FindingText words = describe(sample.graph, finding);
    Json one = {{"kind", words.kind}};
    one.update(
        std::visit([&](const auto& found) { return figures_json(sample.graph, found); }, finding));
    one["summary"] = words.what;
    one["evidence"] = words.evidence;
    one["advice"] = words.advice;
    json["findings"].push_back(std::move(one));
  }
  return written(json, layout);
}

}  // namespace weir
