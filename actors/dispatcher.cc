#include "actors/dispatcher.h"

#include <utility>

#include "actors/job_manager.h"
#include "actors/remote_message.h"
#include "base/options.h"

namespace weir {
namespace {

Error no_such_job(JobId job) {
  return {Errc::no_such_job, "no job " + to_string(job) + " is known here"};
}

JobProgress progress_of(const JobEnded& ended, const QueryProgress&) {
  return ended.details.status.progress;
}

JobAnswer details_of(const JobEnded& ended, const QueryJob&) {
  return {ended.details, ended.graph};
}

// An answer that cannot be sent is an error instead.
template <class Answer>
void deliver(caf::typed_response_promise<Answer>& promise, const Answer& answer) {
  const std::size_t bytes = remote_message_bytes(answer);
  if (bytes <= remote_message_bytes_max) {
    promise.deliver(answer);
  } else {
    promise.deliver(caf::make_error(caf::sec::runtime_error,
                                    "the answer is too large to be sent: " + size_text(bytes)));
  }
}

PrintedRows printed_of(const JobEnded& ended, const QueryPrinted& query) {
  return ended.printed.read(query.from);
}

}  // namespace

Dispatcher::~Dispatcher() {
  for (const auto& [id, job] : running_)
    caf::anon_send_exit(job.job_manager, caf::exit_reason::user_shutdown);
}

void Dispatcher::begin(DispatcherHandle::base* self, const EngineContext& engine,
                       MasterServices services) {
  self_ = self;
  engine_ = &engine;
  services_ = std::move(services);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
}

// A client that got no answer asks again, and its job is not run twice.
JobSubmitted Dispatcher::submit(const SubmitJob& submission) {
  if (const auto consistent = check_consistent(submission.graph); !consistent)
    return {consistent.error()};
  if (const auto sound = submission.settings.check(); !sound) return {sound.error()};
  if (const std::size_t bytes = remote_message_bytes(submission); bytes > submission_bytes_max) {
    return {Error{Errc::too_large, "the submission has " + size_text(bytes) + ": at most " +
                                       size_text(submission_bytes_max) + " are possible"}};
  }
  const auto running = running_.find(submission.job);
  const bool known = running != running_.end() || ended_.contains(submission.job);
  if (known) {
    const std::uint64_t of_known = running != running_.end()
                                       ? running->second.fingerprint
                                       : fingerprint(ended_.at(submission.job).graph);
    if (of_known == fingerprint(submission.graph)) return {};
    return {Error{Errc::bad_option, "another job has the id " + to_string(submission.job)}};
  }
  auto handle = spawn_actor<JobManagerHandle>(
      self_->system(), *engine_, Placement::own_thread, job_manager, engine_, submission,
      caf::actor_cast<DispatcherHandle>(self_), services_.resource_manager);
  self_->monitor(handle);
  self_->send(handle, StartJob{});
  engine_->logger.info("job " + submission.graph.job_name + " accepted as " +
                       to_string(submission.job));
  running_.emplace(submission.job, RunningJob{std::move(handle),
                                              submission.graph.job_name,
                                              fingerprint(submission.graph),
                                              engine_->clock->processing_time(),
                                              {}});
  return {};
}

caf::result<JobOutcome> Dispatcher::await(JobId job) {
  if (const auto found = ended_.find(job); found != ended_.end())
    return found->second.details.status;
  const auto found = running_.find(job);
  if (found == running_.end())
    return JobOutcome{job, {}, JobState::failed, no_such_job(job), {}, false, {}};
  auto promise = self_->make_response_promise<JobOutcome>();
  found->second.waiting.push_back(promise);
  return promise;
}

void Dispatcher::cancel(JobId job) {
  const auto found = running_.find(job);
  if (found != running_.end()) self_->send(found->second.job_manager, CancelJob{job});
}

void Dispatcher::on_job_ended(const JobEnded& ended) {
  const JobId job = ended.details.status.job;
  const auto found = running_.find(job);
  if (found == running_.end()) return;
  for (auto& promise : found->second.waiting) promise.deliver(ended.details.status);
  const JobOutcome& status = ended.details.status;
  engine_->logger.info("job " + status.name + " " + to_string(job) + " " +
                       std::string(name_of(status.state)) +
                       (status.error ? ": " + status.error->message : ""));
  running_.erase(found);
  JobEnded& kept = ended_.emplace(job, ended).first->second;
  // Of what no task and no host was to blame for.
  if (status.error && kept.details.exceptions.empty()) {
    kept.details.exceptions.push_back(
        {kept.details.attempt, kept.details.ended_at, {}, {}, *status.error});
  }
  ended_order_.push_back(job);
  if (ended_order_.size() > history_max) {
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }
}

void Dispatcher::remind(const RemindJob& reminder) {
  const auto found = running_.find(reminder.job);
  if (found != running_.end()) self_->send(found->second.job_manager, reminder.deadline);
}

// JobEnded comes before CAF's word that nobody is there any more, since the JobManager sends it before it ends.
template <class Answer, class Query>
caf::result<Answer> Dispatcher::ask(const JobManagerHandle& job_manager, const Query& query,
                                    Answer (*of_ended)(const JobEnded&, const Query&)) {
  auto promise = self_->make_response_promise<Answer>();
  self_->request(job_manager, caf::infinite, query)
      .then([promise](const Answer& answer) mutable { deliver(promise, answer); },
            [this, promise, query, of_ended](const caf::error& error) mutable {
              const auto found = ended_.find(query.job);
              if (found == ended_.end()) {
                promise.deliver(error);
              } else {
                deliver(promise, of_ended(found->second, query));
              }
            });
  return promise;
}

caf::result<JobProgress> Dispatcher::progress(const QueryProgress& query) {
  if (const auto found = ended_.find(query.job); found != ended_.end())
    return progress_of(found->second, query);
  const auto found = running_.find(query.job);
  if (found == running_.end()) return caf::make_error(caf::sec::bad_function_call, "no such job");
  return ask(found->second.job_manager, query, progress_of);
}

caf::result<JobAnswer> Dispatcher::details(const QueryJob& query) {
  if (const auto found = ended_.find(query.job); found != ended_.end()) {
    auto promise = self_->make_response_promise<JobAnswer>();
    deliver(promise, details_of(found->second, query));
    return promise;
  }
  const auto found = running_.find(query.job);
  if (found == running_.end()) return JobAnswer{};
  return ask(found->second.job_manager, query, details_of);
}

caf::result<PrintedRows> Dispatcher::printed(const QueryPrinted& query) {
  if (const auto found = ended_.find(query.job); found != ended_.end())
    return printed_of(found->second, query);
  const auto found = running_.find(query.job);
  if (found == running_.end()) return PrintedRows{};
  return ask(found->second.job_manager, query, printed_of);
}

JobList Dispatcher::list() const {
  JobList list;
  for (const auto& [id, job] : running_)
    list.running.push_back({id, job.name, JobState::running, {}, {}});
  for (const JobId id : ended_order_) list.ended.push_back(ended_.at(id).details.status);
  while (remote_message_bytes(list) > list_bytes_max) {
    auto& part = list.ended.empty() ? list.running : list.ended;
    const std::size_t fewer = (part.size() + 1) / 2;
    part.erase(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(fewer));
    list.left_out += static_cast<std::uint32_t>(fewer);
  }
  return list;
}

caf::result<NodeList> Dispatcher::list_nodes() {
  return self_->delegate(services_.resource_manager, ListNodes{});
}

caf::result<LogText> Dispatcher::read_log(const QueryLog& query) {
  return self_->delegate(services_.resource_manager, query);
}

MasterInfo Dispatcher::master() const {
  return {WEIR_VERSION, services_.resource_manager, services_.blobs};
}

JobManagerFound Dispatcher::find_job_manager(JobId job) const {
  const auto found = running_.find(job);
  if (found == running_.end()) return {};
  return {found->second.job_manager};
}

void Dispatcher::on_down(const caf::down_msg& down) {
  for (const auto& [id, job] : running_) {
    if (job.job_manager->address() != down.source) continue;
    JobEnded ended;
    ended.details.status = {id,
                            job.name,
                            JobState::failed,
                            Error{Errc::actor_lost, "the job's JobManager died: " +
                                                        self_->system().render(down.reason)},
                            {}};
    ended.details.submitted_at = job.submitted_at;
    ended.details.ended_at = engine_->clock->processing_time();
    self_->send(services_.resource_manager, ReleaseSlots{id});
    on_job_ended(ended);
    return;
  }
}

DispatcherHandle::behavior_type dispatcher(DispatcherHandle::stateful_pointer<Dispatcher> self,
                                           const EngineContext* engine, MasterServices services) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(services));
  return {
      [state](const SubmitJob& m) { return state->submit(m); },
      [state](const AwaitJob& m) { return state->await(m.job); },
      [state](const CancelJob& m) { state->cancel(m.job); },
      [state](const JobEnded& m) { state->on_job_ended(m); },
      [state](const RemindJob& m) { state->remind(m); },
      [state](const QueryProgress& m) { return state->progress(m); },
      [state](const QueryJob& m) { return state->details(m); },
      [state](const QueryPrinted& m) { return state->printed(m); },
      [state](const ListJobs&) { return state->list(); },
      [state](const ListNodes&) { return state->list_nodes(); },
      [state](const QueryLog& m) { return state->read_log(m); },
      [state](const QueryMaster&) { return state->master(); },
      [state](const FindJobManager& m) { return state->find_job_manager(m.job); },
  };
}

}  // namespace weir
