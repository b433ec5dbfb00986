#include "actors/task_manager.h"

#include <chrono>
#include <utility>

#include "actors/operator_coordinator.h"
#include "actors/task_actor.h"
#include "base/limits.h"

namespace weir {
namespace {

constexpr std::chrono::milliseconds watchdog_interval{250};

}  // namespace

TaskManager::~TaskManager() {
  for (const auto& [job, coordinators] : coordinators_) {
    for (const auto& coordinator : coordinators)
      caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  }
  for (const auto& [address, task] : tasks_)
    caf::anon_send_exit(address, caf::exit_reason::user_shutdown);
}

void TaskManager::begin(TaskManagerHandle::base* self, const EngineContext& engine) {
  self_ = self;
  engine_ = &engine;
  self_->set_down_handler([this](const caf::down_msg& down) { on_down(down); });
  // In simulation nothing is ever stuck, and a clock that jumps would say so.
  if (engine_->threads)
    self_->delayed_send(caf::actor_cast<TaskManagerHandle>(self_), watchdog_interval, CheckTasks{});
}

void TaskManager::deploy_coordinator(DeployCoordinator deployment) {
  const auto [job, attempt, node, plan, job_manager] = deployment;
  auto coordinator =
      spawn_actor<CoordinatorHandle>(self_->system(), *engine_, Placement::own_thread,
                                     operator_coordinator, engine_, std::move(deployment));
  coordinators_[job].push_back(coordinator);
  self_->send(job_manager, CoordinatorDeployed{attempt, node, std::move(coordinator)});
}

void TaskManager::deploy_task(DeployTask deployment) {
  Task task{deployment.job,   deployment.attempt,     deployment.task,
            deployment.probe, deployment.job_manager, 0};
  const bool blocking = deployment.plan->vertex(deployment.task.vertex).blocking;
  auto handle = spawn_actor<TaskHandle>(self_->system(), *engine_,
                                        blocking ? Placement::own_thread : Placement::shared,
                                        task_actor, engine_, std::move(deployment));
  self_->monitor(handle);
  self_->send(task.job_manager, TaskDeployed{task.attempt, task.id, handle});
  tasks_.emplace(handle->address(), std::move(task));
}

void TaskManager::release(JobId job) {
  for (const auto& coordinator : coordinators_[job]) {
    self_->send_exit(coordinator, caf::exit_reason::user_shutdown);
  }
  coordinators_.erase(job);
  for (const auto& [address, task] : tasks_) {
    if (task.job == job) self_->send_exit(address, caf::exit_reason::user_shutdown);
  }
}

// A task that ended by itself has told its JobManager so, which ignores what comes after.
void TaskManager::on_down(const caf::down_msg& down) {
  const auto found = tasks_.find(down.source);
  if (found == tasks_.end()) return;
  const Task task = std::move(found->second);
  tasks_.erase(found);
  if (down.reason == caf::exit_reason::normal) return;
  Error error{Errc::actor_lost,
              "task " + task.probe->name + " died: " + self_->system().render(down.reason)};
  self_->send(task.job_manager,
              TaskChanged{task.attempt, task.id, TaskState::failed, std::move(error), {}});
}

void TaskManager::check_tasks() {
  self_->delayed_send(caf::actor_cast<TaskManagerHandle>(self_), watchdog_interval, CheckTasks{});
  const std::int64_t now_ns = engine_->clock->now().time_since_epoch().count();
  for (auto& [address, task] : tasks_) {
    const std::int64_t began_ns = task.probe->metrics.step_began_ns.load(std::memory_order_relaxed);
    if (began_ns == 0 || began_ns == task.reported_step_ns) continue;
    const std::chrono::nanoseconds held{now_ns - began_ns};
    if (held < limits::stuck_after) continue;
    task.reported_step_ns = began_ns;
    const auto stage = task.probe->metrics.stage_called.load(std::memory_order_relaxed);
    engine_->logger.warning(
        "task " + task.probe->name + " has been in the user function of '" +
        task.probe->stage_names[stage] + "' for over " +
        std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(held).count()) +
        " ms and holds its thread; mark the step .blocking() if it waits for something");
  }
}

TaskManagerHandle::behavior_type task_manager(TaskManagerHandle::stateful_pointer<TaskManager> self,
                                              const EngineContext* engine,
                                              ResourceManagerHandle resource_manager,
                                              std::uint32_t slots) {
  auto* state = &self->state;
  state->begin(self, *engine);
  self->send(resource_manager,
             RegisterTaskManager{caf::actor_cast<TaskManagerHandle>(self), slots});
  return {
      [state](const DeployCoordinator& m) { state->deploy_coordinator(m); },
      [state](const DeployTask& m) { state->deploy_task(m); },
      [state](const ReleaseJob& m) { state->release(m.job); },
      [state](const CheckTasks&) { state->check_tasks(); },
  };
}

}  // namespace weir
