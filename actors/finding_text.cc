#include "actors/finding_text.h"

#include <cmath>
#include <cstdio>

#include "actors/printable.h"
#include "actors/progress_line.h"
#include "base/options.h"

namespace weir {
namespace {

std::string name_of(const JobGraph& graph, VertexId vertex) {
  return "'" + printable(graph.vertex(vertex).name) + "'";
}

FindingText describe_one(const JobGraph& /*graph*/, const WaitsForSlots& found) {
  return {
      .kind = "slots",
      .what = "the job waits for " + found.for_what,
      .evidence = {},
      .advice = "add workers or slots, lower --parallelism, or end what has the slots (job list)"};
}

FindingText describe_one(const JobGraph& /*graph*/, const Restarts& found) {
  return {.kind = "restart",
          .what = "the job has failed " + counted(found.count, "time"),
          .evidence = {"the last word on it: " + printable(found.why)},
          .advice = "see job exceptions, and what its task processes wrote: job logs"};
}

FindingText describe_one(const JobGraph& graph, const Bottleneck& found) {
  const JobVertex& vertex = graph.vertex(found.vertex);
  const std::string& last = graph.node(found.last_called).name;
  FindingText text{.kind = "bottleneck"};
  if (graph.is_source(vertex)) {
    text.what = name_of(graph, found.vertex) +
                " limits the job: nothing holds this source up, and "
                "it is busy " +
                percent_text(found.busy) + " of the time";
    text.evidence = {"it puts out " + rate_text(found.records_per_second) + " records",
                     "nothing after it is backpressured"};
    if (vertex.stages.size() > 1)
      text.evidence.push_back("it was last in its operator '" + last + "'");
    text.advice =
        vertex.parallelism < vertex.max_parallelism
            ? "more subtasks (--parallelism) read faster, if there are cores and splits for them"
            : "read less, or cheaper";
    return text;
  }
  std::string who = name_of(graph, found.vertex);
  if (found.subtask) who += " (subtask " + task_name(graph, {found.vertex, *found.subtask}) + ")";
  text.what = who + " is the bottleneck: busy " + percent_text(found.busy) +
              (found.backpressured.empty() ? " of the time while records wait in its input"
                                           : " of the time while what is before it waits");
  for (const VertexShare& before : found.backpressured) {
    text.evidence.push_back(name_of(graph, before.vertex) + " before it is backpressured " +
                            percent_text(before.share) + " of the time");
  }
  if (vertex.parallelism > 1) {
    text.evidence.push_back("its " + std::to_string(vertex.parallelism) + " subtasks are busy " +
                            percent_text(found.busy_mean) + " on average");
  }
  // Records are counted by the batch.
  const std::string taken =
      found.records_per_second < 0.5
          ? "it has finished no batch while it was watched, and "
          : "it takes in " + rate_text(found.records_per_second) + " records, and ";
  text.evidence.push_back(taken + size_text(found.queued_bytes) + " wait in its input");
  if (vertex.stages.size() > 1)
    text.evidence.push_back("it was last in its operator '" + last + "'");
  if (found.subtask) {
    text.advice =
        "one subtask alone is busy: look for a skewed key, or records that cost more than others";
  } else if (vertex.blocking) {
    text.advice = "give '" + last + "' more subtasks, .parallelism(N) with N above " +
                  std::to_string(vertex.parallelism) + ", or make what it waits for faster";
  } else {
    text.advice =
        "give '" + last + "' more subtasks, .parallelism(N) with N above " +
        std::to_string(vertex.parallelism) +
        ", or make its function cheaper; mark it .blocking() if it waits for something outside";
  }
  return text;
}

FindingText describe_one(const JobGraph& graph, const UnexplainedBackpressure& found) {
  const VertexId vertex = found.backpressured.vertex;
  return {
      .kind = "backpressure",
      .what = name_of(graph, vertex) + " is backpressured " +
              percent_text(found.backpressured.share) +
              " of the time, but nothing behind it is busy",
      .evidence = {"the busiest behind it, " + name_of(graph, found.busiest_consumer.vertex) +
                       ", is busy " + percent_text(found.busiest_consumer.share) + " of the time",
                   size_text(found.in_flight_bytes) + " are in flight, of which " +
                       size_text(found.queued_bytes) + " have arrived and wait"},
      .advice =
          found.queued_bytes * 2 > found.in_flight_bytes
              ? "what waits has arrived: the tasks lack cores; use fewer subtasks than cores, or "
                "more nodes"
              : "what is in flight has not arrived: the connection between the nodes is slow"};
}

// "3 splits, of which 1 is idle (a)"
std::string idle_text(const SplitOverview& splits) {
  if (splits.idle == 0) return {};
  std::string text = ", of which " + counted(splits.idle, "split") +
                     (splits.idle == 1 ? " is idle (" : " are idle (");
  for (std::size_t i = 0; i < splits.idle_ids.size(); ++i)
    text += (i == 0 ? "" : ", ") + printable(splits.idle_ids[i]);
  return text + (splits.idle > splits.idle_ids.size() ? ", …)" : ")");
}

std::vector<std::string> evidence_of(const SplitOverview& splits) {
  if (splits.splits == 0) return {};
  std::string text = "it reads " + counted(splits.splits, "split") + idle_text(splits);
  if (!splits.holder.empty() && splits.splits > 1)
    text += "; the furthest behind is '" + printable(splits.holder) + "'";
  else if (!splits.holder.empty())
    text += ", '" + printable(splits.holder) + "'";
  return {std::move(text)};
}

FindingText describe_one(const JobGraph& graph, const SplitHolder& found) {
  const std::string who = "split '" + printable(found.splits.holder) + "' of '" +
                          printable(task_name(graph, found.task)) + "'";
  FindingText text{.kind = "split"};
  const auto behind = found.behind();
  text.what = behind ? who + " holds the watermark: it is " + duration_text(*behind) + " behind"
                     : who + " holds the watermark: it has given none yet";
  if (behind) text.evidence.push_back("its watermark is " + watermark_text(found.splits.least));
  text.evidence.push_back("the subtask reads " + counted(found.splits.splits, "split") +
                          idle_text(found.splits) + "; others have reached " +
                          watermark_text(found.splits.furthest));
  text.advice = behind ? "results by event time wait for it: it is older or is read more slowly "
                         "than the others"
                       : "results by event time wait for it: if it may be silent for long, say "
                         ".with_idleness(…)";
  return text;
}

FindingText describe_one(const JobGraph& graph, const WaitsForGroup& found) {
  FindingText text{.kind = "alignment"};
  text.what = name_of(graph, found.vertex) + " waits for alignment group '" +
              printable(found.group) + "': it is ahead of it by more than it may be";
  const std::uint32_t parallelism = graph.vertex(found.vertex).parallelism;
  if (parallelism > 1) {
    text.evidence.push_back(std::to_string(found.waiting) + " of its " +
                            std::to_string(parallelism) + " subtasks wait");
  }
  text.evidence.push_back("its watermark is " + watermark_text(found.watermark));
  text.advice = "it goes on when the slowest of the group has caught up";
  if (found.slowest) {
    text.evidence.push_back("the slowest of the group, '" +
                            printable(task_name(graph, *found.slowest)) + "', is at " +
                            watermark_text(found.slowest_watermark));
    text.advice +=
        ": make that faster, let it be idle when it is silent (.with_idleness), or allow "
        "a larger drift";
  }
  return text;
}

FindingText describe_one(const JobGraph& graph, const WatermarkHolder& found) {
  const JobVertex& vertex = graph.vertex(found.task.vertex);
  std::string who = "'" + printable(task_name(graph, found.task)) + "'";
  if (found.whole_vertex && vertex.parallelism > 1)
    who = name_of(graph, vertex.id) + ", all its subtasks,";
  FindingText text{.kind = "watermark"};
  const auto behind = found.behind();
  if (!behind) {
    text.what = who + " holds the watermark: it has given none yet";
    text.evidence = {"other inputs have reached " + watermark_text(found.others)};
    for (std::string& line : evidence_of(found.splits)) text.evidence.push_back(std::move(line));
    text.advice =
        "results by event time wait for it: does it read anything, and do its records have times "
        "(.event_time)?";
    return text;
  }
  text.what = who + " holds the watermark: it is " + duration_text(*behind) + " behind";
  text.evidence = {"its watermark is " + watermark_text(found.watermark)};
  if (found.by_queue) {
    text.evidence.push_back("what is before it has reached " + watermark_text(found.others) + "; " +
                            size_text(found.queued_bytes) + " wait in its input");
    text.advice = "it lags behind its input: it is slow (see its busy share), or was";
  } else {
    text.evidence.push_back("other inputs have reached " + watermark_text(found.others));
    for (std::string& line : evidence_of(found.splits)) text.evidence.push_back(std::move(line));
    text.advice =
        "results by event time wait for it: its input is older or read more slowly than the others";
  }
  return text;
}

FindingText describe_one(const JobGraph& graph, const Skew& found) {
  char factor[32];
  std::snprintf(factor, sizeof factor, "%.1f", found.factor());
  FindingText text{
      .kind = "skew",
      .what = "'" + task_name(graph, found.task) + "' gets " + factor +
              " times the records of its siblings",
      .evidence = {with_separators(found.records) + " records, the others " +
                   with_separators(static_cast<std::uint64_t>(std::llround(found.mean_of_others))) +
                   " on average"},
      .advice =
          "its keys are few or uneven: choose a key with more values, or aggregate in two steps"};
  if (found.key_group) {
    text.evidence.push_back("key group " + std::to_string(found.key_group->group.value) +
                            " alone has " + percent_text(found.key_group->share) +
                            " of the records (of " +
                            with_separators(found.key_group->sampled_records) + " sampled)");
    text.advice =
        "one key, or a few in one key group, have most records: aggregate in two steps, first by "
        "key and a "
        "salt, then by key";
  } else {
    text.evidence.emplace_back("no single key group of it stands out");
  }
  return text;
}

}  // namespace

FindingText describe(const JobGraph& graph, const Finding& finding) {
  return std::visit([&](const auto& found) { return describe_one(graph, found); }, finding);
}

std::string percent_text(double share) {
  return std::to_string(std::lround(share * 100)) + " %";
}

std::string rate_text(double per_second) {
  return with_separators(static_cast<std::uint64_t>(std::llround(per_second))) + "/s";
}

std::string watermark_text(EventTime watermark) {
  if (watermark == EventTime::min()) return "none yet";
  if (watermark == EventTime::max()) return "end";
  return to_string(watermark);
}

std::string duration_text(Duration duration) {
  const auto ms = duration.count();
  if (ms < 1'000) return std::to_string(ms) + " ms";
  if (ms < 60'000) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ms) / 1000);
    return text;
  }
  const auto seconds = ms / 1000;
  if (seconds < 3'600)
    return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
  return std::to_string(seconds / 3'600) + " h " + std::to_string(seconds % 3'600 / 60) + " min";
}

}  // namespace weir
