// A whole cluster in one thread, its interleaving drawn from a seed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "actors/engine_context.h"
#include "actors/job_status.h"
#include "base/random.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

// How a simulated job ended: its outcome, or nothing if it got stuck (no actor has anything to do,
// no timer is set, and the job has not ended).
struct SimResult {
  std::optional<JobOutcome> outcome;
  std::uint64_t steps = 0;
  std::size_t actors_left = 0;  // besides those of the cluster
};

struct SimOptions {
  std::uint64_t seed = 0;
  std::uint32_t slots = 4;
  FaultInjection* faults = nullptr;
  std::optional<std::uint64_t> cancel_at_step = {};
  JobSettings settings = {};
};

// Runs the plan on Dispatcher, ResourceManager, TaskManager, JobManager, coordinators and tasks,
// the same classes as in production. Each step lets a random actor handle one message, so the
// messages of any actor may be delayed against those of all others for any time; time passes only
// when nothing else can happen.
[[nodiscard]] SimResult simulate(std::shared_ptr<const PhysicalPlan> plan,
                                 const SimOptions& options);

}  // namespace weir
