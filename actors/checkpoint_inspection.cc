#include "actors/checkpoint_inspection.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "actors/progress_line.h"
#include "actors/text_table.h"
#include "base/options.h"

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(CheckpointStatus status) {
  switch (status) {
    case CheckpointStatus::in_progress:
      return "IN_PROGRESS";
    case CheckpointStatus::completed:
      return "COMPLETED";
    case CheckpointStatus::failed:
      return "FAILED";
  }
  return "";
}

std::string clock_text(ProcessingTime time) {
  return to_string(EventTime{time.ms});
}

std::string millis(std::chrono::microseconds time) {
  const auto tenths = time.count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

std::string duration_of(const CheckpointStatistics& checkpoint) {
  if (!checkpoint.ended) return "-";
  return std::to_string((*checkpoint.ended - checkpoint.triggered).count()) + " ms";
}

// The longest of all tasks.
std::chrono::microseconds longest(const CheckpointStatistics& checkpoint,
                                  std::chrono::microseconds SnapshotTimes::*part) {
  std::chrono::microseconds longest{0};
  for (const auto& task : checkpoint.tasks) longest = std::max(longest, task.times.*part);
  return longest;
}

std::string name_of(const JobGraph& graph, const SnapshotTaskId& task) {
  const JobVertex& vertex = graph.vertex(task.vertex);
  return task_name(vertex.name, task.subtask, vertex.parallelism);
}

const CheckpointStatistics* newest(const CheckpointOverview& overview, CheckpointStatus status) {
  const auto found = std::ranges::find(overview.history, status, &CheckpointStatistics::status);
  return found == overview.history.end() ? nullptr : &*found;
}

std::string history_text(const CheckpointOverview& overview) {
  TextTable table({{"ID", Align::right},
                   {"STATUS"},
                   {"TRIGGERED"},
                   {"TOOK", Align::right},
                   {"TASKS", Align::right},
                   {"ALIGN", Align::right},
                   {"SYNC", Align::right},
                   {"ASYNC", Align::right},
                   {"SIZE", Align::right}});
  for (const CheckpointStatistics& one : overview.history) {
    table.add({std::to_string(one.id.value), std::string(name_of(one.status)),
               clock_text(one.triggered), duration_of(one),
               std::to_string(one.tasks.size()) + "/" + std::to_string(one.expected_tasks),
               millis(longest(one, &SnapshotTimes::alignment)),
               millis(longest(one, &SnapshotTimes::sync)),
               millis(longest(one, &SnapshotTimes::async)), size_text(one.state_bytes)});
  }
  return table.text();
}

std::string tasks_text(const JobGraph& graph, const CheckpointStatistics& checkpoint) {
  TextTable table({{"TASK"},
                   {"ACKNOWLEDGED", Align::right},
                   {"ALIGN", Align::right},
                   {"SYNC", Align::right},
                   {"ASYNC", Align::right},
                   {"SIZE", Align::right}});
  for (const TaskCheckpointStatistics& task : checkpoint.tasks) {
    table.add({name_of(graph, task.task),
               std::to_string((task.acknowledged - checkpoint.triggered).count()) + " ms",
               millis(task.times.alignment), millis(task.times.sync), millis(task.times.async),
               size_text(task.state_bytes)});
  }
  return table.text("  ");
}

Json task_json(const JobGraph& graph, const TaskCheckpointStatistics& task) {
  return {{"task", name_of(graph, task.task)},
          {"acknowledged", clock_text(task.acknowledged)},
          {"alignment_us", task.times.alignment.count()},
          {"sync_us", task.times.sync.count()},
          {"async_us", task.times.async.count()},
          {"state_bytes", task.state_bytes}};
}

Json checkpoint_json(const JobGraph& graph, const CheckpointStatistics& checkpoint) {
  Json json = {{"id", checkpoint.id.value},
               {"status", name_of(checkpoint.status)},
               {"triggered", clock_text(checkpoint.triggered)},
               {"ended", nullptr},
               {"failure", nullptr},
               {"expected_tasks", checkpoint.expected_tasks},
               {"state_bytes", checkpoint.state_bytes},
               {"tasks", Json::array()}};
  if (checkpoint.ended) json["ended"] = clock_text(*checkpoint.ended);
  if (!checkpoint.failure.empty()) json["failure"] = checkpoint.failure;
  for (const auto& task : checkpoint.tasks) json["tasks"].push_back(task_json(graph, task));
  return json;
}

}  // namespace

std::string checkpoints_text(const JobSample& sample) {
  const CheckpointOverview& overview = sample.now.checkpoints;
  std::string text = "job " + to_string(sample.now.status.job) + " " + sample.now.status.name +
                     ", " + std::string(weir::name_of(sample.now.status.state)) + "\n";
  if (!overview.enabled) return text + "takes no checkpoints: see --checkpoint-interval\n";
  text += "every " + std::to_string(overview.interval.count()) + " ms into " + overview.directory +
          "\n" + std::to_string(overview.counts.triggered) + " triggered, " +
          std::to_string(overview.counts.completed) + " completed, " +
          std::to_string(overview.counts.failed) + " failed; restored " +
          counted(sample.now.restores, "time") + "\n";
  if (overview.history.empty()) return text;
  text += "\n" + history_text(overview);
  if (const auto* failed = newest(overview, CheckpointStatus::failed)) {
    text += "\nlast failure: checkpoint " + std::to_string(failed->id.value) + ": " +
            failed->failure + "\n";
  }
  if (const auto* completed = newest(overview, CheckpointStatus::completed)) {
    text += "\ncheckpoint " + std::to_string(completed->id.value) + " by task:\n" +
            tasks_text(sample.graph, *completed);
  }
  return text;
}

std::string checkpoints_json(const JobSample& sample, JsonLayout layout) {
  const CheckpointOverview& overview = sample.now.checkpoints;
  Json json = {{"job", to_string(sample.now.status.job)},
               {"enabled", overview.enabled},
               {"directory", overview.directory},
               {"interval_ms", overview.interval.count()},
               {"triggered", overview.counts.triggered},
               {"completed", overview.counts.completed},
               {"failed", overview.counts.failed},
               {"restores", sample.now.restores},
               {"history", Json::array()}};
  for (const CheckpointStatistics& one : overview.history)
    json["history"].push_back(checkpoint_json(sample.graph, one));
  return json.dump(layout == JsonLayout::indented ? 2 : -1, ' ', false,
                   Json::error_handler_t::replace) +
         "\n";
}

}  // namespace weir
