// Which steps run in one task.
#pragma once

#include <vector>

#include "base/ids.h"
#include "dataflow/plan/logical_plan.h"
#include "dataflow/plan/partitioner.h"

namespace weir {

// How records are divided on each edge of the plan, in its order: what was said, else by Flink's rule; so that all subtasks of a loop
// have the same inputs.
[[nodiscard]] std::vector<Partitioning> settled_partitionings(const LogicalPlan& plan,
                                                              const PlanSettings& settings);

// Of each step, by its id, the head of the chain that it is in: itself, or that of its only input, if it is chained to it by Flink's
// rules: forward, of the same parallelism and slot group, and neither side's chaining forbids it.
[[nodiscard]] std::vector<NodeId> chain_heads(const LogicalPlan& plan, const PlanSettings& settings,
                                              const std::vector<Partitioning>& partitionings);

}  // namespace weir
