// The actor that knows the cluster's nodes and slots.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/engine_context.h"
#include "actors/heartbeat_monitor.h"
#include "actors/messages.h"
#include "actors/slot_pool.h"

namespace weir {

// Grants slots of registered TaskManagers to JobManagers; takes back those of jobs that ended, and of TaskManagers that
// died or fell silent, which it tells the JobManagers that use them.
class ResourceManager {
 public:
  static constexpr const char* name = "resource-manager";

  void begin(ResourceManagerHandle::base* self, const EngineContext& engine, NodeInfo master);
  void on_listening(const std::string& address) { master_.address = address; }
  void register_task_manager(const RegisterTaskManager& registration);
  [[nodiscard]] HeartbeatAnswer deregister(const DeregisterTaskManager& leaving);
  void on_heartbeat(const TaskManagerHeartbeat& heartbeat);
  void look_for_silent();
  void request(const RequestSlots& request);
  void release(JobId job);
  [[nodiscard]] NodeList list() const;
  [[nodiscard]] caf::result<LogText> read_log(const QueryLog& query);
  void on_down(const caf::down_msg& down);

 private:
  struct Worker {
    TaskManagerHandle handle;
    NodeInfo node;
  };

  void grant(const std::vector<SlotPool::Grant>& grants);
  void tell_waiting();
  [[nodiscard]] std::string missing_for(JobId job) const;
  [[nodiscard]] Error cause_of(const caf::error& reason, const std::string& worker) const;
  void remove(TaskManagerId id, const Error& why);
  [[nodiscard]] bool watches() const { return engine_->heartbeat_interval.count() > 0; }

  ResourceManagerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  NodeInfo master_;
  SlotPool pool_;
  std::map<TaskManagerId, Worker> workers_;
  std::map<JobId, JobManagerHandle> job_managers_;  // with an open request, or slots
  std::map<JobId, std::string>
      waiting_;  // with an open request: what they were told that they lack
  std::optional<HeartbeatMonitor<TaskManagerId>> heartbeats_;
  std::map<TaskManagerId, TaskManagerHandle>
      given_up_;  // silent ones, until they are heard of again; the last few
};

[[nodiscard]] ResourceManagerHandle::behavior_type resource_manager(
    ResourceManagerHandle::stateful_pointer<ResourceManager> self, const EngineContext* engine,
    NodeInfo master);

}  // namespace weir
