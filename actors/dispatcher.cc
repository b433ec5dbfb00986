#include "actors/dispatcher.h"

#include <utility>

#include "actors/job_manager.h"

namespace weir {

Dispatcher::~Dispatcher() {
  for (const auto& [id, job] : running_)
    caf::anon_send_exit(job.job_manager, caf::exit_reason::user_shutdown);
}

void Dispatcher::begin(DispatcherHandle::base* self, const EngineContext& engine,
                       ResourceManagerHandle resource_manager) {
  self_ = self;
  engine_ = &engine;
  resource_manager_ = std::move(resource_manager);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
}

caf::result<JobId> Dispatcher::submit(const SubmitJob& submission) {
  if (running_.contains(submission.job) || ended_.contains(submission.job)) {
    return caf::make_error(caf::sec::bad_function_call, "a job of this id exists");
  }
  auto handle = spawn_actor<JobManagerHandle>(
      self_->system(), *engine_, Placement::own_thread, job_manager, engine_, submission,
      caf::actor_cast<DispatcherHandle>(self_), resource_manager_);
  self_->monitor(handle);
  self_->send(handle, StartJob{});
  running_.emplace(submission.job,
                   RunningJob{std::move(handle), submission.plan->logical.job_name, {}});
  return submission.job;
}

caf::result<JobOutcome> Dispatcher::await(JobId job) {
  if (const auto found = ended_.find(job); found != ended_.end()) return found->second;
  const auto found = running_.find(job);
  if (found == running_.end()) return caf::make_error(caf::sec::bad_function_call, "no such job");
  auto promise = self_->make_response_promise<JobOutcome>();
  found->second.waiting.push_back(promise);
  return promise;
}

void Dispatcher::cancel(JobId job) {
  const auto found = running_.find(job);
  if (found != running_.end()) self_->send(found->second.job_manager, CancelJob{job});
}

void Dispatcher::on_job_ended(const JobOutcome& outcome) {
  const auto found = running_.find(outcome.job);
  if (found == running_.end()) return;
  for (auto& promise : found->second.waiting) promise.deliver(outcome);
  running_.erase(found);
  ended_.emplace(outcome.job, outcome);
  ended_order_.push_back(outcome.job);
  if (ended_order_.size() > outcomes_max) {
    ended_.erase(ended_order_.front());
    ended_order_.erase(ended_order_.begin());
  }
}

caf::result<JobProgress> Dispatcher::progress(JobId job) {
  if (const auto found = ended_.find(job); found != ended_.end()) return found->second.progress;
  const auto found = running_.find(job);
  if (found == running_.end()) return caf::make_error(caf::sec::bad_function_call, "no such job");
  return self_->delegate(found->second.job_manager, QueryProgress{job});
}

std::vector<JobOutcome> Dispatcher::list() const {
  std::vector<JobOutcome> all;
  for (const auto& [id, job] : running_) all.push_back({id, job.name, JobState::running, {}, {}});
  for (const auto& [id, outcome] : ended_) all.push_back(outcome);
  return all;
}

void Dispatcher::on_down(const caf::down_msg& down) {
  for (const auto& [id, job] : running_) {
    if (job.job_manager->address() != down.source) continue;
    on_job_ended({id,
                  job.name,
                  JobState::failed,
                  Error{Errc::actor_lost,
                        "the job's JobManager died: " + self_->system().render(down.reason)},
                  {}});
    self_->send(resource_manager_, ReleaseSlots{id});
    return;
  }
}

DispatcherHandle::behavior_type dispatcher(DispatcherHandle::stateful_pointer<Dispatcher> self,
                                           const EngineContext* engine,
                                           ResourceManagerHandle resource_manager) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(resource_manager));
  return {
      [state](const SubmitJob& m) { return state->submit(m); },
      [state](const AwaitJob& m) { return state->await(m.job); },
      [state](const CancelJob& m) { state->cancel(m.job); },
      [state](const JobEnded& m) { state->on_job_ended(m.outcome); },
      [state](const QueryProgress& m) { return state->progress(m.job); },
      [state](const ListJobs&) { return state->list(); },
  };
}

}  // namespace weir
