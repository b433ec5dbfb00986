#include "actors/local_task_hosts.h"

#include <unistd.h>

namespace weir {

LocalTaskHosts::LocalTaskHosts(caf::actor_system& system, const EngineContext& engine,
                               PlanFinder find_plan, MakeDataPlane make_data_plane)
    : system_(&system),
      engine_(&engine),
      find_plan_(std::move(find_plan)),
      make_data_plane_(std::move(make_data_plane)) {}

LocalTaskHosts::~LocalTaskHosts() {
  for (const auto& [id, host] : hosts_) caf::anon_send_exit(host, caf::exit_reason::user_shutdown);
}

void LocalTaskHosts::start(const StartTaskHost& request, Ended ended) {
  auto plan = find_plan_(request.job);
  if (plan == nullptr) {
    ended(Error{Errc::no_such_job, "the job's plan is not known here"});
    return;
  }
  auto host = spawn_actor<TaskHostHandle>(
      *system_, *engine_, Placement::own_thread, task_host, engine_,
      TaskHostOptions{.job = request.job,
                      .attempt = request.attempt,
                      .host = request.host,
                      .plan = std::move(plan),
                      .settings = request.settings,
                      .job_manager = request.job_manager,
                      .process = static_cast<std::uint64_t>(getpid()),
                      .make_data_plane = make_data_plane_ ? make_data_plane_(request) : nullptr});
  host->attach_functor([ended = std::move(ended)](const caf::error& reason) {
    const bool asked =
        !reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown;
    ended(asked
              ? std::nullopt
              : std::optional(Error{Errc::actor_lost, "the TaskHost died: " + to_string(reason)}));
  });
  hosts_[{request.job, request.attempt}] = std::move(host);
}

void LocalTaskHosts::release(JobId job) {
  for (auto at = hosts_.lower_bound({job, {}}); at != hosts_.end() && at->first.first == job;) {
    caf::anon_send_exit(at->second, caf::exit_reason::user_shutdown);
    at = hosts_.erase(at);
  }
}

void LocalTaskHosts::release(JobId job, AttemptId attempt) {
  const auto found = hosts_.find({job, attempt});
  if (found == hosts_.end()) return;
  caf::anon_send_exit(found->second, caf::exit_reason::user_shutdown);
  hosts_.erase(found);
}

bool LocalTaskHosts::kill(JobId /*job*/, AttemptId /*attempt*/) {
  return false;
}

LogText LocalTaskHosts::read_log(const QueryLog& /*query*/) {
  return {{}, 0, Error{Errc::no_such_job, "tasks of this process have no log of their own"}};
}

}  // namespace weir
