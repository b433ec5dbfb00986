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
#include "dataflow/plan/job_graph.h"
#include "dataflow/split_overview.h"
#include "snapshot/checkpoint_settings.h"
#include "snapshot/checkpoint_statistics.h"
#include "snapshot/restart_strategy.h"

namespace weir {

// As in Apache Flink.
enum class JobState : std::uint8_t {
  initializing,  // accepted
  created,       // waits for slots
  running,       // inputs are listed, outputs prepared, tasks deployed; then they run
  restarting,  // something failed; a part of it begins again, from its last checkpoint if it has one
  failing,     // something failed; its tasks are being cancelled
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

// "count (2/4)"
[[nodiscard]] std::string task_name(const std::string& vertex, SubtaskIndex subtask,
                                    std::uint32_t parallelism);

// 16 hexadecimal digits, as people read and write it.
[[nodiscard]] std::string to_string(JobId job);
[[nodiscard]] std::optional<JobId> parse_job_id(std::string_view text);

// How a job is run, besides its plan.
struct JobSettings {
  bool strict = false;              // see OperatorContext::strict
  Duration slot_timeout{300'000};   // how long to wait for slots
  Duration deploy_timeout{60'000};  // until coordinators and tasks are up, but for reading state
  Duration cancel_timeout{5'000};   // how long tasks may take to end before they are given up
  CheckpointSettings checkpoints = {};
  RestartSettings restarts = {};
  // The directory of a checkpoint to begin from, or of its job; empty: begin anew. A path, or within the job's storage.
  std::string restore_from = {};

  [[nodiscard]] Result<void> check() const;  // Errc::bad_option
};

// One exchange of a task at one moment: what it puts out on one edge of the job.
struct ExchangeReport {
  std::uint64_t records_out = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t in_flight_bytes = 0;
  std::uint64_t window_bytes = 0;
  // Of a hash exchange, by a sample of its records: the key group with the most of them.
  std::uint64_t sampled_records = 0;
  std::uint64_t largest_group_records = 0;  // of the sampled ones
  std::uint32_t largest_group = 0;
  friend bool operator==(const ExchangeReport&, const ExchangeReport&) = default;
};

// A count that a user's function keeps.
struct NamedCount {
  std::string step;
  std::string name;
  std::int64_t value = 0;
  friend bool operator==(const NamedCount&, const NamedCount&) = default;
};

// A task at one moment. Counters are since it began; each figure is right by itself, not all at one instant.
struct TaskReport {
  TaskId task;
  std::uint64_t records_in = 0;
  std::uint64_t records_out = 0;  // into exchanges
  std::uint64_t bytes_in = 0;     // as credit counts them
  std::uint64_t bytes_out = 0;
  std::uint64_t head_records_out = 0;  // by the chain's first operator: what a source has read
  std::uint64_t read_units = 0;        // of a source: see SourceOperator::read_units
  std::uint64_t bad_records = 0;
  std::uint64_t late_records_dropped = 0;
  std::uint64_t records_ahead = 0;         // whose time is not believed
  EventTime watermark = EventTime::min();  // of its input; of a source: that it put out
  std::uint64_t busy_ns = 0;
  std::uint64_t backpressured_ns = 0;  // work waited for room downstream
  std::uint64_t queued_bytes = 0;      // in its input gate
  std::uint64_t in_flight_bytes = 0;   // sent and not yet consumed, over its outgoing channels
  std::uint64_t window_bytes = 0;      // what may be in flight over them
  std::uint32_t stage_called = 0;      // the step of its chain that was called last
  std::uint32_t step_ms = 0;           // how long the step under way has taken, 0 between steps
  std::int64_t at_ns = 0;  // when, on the monotonic clock of its process; 0: it has not begun
  std::vector<ExchangeReport> exchanges = {};  // in the order of the plan
  std::vector<NamedCount> counters = {};
  SplitOverview splits = {};  // of a source whose chain has watermarks per split
  std::optional<NodeId> waits_for =
      {};  // of a source that is ahead of others: the step whose alignment group they are
  friend bool operator==(const TaskReport&, const TaskReport&) = default;
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
  std::uint64_t records_ahead = 0;  // whose time is not believed
  std::uint32_t tasks_running = 0;
  std::uint32_t tasks_total = 0;
  std::string waiting_for;  // "4 slots (2 free of 2)", or nothing
  std::uint32_t restarts = 0;
  // "restarts in 1000 ms, attempt 2: why", or what the last attempt began from that it should not have; or nothing.
  std::string last_restart;
  std::vector<NamedCount> counters;  // of user functions, a step's subtasks together
};

// How a job ended, or stands.
struct JobOutcome {
  JobId job;
  std::string name;
  JobState state = JobState::initializing;
  std::optional<Error> error;   // of failed, and of canceled if tasks had to be given up
  JobProgress progress;         // at the end
  bool tasks_given_up = false;  // user code did not return from a cancel and still holds threads
  std::string kept_checkpoint = {};  // a directory to go on from (--from); "" if there is none
};

// What to add to the word that it has ended.
[[nodiscard]] std::string words_on_kept_checkpoint(const JobOutcome& outcome);

// What an exception that is no task's may be about: a manifest that was to make the last commit safe.
inline constexpr std::string_view last_checkpoint = "last checkpoint";

// One failure of a job, as `job exceptions` shows it.
struct JobException {
  AttemptId attempt = {};
  ProcessingTime at = {};
  std::string task = {};  // "count (2/4)"; empty if it was no task
  std::string node = {};  // where, "" if unknown
  Error error = {};
};

// A place where tasks of a job run.
struct TaskHostInfo {
  std::string node = {};          // id of the node, "" in the embedded cluster
  std::uint64_t process = 0;      // process id
  std::string data_address = {};  // "127.0.0.1:40123", "" if it exchanges nothing with others
  AttemptId execution = {};       // under which its node knows it,
  HostIndex index = {};           // and its position in that
};

struct TaskInfo {
  TaskId task = {};
  TaskState state = TaskState::created;
  std::uint32_t host = 0;  // position among the hosts
  AttemptId attempt = {};  // how often its region has been begun
  TaskReport report = {};
};

// The checkpoints of a job: how many there were, and the last ones, newest first.
struct CheckpointOverview {
  bool enabled = false;
  std::string directory = {};  // that of the job
  Duration interval{0};
  CheckpointCounts counts = {};
  std::vector<CheckpointStatistics> history = {};
};

// Everything that is known of a job, for inspection.
struct JobDetails {
  JobOutcome status = {};
  ProcessingTime submitted_at = {};
  ProcessingTime ended_at = {};  // 0 while it runs
  AttemptId attempt = {};        // the largest of a region
  std::uint32_t restores = 0;    // how often a region began from a checkpoint
  std::vector<TaskHostInfo> hosts = {};
  std::vector<TaskInfo> tasks = {};
  std::vector<JobException> exceptions = {};  // the last ones, oldest first
  CheckpointOverview checkpoints = {};
};

// The answer to a question about one job.
struct JobAnswer {
  std::optional<JobDetails> details = {};  // none: no such job
  JobGraph graph = {};
};
struct JobList {
  std::vector<JobOutcome> running = {};
  std::vector<JobOutcome> ended = {};  // oldest first
  std::uint32_t left_out = 0;  // more than fit into the answer: of the oldest that ended, then any
};

// Rows that print() sinks have put out, as text. Bounded: what nobody fetched in time is dropped.
struct PrintedRows {
  std::string text = {};
  std::uint64_t next = 0;  // the position behind `text`, for the next question
  std::uint64_t rows = 0;  // all up to there: more than the asker has got means that some are lost
};

// A node of the cluster, as it describes itself.
struct NodeInfo {
  std::string id = {};
  std::string role = {};  // "master" or "worker"
  std::string address =
      {};  // host:port that it listens on; of a worker: the host that others reach it by
  std::string version = {};
  std::uint64_t process = 0;
  std::uint32_t slots = 0;
  std::uint64_t memory_bytes = 0;  // for its task processes; 0: unlimited
};
struct NodeStatus {
  NodeInfo node = {};
  std::uint32_t free_slots = 0;
  std::uint32_t silent_ms = 0;  // since its last heartbeat
};
struct NodeList {
  std::vector<NodeStatus> nodes = {};
};

}  // namespace weir
