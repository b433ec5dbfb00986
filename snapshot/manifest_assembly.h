// Makes a manifest of what tasks and coordinators gave a checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "snapshot/checkpoint_coordinator.h"
#include "snapshot/manifest.h"

namespace weir {

// What a checkpoint needs to know of a job's plan.
struct SnapshotOperator {
  std::string name{};
  NodeId node{};
  VertexId vertex{};  // in whose tasks it runs
  std::uint32_t parallelism = 0;
  std::uint32_t max_parallelism = 0;
};
struct SnapshotPlan {
  JobId job{};
  std::string job_name{};
  std::vector<SnapshotOperator> operators{};
};

// Errc::corrupt_data, naming the operator, if a task's snapshot does not fit the plan. `kept_committables`, by operator,
// are those that the tasks' snapshots do not have: of tasks that had finished, and of checkpoints that were given up.
[[nodiscard]] Result<CheckpointManifest> assemble_manifest(
    const SnapshotPlan& plan, checkpoint::Store content,
    const std::map<std::string, std::vector<Bytes>>& kept_committables);

}  // namespace weir
