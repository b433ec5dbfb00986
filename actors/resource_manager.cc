#include "actors/resource_manager.h"

#include <utility>

#include "actors/progress_line.h"
#include "base/check.h"

namespace weir {

void ResourceManager::begin(ResourceManagerHandle::base* self, const EngineContext& engine,
                            NodeInfo master) {
  self_ = self;
  engine_ = &engine;
  master_ = std::move(master);
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  heartbeats_.emplace(engine.heartbeat_interval, engine.heartbeat_timeout);
  if (watches()) {
    self_->delayed_send(caf::actor_cast<ResourceManagerHandle>(self_), engine.heartbeat_interval,
                        HeartbeatRound{});
  }
}

void ResourceManager::register_task_manager(const RegisterTaskManager& registration) {
  if (!registration.task_manager) return;  // it has ended meanwhile
  const NodeInfo& node = registration.node;
  if (node.version != master_.version) {
    self_->send(registration.task_manager,
                HeartbeatAnswer{registration.registration,
                                Error{Errc::bad_option, "the master runs weir " + master_.version +
                                                            ", this is weir " + node.version +
                                                            ": install the same on all nodes"}});
    engine_->logger.warning("refused worker " + node.id + " at " + node.address +
                            ": it runs weir " + node.version + ", not " + master_.version);
    return;
  }
  const TaskManagerId id{registration.registration.value};
  if (workers_.contains(id)) return;  // told twice
  workers_.emplace(id, Worker{registration.task_manager, node});
  heartbeats_->add(id, engine_->clock->now());
  self_->monitor(registration.task_manager);
  engine_->logger.info("worker " + node.id + " registered with " + counted(node.slots, "slot"));
  self_->send(registration.task_manager, HeartbeatAnswer{registration.registration, {}});
  grant(pool_.add_task_manager(id, node.slots));
}

HeartbeatAnswer ResourceManager::deregister(const DeregisterTaskManager& leaving) {
  const TaskManagerId id{leaving.registration.value};
  const auto found = workers_.find(id);
  if (found != workers_.end()) {
    self_->demonitor(found->second.handle.address());
    remove(id, {Errc::cancelled, "worker " + found->second.node.id + " has left"});
  }
  return {leaving.registration, {}};
}

void ResourceManager::on_heartbeat(const TaskManagerHeartbeat& heartbeat) {
  const TaskManagerId id{heartbeat.registration.value};
  if (heartbeats_->beat(id, engine_->clock->now())) {
    self_->send(workers_.at(id).handle, HeartbeatAnswer{heartbeat.registration, {}});
    return;
  }
  const auto found = given_up_.find(id);
  if (found == given_up_.end()) return;
  if (engine_->faults != nullptr && engine_->faults->ignores_registrations()) {
    self_->send(found->second, HeartbeatAnswer{heartbeat.registration, {}});
    return;
  }
  engine_->logger.warning("refused a heartbeat of a registration that was given up");
  self_->send(found->second, HeartbeatAnswer{heartbeat.registration,
                                             Error{Errc::timeout,
                                                   "the master had given this worker up, which "
                                                   "was silent for longer than the heartbeat "
                                                   "timeout"}});
  given_up_.erase(found);
}

void ResourceManager::look_for_silent() {
  self_->delayed_send(caf::actor_cast<ResourceManagerHandle>(self_), engine_->heartbeat_interval,
                      HeartbeatRound{});
  for (const TaskManagerId id : heartbeats_->look(engine_->clock->now())) {
    constexpr std::size_t given_up_max = 100;
    if (given_up_.size() == given_up_max) given_up_.erase(given_up_.begin());
    const Worker worker = workers_.at(id);
    given_up_.emplace(id, worker.handle);
    self_->demonitor(worker.handle.address());
    remove(id, {Errc::timeout, "worker " + worker.node.id + " has been silent for over " +
                                   std::to_string(engine_->heartbeat_timeout.count() / 1000) +
                                   " s (--heartbeat-timeout)"});
  }
}

void ResourceManager::request(const RequestSlots& request) {
  job_managers_[request.job] = request.reply_to;
  waiting_.emplace(request.job, "");
  grant(pool_.request(request.job, request.count));
}

// To all who wait: what one of them lacks changes with every slot that comes, goes, or is taken.
void ResourceManager::tell_waiting() {
  for (auto& [job, told] : waiting_) {
    std::string missing = missing_for(job);
    if (missing == told) continue;
    told = missing;
    self_->send(job_managers_.at(job), SlotsRefused{std::move(missing)});
  }
}

std::string ResourceManager::missing_for(JobId job) const {
  const auto waiting = pool_.waiting(job);
  WEIR_CHECK(waiting.has_value());
  std::string text = counted(waiting->count, "slot") + " (" + std::to_string(pool_.free_slots()) +
                     " free of " + std::to_string(pool_.total_slots()) + ")";
  if (workers_.empty()) {
    text += ", but there is no worker: start one with node --role worker --join " + master_.address;
  } else if (!waiting->fits_total) {
    text += ", more than all workers have";
  } else if (waiting->behind) {
    text += ", behind job " + to_string(*waiting->behind) + ", which waits for " +
            std::to_string(pool_.waiting(*waiting->behind)->count);
  } else if (waiting->kept_by) {
    text += ", beside job " + to_string(*waiting->kept_by) +
            ", which keeps its slots while it waits for " +
            std::to_string(pool_.waiting(*waiting->kept_by)->count) + " more to restart";
  }
  return text;
}

// Slots go to the next job only behind the word to end what the last one runs there.
void ResourceManager::release(JobId job) {
  job_managers_.erase(job);
  waiting_.erase(job);
  for (const TaskManagerId id : pool_.used_by(job)) {
    const auto found = workers_.find(id);
    if (found != workers_.end()) self_->send(found->second.handle, ReleaseJob{job});
  }
  grant(pool_.release(job));
}

void ResourceManager::on_down(const caf::down_msg& down) {
  for (const auto& [id, worker] : workers_) {
    if (worker.handle->address() != down.source) continue;
    remove(TaskManagerId{id}, cause_of(down.reason, worker.node.id));
    return;
  }
}

Error ResourceManager::cause_of(const caf::error& reason, const std::string& worker) const {
  const std::string who = "worker " + worker;
  if (reason == caf::exit_reason::user_shutdown) return {Errc::cancelled, who + " has left"};
  if (reason == caf::sec::request_timeout) {
    return {Errc::timeout, who +
                               " gave this master up, which had not answered it in time: the "
                               "master may have been stopped or overloaded"};
  }
  const bool connection_lost = reason == caf::exit_reason::remote_link_unreachable;
  return {Errc::actor_lost,
          who + " is gone: " +
              (connection_lost ? "the connection to it was lost" : self_->system().render(reason))};
}

void ResourceManager::remove(TaskManagerId id, const Error& why) {
  const Worker worker = workers_.at(id);
  const Error cause{why.code == Errc::cancelled ? Errc::actor_lost : why.code, why.message};
  why.code == Errc::cancelled ? engine_->logger.info(why.message)
                              : engine_->logger.warning(why.message);
  workers_.erase(id);
  heartbeats_->remove(id);
  for (const auto& [job, job_manager] : job_managers_) {
    if (pool_.used_by(job).contains(id))
      self_->send(job_manager, TaskManagerLost{worker.handle, cause});
  }
  grant(pool_.remove_task_manager(id));
}

void ResourceManager::grant(const std::vector<SlotPool::Grant>& grants) {
  for (const auto& [job, slots] : grants) {
    SlotsGranted message;
    for (const TaskManagerId id : slots) {
      const Worker& worker = workers_.at(id);
      message.slots.push_back({worker.handle, worker.node.id});
    }
    self_->send(job_managers_.at(job), std::move(message));
    if (!pool_.waiting(job)) waiting_.erase(job);
  }
  tell_waiting();
}

NodeList ResourceManager::list() const {
  NodeList list;
  list.nodes.push_back({master_, 0, 0});
  const MonotonicTime now = engine_->clock->now();
  for (const auto& [id, worker] : workers_) {
    const auto silence = watches() ? heartbeats_->silence(id, now) : Duration{0};
    list.nodes.push_back(
        {worker.node, pool_.free_slots(id), static_cast<std::uint32_t>(silence.count())});
  }
  return list;
}

caf::result<LogText> ResourceManager::read_log(const QueryLog& query) {
  for (const auto& [id, worker] : workers_) {
    if (worker.node.id == query.node) return self_->delegate(worker.handle, query);
  }
  return LogText{{},
                 0,
                 Error{Errc::cluster_unreachable, "node " + query.node +
                                                      ", which has this log, is no longer "
                                                      "part of the cluster"}};
}

ResourceManagerHandle::behavior_type resource_manager(
    ResourceManagerHandle::stateful_pointer<ResourceManager> self, const EngineContext* engine,
    NodeInfo master) {
  auto* state = &self->state;
  state->begin(self, *engine, std::move(master));
  return {
      [state](const MasterListens& m) { state->on_listening(m.address); },
      [state](const RegisterTaskManager& m) { state->register_task_manager(m); },
      [state](const DeregisterTaskManager& m) { return state->deregister(m); },
      [state](const TaskManagerHeartbeat& m) { state->on_heartbeat(m); },
      [state](const HeartbeatRound&) { state->look_for_silent(); },
      [state](const RequestSlots& m) { state->request(m); },
      [state](const ReleaseSlots& m) { state->release(m.job); },
      [state](const ListNodes&) { return state->list(); },
      [state](const QueryLog& m) { return state->read_log(m); },
  };
}

}  // namespace weir
