#include "actors/task_manager.h"

#include <string>
#include <utility>

namespace weir {

void TaskManager::begin(TaskManagerHandle::base* self, const EngineContext& engine,
                        TaskManagerOptions options) {
  self_ = self;
  engine_ = &engine;
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  self_->monitor(options_.resource_manager);
  self_->send(options_.resource_manager,
              RegisterTaskManager{options_.registration, caf::actor_cast<TaskManagerHandle>(self_),
                                  options_.node});
  if (engine_->heartbeat_interval.count() == 0) return;
  last_answer_ = last_round_ = engine_->clock->now();
  self_->delayed_send(caf::actor_cast<TaskManagerHandle>(self_), engine_->heartbeat_interval,
                      HeartbeatRound{});
}

void TaskManager::start_host(const StartTaskHost& request) {
  const std::pair key{request.job, request.attempt};
  if (hosts_.contains(key)) return;  // told twice
  hosts_.emplace(key, Host{request.host, request.job_manager, false});
  options_.launcher->start(request,
                           [self = caf::actor_cast<TaskManagerHandle>(self_), job = request.job,
                            attempt = request.attempt](std::optional<Error> error) {
                             caf::anon_send(self, TaskHostEnded{job, attempt, std::move(error)});
                           });
}

void TaskManager::kill_host(const KillTaskHost& request) {
  const auto found = hosts_.find({request.job, request.attempt});
  if (found == hosts_.end()) return;
  if (options_.launcher->kill(request.job, request.attempt)) return;  // its end is reported
  self_->send(
      found->second.job_manager,
      TaskHostExited{request.attempt, found->second.index,
                     Error{Errc::task_stuck, "its tasks cannot be ended from outside"}, true});
}

void TaskManager::release(JobId job) {
  for (auto& [key, host] : hosts_) {
    if (key.first == job) host.released = true;
  }
  options_.launcher->release(job);
}

void TaskManager::on_host_ended(const TaskHostEnded& ended) {
  const auto found = hosts_.find({ended.job, ended.attempt});
  if (found == hosts_.end()) return;
  const Host host = std::move(found->second);
  hosts_.erase(found);
  if (host.released) return;
  self_->send(
      host.job_manager,
      TaskHostExited{ended.attempt, host.index,
                     ended.error.value_or(Error{Errc::process_lost, "it has ended"}), false});
}

void TaskManager::on_heartbeat_answer(const HeartbeatAnswer& answer) {
  if (answer.registration != options_.registration) return;
  if (answer.refused) return end(*answer.refused);
  last_answer_ = engine_->clock->now();
}

// A round that comes late says that this process was frozen: then the answers to judge by are still on their way.
void TaskManager::heartbeat() {
  const MonotonicTime now = engine_->clock->now();
  if (now - last_round_ > 2 * engine_->heartbeat_interval) last_answer_ = now;
  last_round_ = now;
  if (now - last_answer_ > patience()) {
    return end({Errc::timeout, "the master has not answered for " +
                                   std::to_string(patience().count() / 1000) +
                                   " s: it may be stopped or overloaded"},
               caf::make_error(caf::sec::request_timeout));
  }
  self_->send(options_.resource_manager, TaskManagerHeartbeat{options_.registration});
  self_->delayed_send(caf::actor_cast<TaskManagerHandle>(self_), engine_->heartbeat_interval,
                      HeartbeatRound{});
}

LogText TaskManager::read_log(const QueryLog& query) {
  return options_.launcher->read_log(query);
}

void TaskManager::on_down(const caf::down_msg& down) {
  if (down.source != options_.resource_manager->address()) return;
  end({Errc::actor_lost, "the connection to the master was lost"});
}

void TaskManager::end(Error why, caf::error reason) {
  options_.on_end(why);
  self_->quit(std::move(reason));
}

TaskManagerHandle::behavior_type task_manager(TaskManagerHandle::stateful_pointer<TaskManager> self,
                                              const EngineContext* engine,
                                              TaskManagerOptions options) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(options));
  return {
      [state](const StartTaskHost& m) { state->start_host(m); },
      [state](const KillTaskHost& m) { state->kill_host(m); },
      [state](const ReleaseJob& m) { state->release(m.job); },
      [state](const ReleaseTaskHost& m) { state->release(m); },
      [state](const TaskHostEnded& m) { state->on_host_ended(m); },
      [state](const HeartbeatAnswer& m) { state->on_heartbeat_answer(m); },
      [state](const HeartbeatRound&) { state->heartbeat(); },
      [state](const QueryLog& m) { return state->read_log(m); },
  };
}

}  // namespace weir
