// Runs a job inside this process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "actors/job_status.h"
#include "base/log.h"
#include "base/result.h"
#include "dataflow/api/job.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

struct RunOptions {
  std::uint32_t parallelism = 1;
  std::optional<std::uint32_t> max_parallelism = {};
  bool chaining = true;
  JobSettings settings = {};
  Logger logger = {};
  // Called about five times a second while the job runs; returns whether to go on, else the job is
  // cancelled.
  std::function<bool(const JobProgress&)> on_progress = {};
};

// What a job that finished has to tell.
struct JobResult {
  std::uint64_t records_read = 0;
  std::uint64_t bad_records = 0;
  std::uint64_t late_records_dropped = 0;
  std::uint64_t records_ahead =
      0;  // whose time was too far ahead of the clock to move the watermark
  std::vector<NamedCount> counters = {};  // of user functions
  std::chrono::nanoseconds duration{0};
  std::uint32_t restarts = 0;  // the figures are of what ran since the last one
};

// The plan of a described job, with every mistake of options and plan in one error.
[[nodiscard]] Result<std::shared_ptr<const PhysicalPlan>> make_plan(Job& job,
                                                                    const RunOptions& options);

// Runs the job to its end on an embedded cluster with as many slots as it needs. Takes the plan out
// of the job, which can be run once.
[[nodiscard]] Result<JobResult> run(Job& job, const RunOptions& options = {});
[[nodiscard]] Result<JobResult> run(std::shared_ptr<const PhysicalPlan> plan,
                                    const RunOptions& options);

}  // namespace weir
