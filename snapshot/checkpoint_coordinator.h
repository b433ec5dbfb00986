// Decides when a job's checkpoints begin, and follows each until it is complete or given up.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "snapshot/checkpoint_settings.h"
#include "snapshot/checkpoint_statistics.h"
#include "snapshot/task_snapshot.h"

namespace weir {

// One moment on both clocks: deadlines are kept on the one that never goes back, people are told the other.
struct Instant {
  MonotonicTime monotonic{};
  ProcessingTime processing{};
  [[nodiscard]] static Instant of(const Clock& clock) {
    return {.monotonic = clock.now(), .processing = clock.processing_time()};
  }
};

// What the coordinator wants done, in this order.
namespace checkpoint {

// Each operator coordinator snapshots itself and lets the barrier follow what it has handed out.
struct Trigger {
  CheckpointId id{};
  ProcessingTime time{};
  bool by_user = false;
  friend bool operator==(const Trigger&, const Trigger&) = default;
};
// A checkpoint that was due or asked for does not begin.
struct DropTrigger {
  bool by_user = false;
  Error reason;
  friend bool operator==(const DropTrigger&, const DropTrigger&) = default;
};
// Tell these tasks, which are running, that nobody waits for the checkpoint any more.
struct Abort {
  CheckpointId id{};
  bool by_user = false;
  Error reason;
  std::vector<SnapshotTaskId> tasks{};
  friend bool operator==(const Abort&, const Abort&) = default;
};
// All that the checkpoint consists of is there: write its manifest, then tell on_stored. What sinks have prepared before it
// and nobody has committed yet belongs into it, also of tasks in `finished`.
struct Store {
  CheckpointId id{};
  ProcessingTime triggered{};
  std::map<NodeId, Bytes> coordinators{};
  std::map<SnapshotTaskId, TaskSnapshot> tasks{};
  std::set<SnapshotTaskId> finished{};
  friend bool operator==(const Store&, const Store&) = default;
};
// The checkpoint is what a restart begins from: commit what its manifest holds, tell these tasks.
struct Complete {
  CheckpointId id{};
  bool by_user = false;
  std::vector<SnapshotTaskId> tasks{};
  friend bool operator==(const Complete&, const Complete&) = default;
};
// The files of the checkpoint are of no more use. May come twice for the same one.
struct Discard {
  CheckpointId id{};
  friend bool operator==(const Discard&, const Discard&) = default;
};
// More checkpoints failed in a row than are tolerated.
struct FailJob {
  Error error;
  bool cannot_be_written = false;  // as the next attempt's could not
  friend bool operator==(const FailJob&, const FailJob&) = default;
};

}  // namespace checkpoint

using CheckpointAction =
    std::variant<checkpoint::Trigger, checkpoint::DropTrigger, checkpoint::Abort, checkpoint::Store,
                 checkpoint::Complete, checkpoint::Discard, checkpoint::FailJob>;
using CheckpointActions = std::vector<CheckpointAction>;

// Who takes part, with names for messages: "count (2/4)", "lines".
struct CheckpointParticipants {
  std::map<SnapshotTaskId, std::string> tasks{};
  std::map<NodeId, std::string> coordinators{};  // each snapshots itself at every trigger
};

// What is known from before, when a job is taken over or restored.
struct CheckpointPast {
  CheckpointId next{1};                   // no id below it is used
  std::vector<CheckpointId> completed{};  // those that are kept, ascending
};

inline constexpr std::size_t user_triggers_max = 1000;

// A pure state machine: no clock, thread, I/O or actor. Not thread-safe. O(tasks) per event at most. Events of
// checkpoints that have ended, or never were, are ignored.
//
// Tasks are at first not running: the coordinator triggers only while each of its tasks is running or has finished, and
// one is running. The first periodic trigger is one interval after that, the others follow at a fixed rate; what is due
// while too many are under way waits, once. Checkpoints that a user asks for go first, whatever the pause; those that
// wait are served in the order of asking, each by a Trigger or a DropTrigger with by_user. If the interval is 0, users'
// are the only ones.
//
// A checkpoint completes when each coordinator has given its snapshot, each task that has not finished has acknowledged
// it, and its manifest is stored. It fails if one of them reports an error, or after the timeout; such failures count,
// in a row, against the tolerable ones. An abort because tasks fail, because a newer one completed, or at the end does
// not count.
//
// Invariants:
//  (1) Ids strictly increase, also over restarts; each begun checkpoint ends once, by Complete or by Abort.
//  (2) Never more than effective_max_concurrent() are pending, and none while a task is not running.
//  (3) A pending one either waits for somebody or is being stored.
class CheckpointCoordinator {
 public:
  // Requires settings.check() and that there are tasks.
  CheckpointCoordinator(const CheckpointSettings& settings, CheckpointParticipants participants,
                        CheckpointPast past = {});

  // To be called at next_wake(), and harmless at other times.
  [[nodiscard]] CheckpointActions on_time(Instant now);
  // These tasks run, and have read what they restore: a newer checkpoint may remove it. When all run that have not
  // finished, checkpoints may begin.
  [[nodiscard]] CheckpointActions on_tasks_running(const std::set<SnapshotTaskId>& tasks,
                                                   Instant now);
  // These tasks fail and restart, also those of them that had finished: all pending checkpoints are aborted, also one
  // that is being stored. None begins until on_tasks_running or on_task_finished for each.
  [[nodiscard]] CheckpointActions on_region_failed(const std::set<SnapshotTaskId>& tasks,
                                                   const Error& cause, Instant now);
  // Pending and later checkpoints do without its acknowledgement. Requires that the task has answered each barrier that
  // it has passed on: otherwise what it sent behind that barrier is lost to whoever restores the checkpoint.
  [[nodiscard]] CheckpointActions on_task_finished(SnapshotTaskId task, Instant now);

  [[nodiscard]] CheckpointActions on_coordinator_snapshot(NodeId node, CheckpointId id,
                                                          Result<Bytes> snapshot, Instant now);
  [[nodiscard]] CheckpointActions on_acknowledged(SnapshotTaskId task, CheckpointId id,
                                                  TaskSnapshot snapshot, Instant now);
  [[nodiscard]] CheckpointActions on_declined(SnapshotTaskId task, CheckpointId id,
                                              const Error& reason, Instant now);
  [[nodiscard]] CheckpointActions on_stored(CheckpointId id, const Result<void>& stored,
                                            Instant now);
  [[nodiscard]] CheckpointActions on_user_trigger(Instant now);
  // The job ends: everything pending is aborted, nothing begins any more.
  [[nodiscard]] CheckpointActions on_shutdown(Instant now);

  // When on_time has something to do; nothing if only events can change anything.
  [[nodiscard]] std::optional<MonotonicTime> next_wake() const;

  [[nodiscard]] bool is_active() const;
  // Of a checkpoint that is made without the coordinator.
  [[nodiscard]] CheckpointId take_id() { return std::exchange(next_id_, {next_id_.value + 1}); }
  [[nodiscard]] std::optional<CheckpointId> latest_completed() const;
  [[nodiscard]] std::vector<CheckpointId> pending() const;
  // Those under way and the last ones that ended, newest first.
  [[nodiscard]] std::vector<CheckpointStatistics> statistics() const;
  [[nodiscard]] const CheckpointCounts& counts() const { return counts_; }

 private:
  enum class TaskState : std::uint8_t { starting, running, finished };
  struct Task {
    std::string name;
    TaskState state = TaskState::starting;
  };
  struct Pending {
    MonotonicTime deadline{};
    bool storing = false;
    std::set<SnapshotTaskId> awaited{};
    std::set<NodeId> awaited_coordinators{};
    checkpoint::Store content{};
    CheckpointStatistics statistics{};
    [[nodiscard]] CheckpointId id() const { return content.id; }
  };

  [[nodiscard]] Pending* find(CheckpointId id);
  void trigger_what_waits(Instant now, CheckpointActions& actions);
  void trigger(bool by_user, Instant now, CheckpointActions& actions);
  void store_if_whole(Pending& pending, CheckpointActions& actions);
  void complete(CheckpointId id, Instant now, CheckpointActions& actions);
  void fail(CheckpointId id, const Error& reason, Instant now, CheckpointActions& actions);
  void abort(CheckpointId id, const Error& reason, Instant now, CheckpointActions& actions);
  void abort_all(const Error& reason, Instant now, CheckpointActions& actions);
  void drop_user_triggers(const Error& reason, CheckpointActions& actions);
  void remember(CheckpointStatistics statistics);
  void schedule_if_activated(bool was_active, Instant now);
  [[nodiscard]] Error expiry_of(const Pending& pending) const;
  [[nodiscard]] std::vector<SnapshotTaskId> running_tasks() const;
  void check_invariants() const;

  CheckpointSettings settings_;
  std::map<SnapshotTaskId, Task> tasks_;
  std::map<NodeId, std::string> coordinators_;
  CheckpointId next_id_;
  std::deque<Pending> pending_;         // ascending
  std::deque<CheckpointId> completed_;  // ascending, as many as are retained
  std::deque<CheckpointStatistics> history_;
  CheckpointCounts counts_;
  MonotonicTime next_trigger_{};  // meaningful while active
  bool periodic_is_due_ = false;
  std::size_t user_triggers_ = 0;
  std::optional<MonotonicTime> last_completion_;
  std::uint32_t failures_in_a_row_ = 0;
  bool shut_down_ = false;
};

}  // namespace weir
