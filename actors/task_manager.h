// The actor that offers a worker's slots, and starts and supervises task hosts there.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "actors/task_host_launcher.h"

namespace weir {

struct TaskManagerOptions {
  RegistrationId registration;
  NodeInfo node;
  ResourceManagerHandle resource_manager;
  std::shared_ptr<TaskHostLauncher> launcher;  // for this TaskManager alone
  // Called once when it ends by itself, and why: the master is gone, does not answer, or refused it.
  std::function<void(const Error&)> on_end = [](const Error&) {};
};

// Lives as long as its registration: a worker that lost its master, or was given up by it, makes a new one. Whatever it has
// started ends with it, so two registrations of a worker never run side by side.
class TaskManager {
 public:
  static constexpr const char* name = "task-manager";

  void begin(TaskManagerHandle::base* self, const EngineContext& engine,
             TaskManagerOptions options);
  void start_host(const StartTaskHost& request);
  void kill_host(const KillTaskHost& request);
  void release(JobId job);
  void release(const ReleaseTaskHost& request) {
    options_.launcher->release(request.job, request.attempt);
  }
  void on_host_ended(const TaskHostEnded& ended);
  void on_heartbeat_answer(const HeartbeatAnswer& answer);
  void heartbeat();
  [[nodiscard]] LogText read_log(const QueryLog& query);
  void on_down(const caf::down_msg& down);

 private:
  struct Host {
    HostIndex index;
    JobManagerHandle job_manager;
    bool released = false;
  };

  // The ResourceManager learns the reason by its monitor, and so tells a worker that leaves from one that gave it up.
  void end(Error why, caf::error reason = caf::exit_reason::user_shutdown);
  // Within what the master waits before it gives this worker's work to another.
  [[nodiscard]] Duration patience() const { return engine_->heartbeat_timeout * 6 / 10; }

  TaskManagerHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  TaskManagerOptions options_;
  std::map<std::pair<JobId, AttemptId>, Host> hosts_;
  MonotonicTime last_answer_{};
  MonotonicTime last_round_{};
};

[[nodiscard]] TaskManagerHandle::behavior_type task_manager(
    TaskManagerHandle::stateful_pointer<TaskManager> self, const EngineContext* engine,
    TaskManagerOptions options);

}  // namespace weir
