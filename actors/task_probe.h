// What others may know of a running task without asking it: it may be busy in a user's function.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "actors/job_status.h"
#include "dataflow/operator.h"
#include "dataflow/runtime/task_metrics.h"

namespace weir {

// Shared by the task, which writes the metrics, and its JobManager and TaskManager, which read
// them.
struct TaskProbe {
  TaskProbe(TaskId id, std::string task_name, std::vector<std::string> stages)
      : task(id),
        name(std::move(task_name)),
        stage_names(std::move(stages)),
        operators(stage_names.size()) {}

  const TaskId task;
  const std::string name;  // "lines → flat map (1/4)"
  const std::vector<std::string> stage_names;
  TaskMetrics metrics;
  std::vector<OperatorMetrics> operators;  // by stage
};

}  // namespace weir
