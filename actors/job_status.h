// What can be said of a job and its tasks: states, settings, progress and outcome. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"

namespace weir {

// As in Apache Flink.
enum class JobState : std::uint8_t {
  initializing,  // accepted
  created,       // waits for slots
  running,       // inputs are listed, outputs prepared, tasks deployed; then they run
  failing,       // something failed; its tasks are being cancelled
  failed,
  cancelling,  // on request
  canceled,
  finished,
};
[[nodiscard]] std::string_view name_of(JobState state);
[[nodiscard]] constexpr bool is_terminal(JobState state) {
  return state == JobState::failed || state == JobState::canceled || state == JobState::finished;
}

enum class TaskState : std::uint8_t {
  created,
  deploying,     // being started at its TaskManager
  initializing,  // its operators open
  running,
  finished,
  canceling,
  canceled,
  failed,
};
[[nodiscard]] std::string_view name_of(TaskState state);
[[nodiscard]] constexpr bool is_terminal(TaskState state) {
  return state == TaskState::finished || state == TaskState::canceled || state == TaskState::failed;
}

// A subtask of a vertex.
struct TaskId {
  VertexId vertex;
  SubtaskIndex subtask;
  friend constexpr auto operator<=>(const TaskId&, const TaskId&) = default;
};

// How a job is run, besides its plan.
struct JobSettings {
  bool strict = false;              // see OperatorContext::strict
  Duration slot_timeout{300'000};   // how long to wait for slots
  Duration deploy_timeout{60'000};  // how long coordinators and tasks may take to come up
  Duration cancel_timeout{5'000};   // how long tasks may take to end before they are given up
};

// Sums over the tasks of a job while it runs.
struct JobProgress {
  JobId job;
  JobState state = JobState::initializing;
  std::uint64_t records_read = 0;            // put out by sources
  std::uint64_t read_units = 0;              // of the sources' total_units
  std::optional<std::uint64_t> total_units;  // if all sources know
  std::optional<EventTime> watermark;        // smallest of the last vertices
  std::uint64_t bad_records = 0;
  std::uint64_t late_records_dropped = 0;
  std::uint32_t tasks_running = 0;
  std::uint32_t tasks_total = 0;
  std::string waiting_for;  // "4 slots (2 free of 2)", or nothing
};

// How a job ended, or stands.
struct JobOutcome {
  JobId job;
  std::string name;
  JobState state = JobState::initializing;
  std::optional<Error> error;   // of failed, and of canceled if tasks had to be given up
  JobProgress progress;         // at the end
  bool tasks_given_up = false;  // user code did not return from a cancel and still holds threads
};

}  // namespace weir
