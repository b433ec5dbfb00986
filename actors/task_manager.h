// The actor that starts and supervises tasks.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/engine_context.h"
#include "actors/messages.h"

namespace weir {

// Spawns task actors and coordinators on request, tells the JobManager when one dies without having
// said how it ended, and names tasks that hold their thread for too long in user code.
class TaskManager {
 public:
  static constexpr const char* name = "task-manager";

  TaskManager() = default;
  TaskManager(const TaskManager&) = delete;
  TaskManager& operator=(const TaskManager&) = delete;
  // No task or coordinator outlives its TaskManager.
  ~TaskManager();

  void begin(TaskManagerHandle::base* self, const EngineContext& engine);
  void deploy_coordinator(DeployCoordinator deployment);
  void deploy_task(DeployTask deployment);
  void release(JobId job);
  void check_tasks();
  void on_down(const caf::down_msg& down);

 private:
  struct Task {
    JobId job;
    AttemptId attempt;
    TaskId id;
    std::shared_ptr<TaskProbe> probe;
    JobManagerHandle job_manager;
    std::int64_t reported_step_ns = 0;  // of the step that was last named as stuck
  };

  TaskManagerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  std::map<caf::actor_addr, Task> tasks_;
  std::map<JobId, std::vector<CoordinatorHandle>> coordinators_;
};

[[nodiscard]] TaskManagerHandle::behavior_type task_manager(
    TaskManagerHandle::stateful_pointer<TaskManager> self, const EngineContext* engine,
    ResourceManagerHandle resource_manager, std::uint32_t slots);

}  // namespace weir
