// A whole cluster inside this process: the same actors as on many machines, with a transport of
// pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "actors/job_status.h"
#include "base/log.h"
#include "base/result.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

struct ClusterOptions {
  std::uint32_t slots = 1;
  std::uint32_t worker_threads = 0;  // of tasks; 0: as many as the machine has cores
  Logger logger = {};
};

// Owns a Dispatcher, a ResourceManager and a TaskManager with its threads. Thread-safe. The
// destructor cancels nothing: jobs still running end with it.
class EmbeddedCluster {
 public:
  explicit EmbeddedCluster(ClusterOptions options);
  EmbeddedCluster(const EmbeddedCluster&) = delete;
  EmbeddedCluster& operator=(const EmbeddedCluster&) = delete;
  ~EmbeddedCluster();

  // Starts a valid plan.
  [[nodiscard]] Result<JobId> submit(std::shared_ptr<const PhysicalPlan> plan,
                                     JobSettings settings);
  // Waits until the job has ended, at most as long as given. Nothing if it still runs.
  [[nodiscard]] std::optional<JobOutcome> wait(JobId job, Duration at_most);
  void cancel(JobId job);
  [[nodiscard]] Result<JobProgress> progress(JobId job);

 private:
  struct Actors;
  std::unique_ptr<Actors> actors_;
};

}  // namespace weir
