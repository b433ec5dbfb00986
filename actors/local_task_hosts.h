// TaskHosts as actors of the TaskManager's own process.
#pragma once

#include <caf/all.hpp>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "actors/task_host.h"
#include "actors/task_host_launcher.h"

namespace weir {

// Finds the plan of a job; null if there is none. From any thread.
using PlanFinder = std::function<std::shared_ptr<const PhysicalPlan>(JobId)>;

// For the embedded cluster and for simulation. User code that never returns can't be ended here.
class LocalTaskHosts final : public TaskHostLauncher {
 public:
  // Makes the data plane of a host; null if it needs none, as when there is one TaskManager.
  using MakeDataPlane = std::function<DataPlaneFactory(const StartTaskHost&)>;

  // System and engine outlive it.
  LocalTaskHosts(caf::actor_system& system, const EngineContext& engine, PlanFinder find_plan,
                 MakeDataPlane make_data_plane = {});
  LocalTaskHosts(const LocalTaskHosts&) = delete;
  LocalTaskHosts& operator=(const LocalTaskHosts&) = delete;
  ~LocalTaskHosts() override;

  void start(const StartTaskHost& request, Ended ended) override;
  void release(JobId job) override;
  void release(JobId job, AttemptId attempt) override;
  [[nodiscard]] bool kill(JobId job, AttemptId attempt) override;
  [[nodiscard]] LogText read_log(const QueryLog& query) override;

 private:
  caf::actor_system* system_;
  const EngineContext* engine_;
  PlanFinder find_plan_;
  MakeDataPlane make_data_plane_;
  std::map<std::pair<JobId, AttemptId>, TaskHostHandle> hosts_;
};

}  // namespace weir
