// What holds a job up: findings with their evidence, from the job's graph and two looks at it.
//
// Pure: the same sample gives the same diagnosis. How it is put into words is inspection_text's and inspection_json's
// affair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "actors/inspection.h"
#include "base/ids.h"
#include "base/time.h"
#include "state/key_groups.h"

namespace weir {

// From which share of the time on a task counts as backpressured, or as busy enough to be the cause of that.
inline constexpr double backpressured_share = 0.5;
inline constexpr double busy_share = 0.5;
// Without backpressure: from which share on a source, or a vertex with records in its input, is the limit of its job.
inline constexpr double fully_busy_share = 0.9;
// How many times the mean of its siblings' records a subtask must have to be skewed, and how many there must be in all.
inline constexpr double skew_factor = 2;
inline constexpr std::uint64_t skew_records_min = 1'000;
// By how much event time a watermark must be behind others to be worth a word; and more than the job advances while it is
// looked at twice.
inline constexpr Duration watermark_behind_min{5'000};

struct VertexShare {
  VertexId vertex;
  double share = 0;  // of its subtask with the largest
};

// A job that has no slots yet.
struct WaitsForSlots {
  std::string for_what;
};

// A job that waits for its next attempt, or has had several.
struct Restarts {
  std::string why;  // the last one, and when
  std::uint32_t count = 0;
};

// A vertex that is busy while what is before it waits for room, or while records wait in its input; or a source that
// nothing holds up.
struct Bottleneck {
  VertexId vertex;
  std::optional<SubtaskIndex> subtask = {};     // if one alone is busy
  double busy = 0;                              // of the busiest subtask
  double busy_mean = 0;                         // of all that run
  std::vector<VertexShare> backpressured = {};  // those before it, nearest first; none of a source
  double records_per_second = 0;                // into the vertex; of a source: out of it
  std::uint64_t queued_bytes = 0;
  NodeId last_called = {};  // the operator that the busiest subtask was in, or called last
};

// A vertex waits for room although nothing behind it is busy: connections, or too few cores.
struct UnexplainedBackpressure {
  VertexShare backpressured;
  VertexShare busiest_consumer;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t queued_bytes = 0;  // at the consumers
};

// The task whose watermark is the lowest of those that the job's results wait for.
struct WatermarkHolder {
  TaskId task;
  EventTime watermark = EventTime::min();  // min(): none yet
  EventTime others = EventTime::min();     // how far those have come that wait for it
  bool by_queue = false;      // its input is that far; the records before it wait in its queue
  bool whole_vertex = false;  // its siblings are about as far behind
  std::uint64_t queued_bytes = 0;
  SplitOverview splits = {};  // of a source: what it reads

  // Nothing: it has given no watermark at all.
  [[nodiscard]] std::optional<Duration> behind() const {
    if (watermark == EventTime::min()) return {};
    return Duration{others.ms - watermark.ms};
  }
};

// A split of a source that is behind the others which its subtask reads at the same time.
struct SplitHolder {
  TaskId task;
  SplitOverview splits;

  // Nothing: it has given no watermark at all.
  [[nodiscard]] std::optional<Duration> behind() const {
    if (splits.least == EventTime::min()) return {};
    return Duration{splits.furthest.ms - splits.least.ms};
  }
};

// A source that is not read from because it is ahead of others of its alignment group.
struct WaitsForGroup {
  VertexId vertex;
  std::uint32_t waiting = 0;  // of its subtasks
  std::string group = {};
  EventTime watermark = EventTime::min();  // of the one that is furthest behind of those that wait
  // The slowest of the group, if it is known.
  std::optional<TaskId> slowest = {};
  EventTime slowest_watermark = EventTime::min();  // min(): none yet
};

// A keyed subtask that gets more records than its siblings.
struct Skew {
  TaskId task;
  std::uint64_t records = 0;
  double mean_of_others = 0;
  // By the producers' samples, if one group stands out among the subtask's.
  struct HotKeyGroup {
    KeyGroup group{0};
    double share = 0;  // of all records of the edge
    std::uint64_t sampled_records = 0;
  };
  std::optional<HotKeyGroup> key_group = {};

  [[nodiscard]] double factor() const {
    return static_cast<double>(records) / std::max(1.0, mean_of_others);
  }
};

using Finding = std::variant<WaitsForSlots, Restarts, Bottleneck, UnexplainedBackpressure,
                             WatermarkHolder, SplitHolder, WaitsForGroup, Skew>;

struct Diagnosis {
  double seconds = 0;  // how long was looked; 0: too short for anything but skew
  std::vector<Finding> findings;
};

// Linear in tasks and edges.
[[nodiscard]] Diagnosis diagnose(const JobSample& sample);

}  // namespace weir
