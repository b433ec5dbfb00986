#include "actors/inspection_text.h"

#include <cmath>
#include <cstdint>

#include "actors/finding_text.h"
#include "actors/printable.h"
#include "actors/progress_line.h"
#include "actors/text_table.h"
#include "base/options.h"

namespace weir {
namespace {

std::string time_text(ProcessingTime time) {
  return time.ms == 0 ? "-" : to_string(EventTime{time.ms});
}

std::string time_taken(const JobDetails& job, ProcessingTime now) {
  const ProcessingTime end = job.ended_at.ms == 0 ? now : job.ended_at;
  return duration_text(end - job.submitted_at);
}

std::string headline(const JobSample& sample) {
  const JobDetails& job = sample.now;
  std::string line = "job " + to_string(job.status.job) + "  " + printable(job.status.name) + "  " +
                     std::string(name_of(job.status.state));
  if (!job.status.progress.waiting_for.empty())
    line += "  waits for " + job.status.progress.waiting_for;
  else if (job.status.state == JobState::restarting)
    line += "  " + printable(job.status.progress.last_restart);
  const double seconds = seconds_watched(sample);
  if (seconds > 0)
    line += "  (rates over " + duration_text(Duration{std::lround(seconds * 1000)}) + ")";
  return line + "\n";
}

std::string bytes_rate_text(double per_second) {
  return size_text(static_cast<std::uint64_t>(std::llround(per_second))) + "/s";
}

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "  ") + part;
  return text;
}

// What a source reads, and whom it waits for; nothing of those that say nothing.
std::string split_lines(const JobGraph& graph, const TaskReport& report,
                        const std::string& indent) {
  std::string text;
  const SplitOverview& splits = report.splits;
  if (splits.splits > 0) {
    text += indent + counted(splits.splits, "split");
    if (!splits.holder.empty()) text += "  least " + printable(splits.holder);
    if (splits.idle > 0) text += "  idle " + std::to_string(splits.idle);
    for (const std::string& id : splits.idle_ids) text += " " + printable(id);
    if (splits.idle > splits.idle_ids.size()) text += " …";
    text += "\n";
  }
  const std::string group = group_waited_for(graph, report);
  if (!group.empty()) text += indent + "waits for alignment group " + printable(group) + "\n";
  return text;
}

// One line each: what it is, what came in, what went out, how far it is.
std::string task_lines(const JobSample& sample, const TaskInfo& task, const std::string& indent) {
  const JobVertex& vertex = sample.graph.vertex(task.task.vertex);
  const TaskReport& report = task.report;
  const auto activity = activity_of(sample, task.task);
  std::string text = indent + printable(task_name(sample.graph, task.task)) + "  " +
                     std::string(name_of(task.state));
  if (activity) {
    text += "  busy " + percent_text(activity->busy) + ", backpressured " +
            percent_text(activity->backpressured) + ", idle " + percent_text(activity->idle);
  }
  text += "\n";
  const bool source = sample.graph.is_source(vertex);
  std::vector<std::string> in{source ? "read" : "in"};
  in.push_back(counted(source ? report.head_records_out : report.records_in, "record"));
  if (!source) {
    in.push_back(size_text(report.bytes_in));
    if (activity) in.push_back(rate_text(activity->records_in));
    if (activity) in.push_back(bytes_rate_text(activity->bytes_in));
    in.push_back("queued " + size_text(report.queued_bytes));
  }
  text += indent + "  " + join(in) + "\n";
  if (!report.exchanges.empty()) {
    std::vector<std::string> out{"out", counted(report.records_out, "record"),
                                 size_text(report.bytes_out)};
    if (activity) out.push_back(rate_text(activity->records_out));
    if (activity) out.push_back(bytes_rate_text(activity->bytes_out));
    out.push_back("in flight " + size_text(report.in_flight_bytes) + " of " +
                  size_text(report.window_bytes));
    text += indent + "  " + join(out) + "\n";
  }
  text += indent + "  watermark " + watermark_text(report.watermark);
  if (report.late_records_dropped > 0)
    text += "  late " + with_separators(report.late_records_dropped);
  if (report.records_ahead > 0)
    text += "  ahead of the clock " + with_separators(report.records_ahead);
  if (report.bad_records > 0) text += "  skipped " + with_separators(report.bad_records);
  if (report.step_ms >= 1'000)
    text += "  in one call for " + duration_text(Duration{report.step_ms});
  text += "\n" + split_lines(sample.graph, report, indent + "  ");
  for (const NodeId node : vertex.stages)
    text += indent + "  · " + printable(sample.graph.node(node).name) + "  [" +
            printable(sample.graph.node(node).kind) + "]\n";
  return text;
}

bool is_first_of_node(const std::vector<TaskHostInfo>& hosts, std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (hosts[i].node == hosts[index].node) return false;
  }
  return true;
}

std::string process_text(const TaskHostInfo& host) {
  std::string text = "process " + (host.process == 0 ? "-" : std::to_string(host.process));
  if (!host.data_address.empty()) text += "  data " + host.data_address;
  return text;
}

}  // namespace

std::string nodes_text(const NodeList& nodes) {
  TextTable table({{"NODE"},
                   {"ROLE"},
                   {"ADDRESS"},
                   {"SLOTS", Align::right},
                   {"FREE", Align::right},
                   {"MEMORY", Align::right},
                   {"PROCESS", Align::right},
                   {"VERSION"},
                   {"SILENT", Align::right}});
  for (const NodeStatus& status : nodes.nodes) {
    const NodeInfo& node = status.node;
    table.add({node.id, node.role, node.address, std::to_string(node.slots),
               std::to_string(status.free_slots),
               node.memory_bytes == 0 ? "-" : size_text(node.memory_bytes),
               std::to_string(node.process), node.version,
               duration_text(Duration{status.silent_ms})});
  }
  return table.text();
}

std::string jobs_text(const std::vector<JobDetails>& jobs, ProcessingTime now) {
  if (jobs.empty()) return "no jobs\n";
  TextTable table({{"JOB"},
                   {"NAME"},
                   {"STATE"},
                   {"SUBMITTED"},
                   {"TIME", Align::right},
                   {"TASKS", Align::right},
                   {"RECORDS READ", Align::right}});
  for (const JobDetails& job : jobs) {
    const JobProgress& progress = job.status.progress;
    table.add({to_string(job.status.job), job.status.name, std::string(name_of(job.status.state)),
               time_text(job.submitted_at), time_taken(job, now),
               std::to_string(progress.tasks_running) + "/" + std::to_string(progress.tasks_total),
               with_separators(progress.records_read)});
  }
  return table.text();
}

std::string job_text(const JobSample& sample, ProcessingTime now) {
  const JobDetails& job = sample.now;
  const JobProgress& progress = job.status.progress;
  std::string text = headline(sample);
  text += "submitted " + time_text(job.submitted_at) + ", ";
  text += job.ended_at.ms == 0 ? "running for " : "ended " + time_text(job.ended_at) + " after ";
  text += time_taken(job, now) + ", attempt " + std::to_string(job.attempt.value) + "\n";
  text += "read " + counted(progress.records_read, "record") + ", skipped " +
          with_separators(progress.bad_records) + ", dropped as late " +
          with_separators(progress.late_records_dropped) +
          (progress.records_ahead > 0
               ? ", ahead of the clock " + with_separators(progress.records_ahead)
               : "") +
          "\n";
  for (const NamedCount& count : progress.counters) {
    text += printable(count.name) + " of " + printable(count.step) + ": " +
            std::to_string(count.value) + "\n";
  }
  if (job.status.error)
    text += "error " + std::string(name_of(job.status.error->code)) + ": " +
            printable_lines(job.status.error->message) + "\n";
  if (!job.exceptions.empty())
    text += counted(job.exceptions.size(), "exception") + " (job exceptions " +
            to_string(job.status.job) + ")\n";
  TextTable table({{"TASK"},
                   {"STATE"},
                   {"NODE"},
                   {"RECORDS IN", Align::right},
                   {"RECORDS OUT", Align::right},
                   {"WATERMARK"}});
  for (const TaskInfo& task : job.tasks) {
    const bool source = sample.graph.is_source(sample.graph.vertex(task.task.vertex));
    const bool placed = task.host < job.hosts.size();
    table.add({task_name(sample.graph, task.task), std::string(name_of(task.state)),
               placed ? job.hosts[task.host].node : "",
               with_separators(source ? task.report.head_records_out : task.report.records_in),
               with_separators(task.report.records_out), watermark_text(task.report.watermark)});
  }
  return text + table.text();
}

std::string exceptions_text(const std::vector<JobException>& exceptions) {
  if (exceptions.empty()) return "no exceptions\n";
  std::string text;
  for (const JobException& exception : exceptions) {
    text += time_text(exception.at) + "  attempt " + std::to_string(exception.attempt.value);
    if (!exception.task.empty()) text += "  " + printable(exception.task);
    if (!exception.node.empty()) text += "  on node " + exception.node;
    text += "  " + std::string(name_of(exception.error.code)) + "\n  ";
    for (const char c : printable_lines(exception.error.message))
      text += c == '\n' ? "\n  " : std::string(1, c);
    text += "\n";
  }
  return text;
}

std::string topology_text(const JobSample& sample) {
  const auto& hosts = sample.now.hosts;
  std::string text = headline(sample);
  if (hosts.empty()) text += "  no tasks are placed yet\n";
  for (std::size_t node = 0; node < hosts.size(); ++node) {
    if (!is_first_of_node(hosts, node)) continue;
    text += "node " + (hosts[node].node.empty() ? "-" : hosts[node].node) + "\n";
    for (std::size_t host = node; host < hosts.size(); ++host) {
      if (hosts[host].node != hosts[node].node) continue;
      text += "  " + process_text(hosts[host]) + "\n";
      for (const TaskInfo& task : sample.now.tasks) {
        if (task.host == host) text += task_lines(sample, task, "    ");
      }
    }
  }
  return text;
}

std::string channels_text(const JobSample& sample) {
  TextTable table({{"FROM"},
                   {"TO"},
                   {"PARTITIONING"},
                   {"CHANNELS", Align::right},
                   {"RECORDS", Align::right},
                   {"RATE", Align::right},
                   {"IN FLIGHT", Align::right},
                   {"WINDOW", Align::right},
                   {"QUEUED", Align::right}});
  for (const PhysicalEdge& edge : sample.graph.edges) {
    const EdgeTraffic traffic = traffic_on(sample, edge);
    table.add({sample.graph.vertex(edge.from).name, sample.graph.vertex(edge.to).name,
               std::string(name_of(edge.partitioning)), std::to_string(traffic.channels),
               with_separators(traffic.records),
               traffic.records_per_second ? rate_text(*traffic.records_per_second) : "-",
               size_text(traffic.in_flight_bytes), size_text(traffic.window_bytes),
               size_text(traffic.queued_bytes)});
  }
  if (sample.graph.edges.empty()) return headline(sample) + "no channels: one chain does it all\n";
  return headline(sample) + table.text();
}

std::string doctor_text(const JobSample& sample, const Diagnosis& diagnosis) {
  std::string text = headline(sample);
  for (const Finding& finding : diagnosis.findings) {
    const FindingText words = describe(sample.graph, finding);
    text += "\n" + words.kind + ": " + words.what + "\n";
    for (const std::string& line : words.evidence) text += "  - " + line + "\n";
    text += "  → " + words.advice + "\n";
  }
  if (diagnosis.findings.empty()) text += "nothing stands out\n";
  if (diagnosis.seconds == 0)
    text += "no task was seen running for a while: only the records so far could be looked at\n";
  return text;
}

}  // namespace weir
