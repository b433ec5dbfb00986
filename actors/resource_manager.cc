#include "actors/resource_manager.h"

#include <utility>

namespace weir {

void ResourceManager::begin(ResourceManagerHandle::base* self, const EngineContext& engine) {
  self_ = self;
  engine_ = &engine;
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
}

void ResourceManager::register_task_manager(const RegisterTaskManager& registration) {
  const TaskManagerId id{++last_id_};
  task_managers_.emplace(id, registration.task_manager);
  self_->monitor(registration.task_manager);
  engine_->logger.info("TaskManager " + std::to_string(id.value) + " registered with " +
                       std::to_string(registration.slots) + " slots");
  grant(pool_.add_task_manager(id, registration.slots));
}

void ResourceManager::request(const RequestSlots& request) {
  job_managers_[request.job] = request.reply_to;
  grant(pool_.request(request.job, request.count));
  if (!job_managers_.contains(request.job)) return;
  self_->send(request.reply_to,
              SlotsRefused{request.count, pool_.free_slots(), pool_.total_slots()});
}

// Slots go to the next job only behind the word to end what the last one runs there.
void ResourceManager::release(JobId job) {
  job_managers_.erase(job);
  for (const TaskManagerId id : pool_.used_by(job)) {
    const auto found = task_managers_.find(id);
    if (found != task_managers_.end()) self_->send(found->second, ReleaseJob{job});
  }
  grant(pool_.release(job));
}

void ResourceManager::on_down(const caf::down_msg& down) {
  for (const auto& [id, handle] : task_managers_) {
    if (handle->address() != down.source) continue;
    const std::string what = "TaskManager " + std::to_string(id.value) +
                             " is gone: " + self_->system().render(down.reason);
    const bool asked_to = down.reason == caf::exit_reason::user_shutdown;
    asked_to ? engine_->logger.info(what) : engine_->logger.warning(what);
    const TaskManagerId gone = id;
    task_managers_.erase(gone);
    grant(pool_.remove_task_manager(gone));
    return;
  }
}

void ResourceManager::grant(const std::vector<SlotPool::Grant>& grants) {
  for (const auto& [job, slots] : grants) {
    SlotsGranted message;
    for (const TaskManagerId id : slots) message.slots.push_back(task_managers_.at(id));
    self_->send(job_managers_.at(job), std::move(message));
    job_managers_.erase(job);
  }
}

ResourceManagerHandle::behavior_type resource_manager(
    ResourceManagerHandle::stateful_pointer<ResourceManager> self, const EngineContext* engine) {
  auto* state = &self->state;
  state->begin(self, *engine);
  return {
      [state](const RegisterTaskManager& m) { state->register_task_manager(m); },
      [state](const RequestSlots& m) { state->request(m); },
      [state](const ReleaseSlots& m) { state->release(m.job); },
  };
}

}  // namespace weir
