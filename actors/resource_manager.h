// The actor that knows the cluster's slots.
#pragma once

#include <caf/all.hpp>
#include <map>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "actors/slot_pool.h"

namespace weir {

// Grants slots of registered TaskManagers to JobManagers; takes back those of TaskManagers and jobs
// that ended.
class ResourceManager {
 public:
  static constexpr const char* name = "resource-manager";

  void begin(ResourceManagerHandle::base* self, const EngineContext& engine);
  void register_task_manager(const RegisterTaskManager& registration);
  void request(const RequestSlots& request);
  void release(JobId job);
  void on_down(const caf::down_msg& down);

 private:
  void grant(const std::vector<SlotPool::Grant>& grants);

  ResourceManagerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  SlotPool pool_;
  std::uint64_t last_id_ = 0;
  std::map<TaskManagerId, TaskManagerHandle> task_managers_;
  std::map<JobId, JobManagerHandle> job_managers_;  // those with an open request
};

[[nodiscard]] ResourceManagerHandle::behavior_type resource_manager(
    ResourceManagerHandle::stateful_pointer<ResourceManager> self, const EngineContext* engine);

}  // namespace weir
