#include "snapshot/checkpoint_coordinator.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace weir {
namespace {

constexpr std::size_t named_tasks_max = 5;

std::string text_of(Duration duration) {
  const auto ms = duration.count();
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

std::string title_of(CheckpointId id) {
  return "checkpoint " + std::to_string(id.value);
}

// "a, b, c and 7 more"
std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), named_tasks_max); ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > named_tasks_max) {
    text += " and " + std::to_string(names.size() - named_tasks_max) + " more";
  }
  return text;
}

}  // namespace

CheckpointCoordinator::CheckpointCoordinator(const CheckpointSettings& settings,
                                             CheckpointParticipants participants,
                                             CheckpointPast past)
    : settings_(settings),
      coordinators_(std::move(participants.coordinators)),
      next_id_(std::max(past.next, CheckpointId{1})),
      completed_(past.completed.begin(), past.completed.end()) {
  WEIR_CHECK(settings.check());
  WEIR_CHECK(!participants.tasks.empty());
  WEIR_CHECK(std::ranges::is_sorted(completed_));
  WEIR_CHECK(completed_.empty() || completed_.back() < next_id_);
  for (auto& [id, name] : participants.tasks) tasks_[id].name = std::move(name);
}

CheckpointActions CheckpointCoordinator::on_time(Instant now) {
  CheckpointActions actions;
  std::vector<CheckpointId> expired;
  for (const Pending& pending : pending_) {
    if (pending.deadline <= now.monotonic) expired.push_back(pending.id());
  }
  for (const CheckpointId id : expired) fail(id, expiry_of(*find(id)), now, actions);
  if (is_active() && settings_.enabled() && next_trigger_ <= now.monotonic) {
    periodic_is_due_ = true;
    next_trigger_ +=
        ((now.monotonic - next_trigger_) / settings_.interval + 1) * settings_.interval;
  }
  trigger_what_waits(now, actions);
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_tasks_running(const std::set<SnapshotTaskId>& tasks,
                                                          Instant now) {
  const bool was_active = is_active();
  for (const SnapshotTaskId id : tasks) {
    Task& task = tasks_.at(id);
    if (task.state == TaskState::starting) task.state = TaskState::running;
  }
  schedule_if_activated(was_active, now);
  check_invariants();
  return {};
}

CheckpointActions CheckpointCoordinator::on_region_failed(const std::set<SnapshotTaskId>& tasks,
                                                          const Error& cause, Instant now) {
  CheckpointActions actions;
  for (const SnapshotTaskId id : tasks) tasks_.at(id).state = TaskState::starting;
  const Error reason{cause.code, "tasks failed and restart: " + cause.message};
  abort_all(reason, now, actions);
  drop_user_triggers(reason, actions);
  periodic_is_due_ = false;
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_task_finished(SnapshotTaskId id, Instant now) {
  CheckpointActions actions;
  const bool was_active = is_active();
  Task& task = tasks_.at(id);
  if (task.state == TaskState::finished) return actions;
  task.state = TaskState::finished;
  for (Pending& pending : pending_) {
    if (pending.awaited.erase(id) == 0) continue;
    pending.content.finished.insert(id);
    store_if_whole(pending, actions);
  }
  schedule_if_activated(was_active, now);
  if (running_tasks().empty()) {
    drop_user_triggers({Errc::checkpoint_failed, "all tasks have finished or restart"}, actions);
  }
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_coordinator_snapshot(NodeId node, CheckpointId id,
                                                                 Result<Bytes> snapshot,
                                                                 Instant now) {
  CheckpointActions actions;
  Pending* pending = find(id);
  if (pending == nullptr || !pending->awaited_coordinators.contains(node)) return actions;
  if (snapshot) {
    pending->awaited_coordinators.erase(node);
    pending->content.coordinators[node] = *std::move(snapshot);
    store_if_whole(*pending, actions);
  } else {
    const Error reason{snapshot.error().code, "the coordinator of " + coordinators_.at(node) +
                                                  " has no snapshot: " + snapshot.error().message};
    fail(id, reason, now, actions);
  }
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_acknowledged(SnapshotTaskId task, CheckpointId id,
                                                         TaskSnapshot snapshot, Instant now) {
  CheckpointActions actions;
  Pending* pending = find(id);
  if (pending == nullptr || pending->awaited.erase(task) == 0) return actions;
  pending->statistics.state_bytes += snapshot.file.size;
  pending->statistics.tasks.push_back({.task = task,
                                       .acknowledged = now.processing,
                                       .times = snapshot.times,
                                       .state_bytes = snapshot.file.size});
  pending->content.tasks[task] = std::move(snapshot);
  store_if_whole(*pending, actions);
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_declined(SnapshotTaskId task, CheckpointId id,
                                                     const Error& reason, Instant now) {
  CheckpointActions actions;
  Pending* pending = find(id);
  if (pending == nullptr || !pending->awaited.contains(task)) return actions;
  fail(id, {reason.code, tasks_.at(task).name + " declined it: " + reason.message}, now, actions);
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_stored(CheckpointId id, const Result<void>& stored,
                                                   Instant now) {
  CheckpointActions actions;
  const Pending* pending = find(id);
  if (pending == nullptr || !pending->storing) {
    // It was given up meanwhile, and its manifest may have been written after its files were removed.
    const bool kept = std::ranges::find(completed_, id) != completed_.end();
    if (stored && id < next_id_ && !kept) actions.push_back(checkpoint::Discard{id});
    return actions;
  }
  if (stored) {
    complete(id, now, actions);
  } else {
    const Error& error = stored.error();
    fail(id, {error.code, "it could not be stored: " + error.message}, now, actions);
  }
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_user_trigger(Instant now) {
  CheckpointActions actions;
  const auto drop = [&](std::string reason) {
    actions.push_back(checkpoint::DropTrigger{
        .by_user = true, .reason = {Errc::checkpoint_failed, std::move(reason)}});
  };
  if (!is_active()) {
    drop("the job is starting, restarting or ending: not all of its tasks are running");
  } else if (user_triggers_ >= user_triggers_max) {
    drop("too many checkpoints are asked for: " + std::to_string(user_triggers_) + " wait already");
  } else {
    ++user_triggers_;
    trigger_what_waits(now, actions);
  }
  check_invariants();
  return actions;
}

CheckpointActions CheckpointCoordinator::on_shutdown(Instant now) {
  CheckpointActions actions;
  const Error reason{Errc::cancelled, "the job ends"};
  shut_down_ = true;
  abort_all(reason, now, actions);
  drop_user_triggers(reason, actions);
  check_invariants();
  return actions;
}

std::optional<MonotonicTime> CheckpointCoordinator::next_wake() const {
  std::optional<MonotonicTime> wake;
  if (is_active() && settings_.enabled()) wake = next_trigger_;
  for (const Pending& pending : pending_) {
    if (!wake || pending.deadline < *wake) wake = pending.deadline;
  }
  return wake;
}

bool CheckpointCoordinator::is_active() const {
  bool one_runs = false;
  for (const auto& [id, task] : tasks_) {
    if (task.state == TaskState::starting) return false;
    if (task.state == TaskState::running) one_runs = true;
  }
  return one_runs && !shut_down_;
}

std::optional<CheckpointId> CheckpointCoordinator::latest_completed() const {
  if (completed_.empty()) return std::nullopt;
  return completed_.back();
}

std::vector<CheckpointId> CheckpointCoordinator::pending() const {
  std::vector<CheckpointId> ids;
  for (const Pending& pending : pending_) ids.push_back(pending.id());
  return ids;
}

std::vector<CheckpointStatistics> CheckpointCoordinator::statistics() const {
  std::vector<CheckpointStatistics> all(history_.begin(), history_.end());
  for (const Pending& pending : pending_) all.push_back(pending.statistics);
  std::ranges::sort(all, std::ranges::greater{}, &CheckpointStatistics::id);
  return all;
}

CheckpointCoordinator::Pending* CheckpointCoordinator::find(CheckpointId id) {
  const auto at = std::ranges::find(pending_, id, &Pending::id);
  return at == pending_.end() ? nullptr : &*at;
}

void CheckpointCoordinator::trigger_what_waits(Instant now, CheckpointActions& actions) {
  while (is_active() && pending_.size() < settings_.effective_max_concurrent()) {
    if (user_triggers_ > 0) {
      --user_triggers_;
      trigger(true, now, actions);
      continue;
    }
    if (!std::exchange(periodic_is_due_, false)) return;
    if (last_completion_ && now.monotonic < *last_completion_ + settings_.min_pause) {
      next_trigger_ = *last_completion_ + settings_.min_pause;
      actions.push_back(checkpoint::DropTrigger{
          .by_user = false,
          .reason = {Errc::checkpoint_failed, "the minimum time between checkpoints, " +
                                                  text_of(settings_.min_pause) +
                                                  ", has not passed"}});
      return;
    }
    trigger(false, now, actions);
  }
}

void CheckpointCoordinator::trigger(bool by_user, Instant now, CheckpointActions& actions) {
  const CheckpointId id = next_id_;
  next_id_ = {id.value + 1};
  ++counts_.triggered;
  Pending pending;
  pending.deadline = now.monotonic + settings_.timeout;
  pending.content.id = id;
  pending.content.triggered = now.processing;
  for (const auto& [task_id, task] : tasks_) {
    auto& where = task.state == TaskState::finished ? pending.content.finished : pending.awaited;
    where.insert(task_id);
  }
  for (const auto& [node, name] : coordinators_) pending.awaited_coordinators.insert(node);
  pending.statistics.id = id;
  pending.statistics.by_user = by_user;
  pending.statistics.triggered = now.processing;
  pending.statistics.expected_tasks = static_cast<std::uint32_t>(pending.awaited.size());
  pending_.push_back(std::move(pending));
  actions.push_back(checkpoint::Trigger{.id = id, .time = now.processing, .by_user = by_user});
}

void CheckpointCoordinator::store_if_whole(Pending& pending, CheckpointActions& actions) {
  if (pending.storing) return;
  if (!pending.awaited.empty() || !pending.awaited_coordinators.empty()) return;
  pending.storing = true;
  const CheckpointId id = pending.id();
  actions.push_back(std::exchange(pending.content, checkpoint::Store{.id = id}));
}

void CheckpointCoordinator::complete(CheckpointId id, Instant now, CheckpointActions& actions) {
  // Older ones that are still pending would only set the job back.
  while (pending_.front().id() < id) {
    const Error reason{Errc::checkpoint_failed, "the newer " + title_of(id) + " is complete"};
    abort(pending_.front().id(), reason, now, actions);
  }
  CheckpointStatistics statistics = std::move(pending_.front().statistics);
  pending_.pop_front();
  actions.push_back(
      checkpoint::Complete{.id = id, .by_user = statistics.by_user, .tasks = running_tasks()});
  statistics.status = CheckpointStatus::completed;
  statistics.ended = now.processing;
  remember(std::move(statistics));
  ++counts_.completed;
  failures_in_a_row_ = 0;
  last_completion_ = now.monotonic;
  completed_.push_back(id);
  for (; completed_.size() > settings_.retained; completed_.pop_front()) {
    actions.push_back(checkpoint::Discard{completed_.front()});
  }
  trigger_what_waits(now, actions);
}

void CheckpointCoordinator::fail(CheckpointId id, const Error& reason, Instant now,
                                 CheckpointActions& actions) {
  abort(id, reason, now, actions);
  if (++failures_in_a_row_ > settings_.tolerable_failures) {
    const std::string count = std::to_string(failures_in_a_row_);
    actions.push_back(checkpoint::FailJob{
        {Errc::checkpoint_failed,
         title_of(id) + " failed, number " + count + " in a row where " +
             std::to_string(settings_.tolerable_failures) +
             " are tolerated (--tolerable-checkpoint-failures): " + reason.message},
        reason.code == Errc::output_failed});
    failures_in_a_row_ = 0;
    return;
  }
  trigger_what_waits(now, actions);
}

void CheckpointCoordinator::abort(CheckpointId id, const Error& reason, Instant now,
                                  CheckpointActions& actions) {
  const auto pending = std::ranges::find(pending_, id, &Pending::id);
  WEIR_CHECK(pending != pending_.end());
  CheckpointStatistics statistics = std::move(pending->statistics);
  pending_.erase(pending);
  statistics.status = CheckpointStatus::failed;
  statistics.ended = now.processing;
  statistics.failure = reason.message;
  actions.push_back(checkpoint::Abort{
      .id = id, .by_user = statistics.by_user, .reason = reason, .tasks = running_tasks()});
  actions.push_back(checkpoint::Discard{id});
  remember(std::move(statistics));
  ++counts_.failed;
}

void CheckpointCoordinator::abort_all(const Error& reason, Instant now,
                                      CheckpointActions& actions) {
  while (!pending_.empty()) abort(pending_.front().id(), reason, now, actions);
}

void CheckpointCoordinator::drop_user_triggers(const Error& reason, CheckpointActions& actions) {
  for (; user_triggers_ > 0; --user_triggers_) {
    actions.push_back(checkpoint::DropTrigger{.by_user = true, .reason = reason});
  }
}

void CheckpointCoordinator::remember(CheckpointStatistics statistics) {
  history_.push_back(std::move(statistics));
  if (history_.size() > checkpoint_history_max) history_.pop_front();
}

void CheckpointCoordinator::schedule_if_activated(bool was_active, Instant now) {
  if (!was_active && is_active()) next_trigger_ = now.monotonic + settings_.interval;
}

Error CheckpointCoordinator::expiry_of(const Pending& pending) const {
  std::string message =
      title_of(pending.id()) + " did not complete within " + text_of(settings_.timeout) + ": ";
  std::vector<std::string> names;
  if (pending.storing) {
    message += "its manifest has not been stored";
  } else if (!pending.awaited_coordinators.empty()) {
    for (const NodeId node : pending.awaited_coordinators) names.push_back(coordinators_.at(node));
    message += "no snapshot from the coordinators of " + list_of(names);
  } else {
    for (const SnapshotTaskId task : pending.awaited) names.push_back(tasks_.at(task).name);
    message += std::to_string(names.size()) + " of " +
               std::to_string(pending.statistics.expected_tasks) +
               " tasks have not acknowledged it: " + list_of(names);
  }
  return {Errc::timeout, std::move(message)};
}

std::vector<SnapshotTaskId> CheckpointCoordinator::running_tasks() const {
  std::vector<SnapshotTaskId> running;
  for (const auto& [id, task] : tasks_) {
    if (task.state == TaskState::running) running.push_back(id);
  }
  return running;
}

void CheckpointCoordinator::check_invariants() const {
  WEIR_CHECK(pending_.size() <= settings_.effective_max_concurrent());
  WEIR_CHECK(completed_.size() <= settings_.retained || pending_.empty() ||
             completed_.back() < pending_.front().id());
  for (const Pending& pending : pending_) {
    const bool waits = !pending.awaited.empty() || !pending.awaited_coordinators.empty();
    WEIR_CHECK(pending.storing != waits);
    WEIR_CHECK(pending.id() < next_id_);
  }
}

}  // namespace weir
