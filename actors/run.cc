#include "actors/run.h"

#include <utility>

#include "actors/embedded_cluster.h"
#include "base/clock.h"
#include "dataflow/plan/job_graph.h"

namespace weir {
namespace {

constexpr Duration progress_interval{200};
constexpr Duration wait_interval{20};  // how soon a cancel is seen

// Inputs and outputs, before anything is started. A job that goes on from a checkpoint goes on with its output, too.
Result<void> check_ends(const LogicalPlan& plan, bool goes_on) {
  for (const LogicalNode& node : plan.nodes) {
    if (!node.check) continue;
    const auto checked = node.check();
    if (!checked && !(goes_on && checked.error().code == Errc::output_exists))
      return checked.error();
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const PhysicalPlan>> make_plan(Job& job, const RunOptions& options) {
  const auto mistakes = job.options().mistakes();
  if (!mistakes.empty()) {
    std::string text;
    for (const std::string& mistake : mistakes) text += (text.empty() ? "" : "\n") + mistake;
    return Error{Errc::bad_option, std::move(text)};
  }
  const PlanSettings settings{options.parallelism, options.max_parallelism, options.chaining};
  WEIR_TRY(check_valid(job.plan(), settings));
  return make_physical_plan(std::move(job.plan()), settings);
}

Result<JobResult> run(Job& job, const RunOptions& options) {
  auto plan = make_plan(job, options);
  if (!plan) return plan.error();
  return run(std::move(*plan), options);
}

Result<JobResult> run(std::shared_ptr<const PhysicalPlan> plan, const RunOptions& options) {
  WEIR_TRY(check_ends(plan->logical, !options.settings.restore_from.empty()));
  const MonotonicTime begin = system_clock().now();
  EmbeddedCluster cluster({.slots = slots_needed(make_job_graph(*plan)),
                           .worker_threads = 0,
                           .logger = options.logger});
  const auto job = cluster.submit(plan, options.settings);
  if (!job) return job.error();

  bool cancelled = false;
  MonotonicTime told = begin;
  auto outcome = cluster.wait(*job, wait_interval);
  for (; !outcome; outcome = cluster.wait(*job, wait_interval)) {
    const MonotonicTime now = system_clock().now();
    if (!options.on_progress || now - told < progress_interval) continue;
    told = now;
    const auto progress = cluster.progress(*job);
    if (progress && !options.on_progress(*progress) && !std::exchange(cancelled, true))
      cluster.cancel(*job);
  }
  if (options.on_progress) (void)options.on_progress(outcome->progress);
  if (outcome->error) {
    return Error{outcome->error->code,
                 outcome->error->message + words_on_kept_checkpoint(*outcome)};
  }
  if (outcome->state == JobState::canceled)
    return Error{Errc::cancelled, "the job was cancelled" + words_on_kept_checkpoint(*outcome)};
  return JobResult{.records_read = outcome->progress.records_read,
                   .bad_records = outcome->progress.bad_records,
                   .late_records_dropped = outcome->progress.late_records_dropped,
                   .records_ahead = outcome->progress.records_ahead,
                   .counters = outcome->progress.counters,
                   .duration = system_clock().now() - begin,
                   .restarts = outcome->progress.restarts};
}

}  // namespace weir
