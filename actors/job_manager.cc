#include "actors/job_manager.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "actors/checkpoint_storage.h"
#include "actors/commit_limit.h"
#include "actors/restore_fit.h"
#include "snapshot/restore.h"

namespace weir {
namespace {

// Mistakes that a restart repeats.
bool is_recoverable(const Error& error) {
  switch (error.code) {
    case Errc::bad_option:
    case Errc::invalid_plan:
    case Errc::input_missing:
    case Errc::output_exists:
    case Errc::output_lost:
    case Errc::plan_mismatch:
    case Errc::state_mismatch:
    case Errc::task_stuck:
    case Errc::too_large:
      return false;
    default:
      return true;
  }
}

bool is_of_files(const Error& error) {
  return error.code == Errc::output_failed || error.code == Errc::input_unreadable;
}

// How long an execution's hosts may take to be gone before the next one begins beside them.
constexpr Duration hosts_gone_timeout{10'000};
// How long a job that ends waits for the slots in which its output is removed; it has them, unless a worker was lost.
constexpr Duration slots_to_remove_output_timeout{10'000};

std::string seconds(Duration duration) {
  return std::to_string(duration.count() / 1000) + " s";
}

}  // namespace

void JobManager::begin(JobManagerHandle::base* self, const EngineContext& engine,
                       SubmitJob submission, DispatcherHandle dispatcher,
                       ResourceManagerHandle resource_manager) {
  job_.self = self;
  job_.engine = &engine;
  job_.submission = std::move(submission);
  job_.dispatcher = std::move(dispatcher);
  job_.log = engine.logger.about("job " + job_.submission.graph.job_name);
  job_.owner = this;
  resource_manager_ = std::move(resource_manager);
  submitted_at_ = engine.clock->processing_time();
  self->set_down_handler([this](const caf::down_msg& down) { on_down(down); });

  const JobGraph& graph = job_.submission.graph;
  std::uint32_t next_slot = 0;
  for (const JobVertex& vertex : graph.vertices) {
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      reports_[{vertex.id, {i}}].task = {vertex.id, {i}};
    }
    if (job_.first_slot_of_group.contains(vertex.slot_group)) continue;
    job_.first_slot_of_group[vertex.slot_group] = next_slot;
    std::uint32_t widest = 0;
    for (const JobVertex& other : graph.vertices) {
      if (other.slot_group == vertex.slot_group) widest = std::max(widest, other.parallelism);
    }
    next_slot += widest;
  }
  slots_.resize(next_slot);
  for (auto& vertices : pipelined_regions(graph))
    regions_.push_back({.vertices = std::move(vertices)});
  job_.region_count = static_cast<std::uint32_t>(regions_.size());
  const JobSettings& settings = job_.submission.settings;
  restarts_ = make_restart_strategy(settings.restarts, Random(job_.submission.job.value));
  if (settings.checkpoints.enabled()) checkpoints_.emplace(job_, *this);
}

void JobManager::start() {
  const auto ready = get_ready();
  for (std::uint32_t i = 0; i < regions_.size(); ++i) make_execution({i}, restore_from_);
  if (!ready) return fail_job(ready.error());
  for (Region& region : regions_) region.execution->start();
}

Result<void> JobManager::get_ready() {
  if (checkpoints_) WEIR_TRY(checkpoints_->open());
  const std::string& directory = job_.submission.settings.restore_from;
  return directory.empty() ? Result<void>() : find_restore_point(directory);
}

// The checkpoint that the job is to begin from, before anything of it is started.
Result<void> JobManager::find_restore_point(const std::string& directory) {
  const auto place =
      checkpoint_place(*job_.engine, job_.submission.settings.checkpoints, directory);
  if (!place) return place.error();
  const auto found = checkpoint_in(*place->storage, place->directory);
  if (!found) {
    return Error{found.error().code,
                 "cannot begin from a checkpoint (--from): " + found.error().message};
  }
  for (const PassedOver& passed : found->passed_over) {
    note("restore", {Errc::corrupt_data,
                     passed.directory + " is not restored from: " + passed.reason.message});
  }
  const StoredCheckpoint& checkpoint = *found->checkpoint;
  WEIR_TRY(check_fits(checkpoint.manifest, job_.submission.graph,
                      place->storage->root() + '/' + checkpoint.directory));
  // Of a job's directory, the newest in it.
  restore_from_ = directory + checkpoint.directory.substr(place->directory.size());
  job_.log.info("begins from checkpoint " + restore_from_);
  return {};
}

void JobManager::make_execution(RegionIndex index, std::string restore_from) {
  Region& region = regions_[index.value];
  if (!restore_from.empty() && !region.removes_output) ++restores_;
  last_attempt_ = {last_attempt_.value + 1};
  if (!region.removes_output) ++region.number;
  region.waits_for_slots = region.tasks_finished = region.ended = region.decided = false;
  region.restored_from = restore_from;
  region.restart_after.reset();
  const bool again = region.execution != nullptr && region.execution->leaves_output();
  for (const VertexId vertex : region.vertices) {
    if (!region.removes_output)
      watermark_groups_.begin(job_.submission.graph, job_.submission.graph.vertex(vertex));
  }
  region.execution = std::make_unique<RegionExecution>(
      job_, index, region.vertices, last_attempt_,
      RegionExecution::Begin{.restore_from = std::move(restore_from),
                             .again = again,
                             .removes_output = region.removes_output});
}

void JobManager::cancel() {
  if (over_ || ending_ || committing_) return;
  job_.log.info("cancel requested");
  begin_ending(JobState::cancelling);
}

void JobManager::begin_ending(JobState state) {
  ending_ = state;
  if (checkpoints_) checkpoints_->on_ending();
  // First those that wait for their restart: the end of one of the others may be the end of the job.
  for (Region& region : regions_) {
    if (region.ended && region.restart_after && leaves_output(region)) remove_output(region);
  }
  for (Region& region : regions_) region.execution->cancel();
  end_job_if_over();
}

// Whether hidden files of a job that ends stay behind if nobody is sent for them.
bool JobManager::leaves_output(Region& region) {
  return !region.removes_output && !output_is_needed(region) &&
         !region.execution->sinks().empty() && region.execution->leaves_output();
}

// By another execution, from the last checkpoint: what that holds is committed first, as it would have been. Not at once,
// for the one that has ended may be what calls.
void JobManager::remove_output(Region& region) {
  region.removes_output = region.restarting = true;
  region.execution->release_hosts();
  set_deadline(JobDeadline::Kind::restart, Duration{0}, region.execution->attempt());
}

void JobManager::leave_output() {
  for (Region& region : regions_) {
    if (!region.execution->removes_output()) region.removes_output = false;
  }
  end_job_if_over();
}

// The rest of the job is cancelled; it failed.
void JobManager::fail_job(const Error& error) {
  if (over_ || ending_) return end_job_if_over();
  error_ = error;
  begin_ending(JobState::failing);
}

void JobManager::keep_commit(NodeId sink, CheckpointId checkpoint,
                             std::vector<Committable> committables) {
  pending_commits_.add(sink, checkpoint, std::move(committables));
  const auto fits =
      check_commit_of_sink(job_.submission.graph.node(sink).name, pending_commits_.bytes_of(sink));
  if (!fits) fail_job(fits.error());
}

RegionExecution* JobManager::find(AttemptId attempt) {
  for (Region& region : regions_) {
    if (region.execution != nullptr && region.execution->attempt() == attempt)
      return region.execution.get();
  }
  return nullptr;
}

bool JobManager::runs(AttemptId attempt, TaskId task) {
  const RegionExecution* execution = find(attempt);
  return execution != nullptr && execution->graph().knows(task) &&
         !is_terminal(execution->graph().state_of(task));
}

const JobManager::Region& JobManager::region_of(TaskId task) const {
  for (const Region& region : regions_) {
    if (std::ranges::find(region.vertices, task.vertex) != region.vertices.end()) return region;
  }
  WEIR_CHECK(false);
}

bool JobManager::has_finished(TaskId task) const {
  const Region& region = region_of(task);
  return region.execution != nullptr &&
         region.execution->graph().state_of(task) == TaskState::finished;
}

std::optional<std::string> JobManager::find_sink_ahead_of(RegionIndex region,
                                                          CheckpointId checkpoint) const {
  for (const NodeId sink : regions_[region.value].execution->sinks()) {
    if (pending_commits_.visible_up_to(sink) > checkpoint)
      return job_.submission.graph.node(sink).name;
  }
  return std::nullopt;
}

// ---- Slots ----------------------------------------------------------------------------------------------------------

Duration JobManager::slot_timeout_of(const RegionExecution& execution) const {
  const Duration of_job = job_.submission.settings.slot_timeout;
  return execution.removes_output() ? std::min(of_job, slots_to_remove_output_timeout) : of_job;
}

void JobManager::ask_for_slots(RegionExecution& execution) {
  const Duration timeout = slot_timeout_of(execution);
  Region& region = region_of(execution);
  region.waits_for_slots = true;
  region.slots_deadline = job_.engine->clock->processing_time() + timeout;
  set_deadline(JobDeadline::Kind::slots, timeout, execution.attempt());
  fill_waiting_regions();
}

// What is missing is asked for in one request; what comes goes to whoever waits.
void JobManager::fill_waiting_regions() {
  std::set<std::uint32_t> missing;
  for (const Region& region : regions_) {
    if (!region.waits_for_slots) continue;
    for (const std::uint32_t slot : region.execution->slots()) {
      if (!slots_[slot]) missing.insert(slot);
    }
  }
  if (missing.size() > requested_) {
    const auto count = static_cast<std::uint32_t>(missing.size() - requested_);
    requested_ += count;
    job_.self->send(resource_manager_, RequestSlots{job_.submission.job, count,
                                                    caf::actor_cast<JobManagerHandle>(job_.self)});
  }
  for (Region& region : regions_) {
    const auto& slots = region.execution->slots();
    const bool has_all =
        std::ranges::all_of(slots, [&](std::uint32_t slot) { return slots_[slot].has_value(); });
    if (!region.waits_for_slots || !has_all) continue;
    region.waits_for_slots = false;
    region.execution->on_slots(slots_);
  }
}

void JobManager::on_slots_granted(const SlotsGranted& grant) {
  waiting_for_.clear();
  requested_ -= std::min(requested_, static_cast<std::uint32_t>(grant.slots.size()));
  auto free = slots_.begin();
  for (const GrantedSlot& slot : grant.slots) {
    free = std::find(free, slots_.end(), std::nullopt);
    if (free == slots_.end()) break;  // given back with the others when the job ends
    *free = slot;
  }
  fill_waiting_regions();
}

void JobManager::on_slots_refused(const SlotsRefused& refusal) {
  waiting_for_ = refusal.missing;
  job_.log.info("waits for " + waiting_for_);
}

void JobManager::on_task_manager_lost(const TaskManagerLost& lost) {
  for (auto& slot : slots_) {
    if (slot && slot->task_manager == lost.task_manager) slot.reset();
  }
  for (Region& region : regions_)
    region.execution->on_task_manager_lost(lost.task_manager, lost.error);
  fill_waiting_regions();
}

// ---- Executions -----------------------------------------------------------------------------------------------------

void JobManager::on_host_report(const TaskHostReport& report) {
  RegionExecution* execution = find(report.attempt);
  if (execution == nullptr) return;
  execution->beat(report.host);
  for (const TaskReport& of_task : report.tasks) {
    if (runs(report.attempt, of_task.task)) reports_.at(of_task.task) = of_task;
  }
  printed_.append(report.printed, report.printed_dropped);
}

void JobManager::on_coordinator_opened(const CoordinatorOpened& opened) {
  RegionExecution* execution = find(opened.attempt);
  if (execution == nullptr) return;
  const bool source = job_.submission.graph.node(opened.node).role == StageRole::source;
  if (opened.total_units) {
    total_units_[opened.node] = *opened.total_units;
  } else if (source) {
    all_totals_known_ = false;
  }
  execution->on_coordinator_opened(opened);
}

void JobManager::on_task_changed(const TaskChanged& change) {
  RegionExecution* execution = find(change.attempt);
  if (execution == nullptr || !execution->graph().knows(change.task)) return;
  if (change.report) reports_[change.task] = *change.report;
  if (change.state == TaskState::finished && runs(change.attempt, change.task)) {
    const CheckpointId next = checkpoints_ ? checkpoints_->next_of(change.task) : CheckpointId{1};
    for (const auto& commit : change.commits) {
      keep_commit(commit.node, next, commit.committables);
    }
    if (checkpoints_) checkpoints_->on_task_finished(change.task);
    watermark_groups_.on_finished(job_.submission.graph, change.task);
  }
  execution->on_task_changed(change);
}

void JobManager::tell_restart(const std::string& what) {
  last_restart_ = what;
  job_.log.warning(what);
}

void JobManager::on_committed(const OutputCommitted& committed) {
  RegionExecution* execution = find(committed.attempt);
  if (execution == nullptr) return;
  if (!committed.error && committed.checkpoint)
    pending_commits_.on_committed(committed.node, *committed.checkpoint);
  execution->on_committed(committed);
}

void JobManager::on_watermarks(const ReportWatermarks& report) {
  if (!runs(report.attempt, report.task)) return;
  find(report.attempt)
      ->send_to_host_of(report.task, watermark_groups_.on_report(job_.submission.graph, report));
}

void JobManager::on_all_running(RegionExecution& execution) {
  Region& region = region_of(execution);
  region.has_run = true;
  if (region.number > 1) job_.log.info("runs again, attempt " + std::to_string(region.number));
  if (checkpoints_) checkpoints_->on_running(region.vertices);
}

void JobManager::on_tasks_finished(RegionExecution& execution) {
  region_of(execution).tasks_finished = true;
  commit_if_all_finished();
}

// All or nothing: output of a part of a job that has finished stays hidden until the rest has finished too, but for
// what checkpoints have committed.
void JobManager::commit_if_all_finished() {
  if (ending_ || committing_ || !std::ranges::all_of(regions_, &Region::tasks_finished)) return;
  committing_ = true;
  if (checkpoints_) return checkpoints_->store_last();  // says allow_commit()
  allow_commit();
}

void JobManager::allow_commit() {
  for (Region& region : regions_) region.execution->allow_commit();
}

std::vector<Committable> JobManager::last_commit(NodeId sink) {
  constexpr CheckpointId last{std::numeric_limits<std::uint64_t>::max()};
  pending_commits_.on_committing(sink, last);
  return pending_commits_.up_to(sink, last);
}

bool JobManager::keeps_output(RegionExecution& execution) {
  Region& region = region_of(execution);
  decide(region);
  return output_is_needed(region);
}

// Hidden files belong to a checkpoint that somebody may go on from: this job, or another when it has ended.
bool JobManager::output_is_needed(const Region& region) const {
  if (checkpoints_ && checkpoints_->outlives(ending_.value_or(JobState::failing))) return true;
  if (!checkpoints_ || !checkpoints_->has_completed()) return !restore_from_.empty();
  return region.restart_after && !ending_;
}

// Once per failure, and before what it has written is given up.
void JobManager::decide(Region& region) {
  if (std::exchange(region.decided, true) || ending_) return;
  const ExecutionGraph& graph = region.execution->graph();
  if (!graph.error()) return;
  if (may_restart(region)) region.restart_after = restarts_->on_failure(job_.engine->clock->now());
  if (!checkpoints_) return;
  // A checkpoint that is still being stored must not count any more: it refers to what may be removed now.
  if (region.restart_after) {
    checkpoints_->on_failed(region.vertices, *graph.error());
  } else {
    checkpoints_->on_ending();
  }
}

bool JobManager::may_restart(const Region& region) {
  const ExecutionGraph& graph = region.execution->graph();
  const Error& error = *graph.error();
  if (graph.tasks_given_up() || !is_recoverable(error)) return false;
  // Who has never had its slots has nothing to come back to.
  if (error.code == Errc::not_enough_slots && region.number == 1) return false;
  // What the checkpoint refers to is not as it was, and will not be.
  const bool cannot_begin = !restore_from_.empty() && !region.has_run;
  if (cannot_begin && is_of_files(error)) return false;
  if (error.code == Errc::checkpoint_damaged) {
    if (region.restored_from == restore_from_) return false;  // it has no other
    checkpoints_->on_damaged(region.restored_from, error);
  }
  return true;
}

// No checkpoint takes part of it from now on, however long its tasks take to end.
void JobManager::on_failing(RegionExecution& execution) {
  if (checkpoints_ && !ending_)
    checkpoints_->on_failed(execution.vertices(), *execution.graph().error());
}

void JobManager::on_ended(RegionExecution& execution) {
  Region& region = region_of(execution);
  region.ended = true;
  region.waits_for_slots = false;
  const ExecutionGraph& graph = execution.graph();
  tasks_given_up_ = tasks_given_up_ || graph.tasks_given_up();
  bool gave_up_restart = false;
  if (graph.state() == JobState::failed) {
    committing_ = false;
    decide(region);
    // The job may have begun to end since that was decided.
    if (ending_ && std::exchange(region.restart_after, {})) gave_up_restart = true;
    if (!region.restart_after) {
      fail_job(checkpoints_ ? checkpoints_->with_damaged(*graph.error()) : *graph.error());
    } else {
      ++restart_count_;
      last_restart_ = "restarts in " + std::to_string(region.restart_after->count()) +
                      " ms, attempt " + std::to_string(region.number + 1) + ": " +
                      graph.error()->message;
      job_.log.warning(last_restart_);
      for (const VertexId vertex : region.vertices) {
        for (const NodeId node : job_.submission.graph.vertex(vertex).stages)
          pending_commits_.forget(node);
      }
      execution.release_hosts();
      // Once its hosts are gone, so that no two attempts write at once; they are not waited for without end.
      set_deadline(JobDeadline::Kind::hosts_gone, hosts_gone_timeout, execution.attempt());
      if (execution.hosts_gone()) on_hosts_gone(execution);
      return;
    }
  } else if (graph.state() == JobState::canceled && graph.error()) {  // tasks that were given up
    if (error_) {
      error_->message += "; then " + graph.error()->message;
    } else {
      error_ = graph.error();
    }
  }
  const bool may_leave_output = ending_ == JobState::cancelling || gave_up_restart;
  if (may_leave_output && leaves_output(region)) return remove_output(region);
  end_job_if_over();
}

void JobManager::on_hosts_gone(RegionExecution& execution) {
  Region& region = region_of(execution);
  if (!region.restart_after || region.restarting || ending_) return;
  region.restarting = true;
  set_deadline(JobDeadline::Kind::restart, *region.restart_after, execution.attempt());
}

void JobManager::restart(Region& region) {
  if (!std::exchange(region.restarting, false)) return;
  if (over_ || (ending_ && !region.removes_output)) return;
  const RegionIndex index = region.execution->index();
  if (checkpoints_) {
    checkpoints_->find_restore_point(index);  // says start_again()
  } else {
    start_again(index, {});
  }
}

void JobManager::start_again(RegionIndex index, const std::string& restore_from) {
  Region& region = regions_[index.value];
  if (over_ || (ending_ && !region.removes_output)) return;
  if (region.execution->removes_output())
    return;  // it had been looked for before the job began to end, too
  for (const VertexId vertex : region.vertices) {
    if (region.removes_output) break;  // what it has done stays to be seen
    for (std::uint32_t i = 0; i < job_.submission.graph.vertex(vertex).parallelism; ++i) {
      reports_[{vertex, {i}}] = {};
      reports_[{vertex, {i}}].task = {vertex, {i}};
    }
  }
  make_execution(index, restore_from.empty() ? restore_from_ : restore_from);
  region.execution->start();
}

void JobManager::end_job_if_over() {
  if (over_) return;
  const auto is_over = [this](const Region& region) {
    const bool will_remove_output = region.removes_output && !region.execution->removes_output();
    return region.ended && !will_remove_output && (ending_ || !region.restart_after);
  };
  if (!std::ranges::all_of(regions_, is_over)) return;
  over_ = true;
  job_.log.info(weir::name_of(state()));
  if (checkpoints_) checkpoints_->end(state());
  JobEnded ended{details(), job_.submission.graph, printed_};
  ended.details.ended_at = job_.engine->clock->processing_time();
  if (checkpoints_) ended.details.status.kept_checkpoint = checkpoints_->kept(state());
  job_.self->send(job_.dispatcher, std::move(ended));
  job_.self->send(resource_manager_, ReleaseSlots{job_.submission.job});
  job_.self->quit();
}

// ---- Time and death -------------------------------------------------------------------------------------------------

void JobManager::set_deadline(JobDeadline::Kind kind, Duration after, AttemptId attempt) {
  caf::delayed_anon_send(job_.dispatcher, after,
                         RemindJob{job_.submission.job, JobDeadline{kind, attempt, {}}});
}

void JobManager::on_deadline(const JobDeadline& deadline) {
  if (deadline.kind == JobDeadline::Kind::checkpoint) {
    if (checkpoints_) checkpoints_->on_time();
    return;
  }
  RegionExecution* execution = find(deadline.attempt);
  if (execution == nullptr || over_) return;
  Region& region = region_of(*execution);
  switch (deadline.kind) {
    case JobDeadline::Kind::slots: {
      if (!region.waits_for_slots) return;
      region.waits_for_slots = false;
      const Error error{Errc::not_enough_slots,
                        "no resources: the job waited " + seconds(slot_timeout_of(*execution)) +
                            " for " + waiting_for_ + "; add slots or lower --parallelism"};
      note(*execution, {}, {}, error);
      return execution->fail(error);
    }
    case JobDeadline::Kind::hosts_gone:
      return on_hosts_gone(*execution);
    case JobDeadline::Kind::restart:
      if (region.ended) restart(region);
      return;
    default:
      return execution->on_deadline(deadline);
  }
}

void JobManager::on_down(const caf::down_msg& down) {
  for (Region& region : regions_) {
    if (region.execution != nullptr && region.execution->on_down(down)) return;
  }
}

// ---- What people see ------------------------------------------------------------------------------------------------

void JobManager::note(const RegionExecution& execution, const std::string& task,
                      const std::string& node, const Error& error) {
  // Every task at a lost connection says so; one of them will do, so that the cause is not pushed out.
  const bool repeated = error.code == Errc::connection_lost && !exceptions_.empty() &&
                        exceptions_.back().error.code == Errc::connection_lost &&
                        exceptions_.back().node == node;
  if (repeated) return;
  if (exceptions_.size() == exceptions_max) exceptions_.pop_front();
  const Region& region = regions_[execution.index().value];
  exceptions_.push_back(
      {{region.number}, job_.engine->clock->processing_time(), task, node, error});
  job_.log.info((task.empty() ? "" : task + ": ") + error.message);
}

void JobManager::note(const std::string& what, const Error& error) {
  const auto is_same = [&](const JobException& other) {
    return other.task == what && other.error == error;
  };
  if (std::ranges::any_of(exceptions_, is_same)) return;  // found again
  if (exceptions_.size() == exceptions_max) exceptions_.pop_front();
  exceptions_.push_back({latest_number(), job_.engine->clock->processing_time(), what, {}, error});
  job_.log.warning(what + ": " + error.message);
}

std::uint32_t JobManager::stage_called(TaskId task) const {
  return reports_.at(task).stage_called;
}

AttemptId JobManager::latest_number() const {
  AttemptId latest{1};
  for (const Region& region : regions_) latest = std::max(latest, AttemptId{region.number});
  return latest;
}

JobState JobManager::state() const {
  if (over_) {
    if (!ending_) return JobState::finished;
    return ending_ == JobState::failing ? JobState::failed : JobState::canceled;
  }
  if (ending_) return *ending_;
  JobState state = JobState::finished;
  for (const Region& region : regions_) {
    if (region.execution == nullptr) return JobState::initializing;
    const JobState of_region = region.execution->graph().state();
    const bool restarts = (region.ended && region.restart_after) ||
                          (region.number > 1 && of_region == JobState::created);
    if (restarts || of_region == JobState::failing) return JobState::restarting;
    if (of_region != JobState::finished) state = std::min(of_region, state);
  }
  return state == JobState::finished ? JobState::running : state;
}

namespace {

void add_count(std::vector<NamedCount>& counters, const NamedCount& count) {
  const auto same = std::ranges::find_if(counters, [&count](const NamedCount& other) {
    return other.step == count.step && other.name == count.name;
  });
  if (same == counters.end()) {
    counters.push_back(count);
  } else {
    same->value += count.value;
  }
}

}  // namespace

const JobManager::Region* JobManager::first_to_lack_slots() const {
  const Region* first = nullptr;
  for (const Region& region : regions_) {
    const bool waits = region.waits_for_slots;
    if (waits && (first == nullptr || region.slots_deadline < first->slots_deadline))
      first = &region;
  }
  return first;
}

JobProgress JobManager::progress() const {
  const JobGraph& graph = job_.submission.graph;
  JobProgress progress;
  progress.job = job_.submission.job;
  progress.state = state();
  progress.tasks_total = static_cast<std::uint32_t>(reports_.size());
  for (const Region& region : regions_) {
    if (region.execution != nullptr)
      progress.tasks_running += region.execution->graph().count(TaskState::running);
  }
  progress.restarts = restart_count_;
  progress.last_restart = last_restart_;
  if (const Region* waits = first_to_lack_slots(); waits != nullptr && !waiting_for_.empty()) {
    // Whether there is another one after that is the restart strategy's to say, and not before.
    const std::string what = waits->number == 1 ? "gives up at " : "this attempt fails at ";
    progress.waiting_for =
        waiting_for_ + "; " + what + to_string(EventTime{waits->slots_deadline.ms});
  }
  for (const auto& [id, report] : reports_) {
    const JobVertex& vertex = graph.vertex(id.vertex);
    const bool source = graph.is_source(vertex);
    if (source) {
      progress.records_read += report.head_records_out;
      progress.read_units += report.read_units;
    }
    progress.bad_records += report.bad_records;
    progress.late_records_dropped += report.late_records_dropped;
    progress.records_ahead += report.records_ahead;
    for (const NamedCount& count : report.counters) add_count(progress.counters, count);
    if (graph.is_last(id.vertex) && !source) {
      if (!progress.watermark || report.watermark < *progress.watermark)
        progress.watermark = report.watermark;
    }
  }
  if (all_totals_known_ && !total_units_.empty()) {
    progress.total_units = 0;
    for (const auto& [node, units] : total_units_) *progress.total_units += units;
  }
  return progress;
}

JobDetails JobManager::details() const {
  JobDetails details{.status = {job_.submission.job,
                                job_.submission.graph.job_name,
                                state(),
                                error_,
                                progress(),
                                tasks_given_up_,
                                {}},
                     .submitted_at = submitted_at_,
                     .ended_at = {},
                     .attempt = latest_number(),
                     .restores = restores_,
                     .hosts = {},
                     .tasks = {},
                     .exceptions = {exceptions_.begin(), exceptions_.end()},
                     .checkpoints = {}};
  if (checkpoints_) details.checkpoints = checkpoints_->overview();
  std::map<RegionIndex, std::uint32_t> first_host;
  for (const Region& region : regions_) {
    if (region.execution == nullptr) continue;
    first_host[region.execution->index()] = static_cast<std::uint32_t>(details.hosts.size());
    for (TaskHostInfo& info : region.execution->host_infos())
      details.hosts.push_back(std::move(info));
  }
  for (const auto& [id, report] : reports_) {
    const Region& region = region_of(id);
    if (region.execution == nullptr) {
      details.tasks.push_back({id, TaskState::created, 0, {1}, report});
      continue;
    }
    const RegionExecution& execution = *region.execution;
    details.tasks.push_back({id,
                             execution.graph().state_of(id),
                             first_host[execution.index()] + execution.host_number_of(id),
                             {region.number},
                             report});
  }
  return details;
}

JobManagerHandle::behavior_type job_manager(JobManagerHandle::stateful_pointer<JobManager> self,
                                            const EngineContext* engine, SubmitJob submission,
                                            DispatcherHandle dispatcher,
                                            ResourceManagerHandle resource_manager) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(submission), std::move(dispatcher),
               std::move(resource_manager));
  // What an execution says goes to it, unless it is over.
  const auto to_execution = [state](const auto& message, auto handle) {
    if (RegionExecution* execution = state->find(message.attempt)) handle(*execution, message);
  };
  return {
      [state](const StartJob&) { state->start(); },
      [state](const CancelJob&) { state->cancel(); },
      [state](const SlotsGranted& m) { state->on_slots_granted(m); },
      [state](const SlotsRefused& m) { state->on_slots_refused(m); },
      [state](const TaskManagerLost& m) { state->on_task_manager_lost(m); },
      [to_execution](const TaskHostStarted& m) {
        to_execution(m, [](auto& region, const auto& one) { region.on_host_started(one); });
      },
      [to_execution](const TaskHostExited& m) {
        to_execution(m, [](auto& region, const auto& one) { region.on_host_exited(one); });
      },
      [state](const TaskHostReport& m) { state->on_host_report(m); },
      [state](const CoordinatorOpened& m) { state->on_coordinator_opened(m); },
      [to_execution](const TasksDeployed& m) {
        to_execution(m, [](auto& region, const auto& one) { region.on_tasks_deployed(one); });
      },
      [state](const TaskChanged& m) { state->on_task_changed(m); },
      [to_execution](const RequestSplit& m) {
        to_execution(m, [](auto& region, const auto& one) { region.relay(one); });
      },
      [to_execution](const SplitAssigned& m) {
        to_execution(m, [](auto& region, const auto& one) { region.relay(one); });
      },
      [state](const OutputCommitted& m) { state->on_committed(m); },
      [to_execution](const OutputAborted& m) {
        to_execution(m, [](auto& region, const auto& one) { region.on_aborted(one); });
      },
      [state](const JobDeadline& m) { state->on_deadline(m); },
      [state](const CoordinatorSnapshot& m) {
        if (state->find(m.attempt) != nullptr) state->checkpoints().on_coordinator_snapshot(m);
      },
      [to_execution](const InjectBarrier& m) {
        to_execution(m, [](auto& region, const auto& one) { region.relay(one); });
      },
      [state](const AcknowledgeCheckpoint& m) {
        if (state->runs(m.attempt, m.task)) state->checkpoints().on_acknowledged(m);
      },
      [state](const DeclineCheckpoint& m) {
        if (state->runs(m.attempt, m.task)) state->checkpoints().on_declined(m);
      },
      [state](const ReportWatermarks& m) { state->on_watermarks(m); },
      [state](const CheckpointStored& m) { state->checkpoints().on_stored(m); },
      [state](const CheckpointFound& m) { state->checkpoints().on_found(m); },
      [state](const QueryProgress&) { return state->progress(); },
      [state](const QueryJob&) { return state->answer(); },
      [state](const QueryPrinted& m) { return state->printed(m.from); },
  };
}

}  // namespace weir
