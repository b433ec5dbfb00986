// What others may know of a running task without asking it: it may be busy in a user's function.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "actors/job_status.h"
#include "base/clock.h"
#include "dataflow/operator.h"
#include "dataflow/runtime/task_metrics.h"

namespace weir {

// Shared by the task, which writes the metrics, and its TaskHost, which reads them.
struct TaskProbe {
  TaskProbe(TaskId id, std::string task_name, std::vector<std::string> stages,
            std::size_t exchange_count)
      : task(id),
        name(std::move(task_name)),
        stage_names(std::move(stages)),
        metrics(exchange_count),
        operators(stage_names.size()) {}

  const TaskId task;
  const std::string name;  // "lines → flat map (1/4)"
  const std::vector<std::string> stage_names;
  TaskMetrics metrics;
  std::vector<OperatorMetrics> operators;  // by stage
};

// The figures as they are now.
[[nodiscard]] TaskReport make_report(const TaskProbe& probe, MonotonicTime now);

}  // namespace weir
