// A whole cluster in one thread, its interleaving drawn from a seed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/engine_context.h"
#include "actors/job_status.h"
#include "base/random.h"
#include "dataflow/plan/physical_plan.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

// How a simulated job ended: its outcome, or nothing if it got stuck (no actor has anything to do,
// no timer is set or an hour has passed, and the job has not ended).
struct SimResult {
  std::optional<JobOutcome> outcome;
  std::uint64_t steps = 0;
  std::size_t actors_left = 0;  // besides those of the cluster
};

[[nodiscard]] testing::AssertionResult has_ended(const SimResult& result);
[[nodiscard]] testing::AssertionResult has_ended_as(JobState state, const SimResult& result);

// What happens to a worker: its TaskManager dies, or is frozen for so long that the master gives it up, and thaws.
enum class WorkerFault : std::uint8_t { none, dies, freezes };

struct SimOptions {
  std::uint64_t seed = 0;
  std::uint32_t slots = 4;  // of all workers together; a multiple of their number
  std::uint32_t workers =
      1;  // with one, all tasks are in one host; with several, hosts exchange frames
  FaultInjection* faults = nullptr;
  std::optional<std::uint64_t> cancel_at_step = {};
  // Else time stands still as long as anybody has something to do, and nothing that a timer begins meets a busy job. Then
  // one step in so many is a timer instead, if one is due within a second.
  std::optional<std::uint64_t> steps_per_timer = {};
  JobSettings settings = {};
  std::shared_ptr<SnapshotStorage> snapshot_storage = {};
};

// Dispatcher, ResourceManager, TaskManagers, TaskHosts, JobManagers, coordinators and tasks, the same classes as in
// production. Each step lets a random actor handle one message, so the messages of any actor may be delayed against those
// of all others for any time; time passes only when nothing else can happen (but see steps_per_timer).
class SimCluster {
 public:
  explicit SimCluster(const SimOptions& options);
  SimCluster(const SimCluster&) = delete;
  SimCluster& operator=(const SimCluster&) = delete;
  ~SimCluster();

  // Runs one job to its end; at step `fault_at` of it the fault happens to a worker drawn from the seed. A worker that has
  // lost its registration makes a new one, as a node does.
  [[nodiscard]] SimResult run(std::shared_ptr<const PhysicalPlan> plan,
                              WorkerFault fault = WorkerFault::none, std::uint64_t fault_at = 0);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// One job on a fresh cluster.
[[nodiscard]] SimResult simulate(std::shared_ptr<const PhysicalPlan> plan,
                                 const SimOptions& options);

}  // namespace weir
