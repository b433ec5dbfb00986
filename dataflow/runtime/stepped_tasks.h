// Runs all tasks of a job in the calling thread, over channels in memory, for harnesses and tests.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "dataflow/plan/physical_plan.h"
#include "state/snapshot.h"

namespace weir {

// The state of each step of a job, by instance.
using JobSnapshot = std::map<NodeId, std::vector<RestoredState>>;

// What actors do for tasks, without actors: the same TaskCores, channels with credit, and split
// enumerators. Messages are delivered between steps, tasks step in the order of the plan, and time
// stands still while they do; so a run is the same each time. The plan's committers and checks are
// not called, and no source waits for others (WatermarkAlignment).
//
// Not thread-safe; an operator's waker may be called from any thread and is heeded by the next run.
class SteppedTasks {
 public:
  struct Options {
    bool strict = false;
    std::uint64_t random_seed = 0;  // for shuffles and the like
    JobSnapshot restored = {};      // what a run of the same steps had; of any parallelism
  };

  // The clock outlives the tasks.
  SteppedTasks(std::shared_ptr<const PhysicalPlan> plan, const Clock& clock, Options options);
  ~SteppedTasks();
  SteppedTasks(const SteppedTasks&) = delete;
  SteppedTasks& operator=(const SteppedTasks&) = delete;

  // Opens enumerators and tasks. After a failure, here or in a run, all tasks are closed and
  // nothing may be called but the queries.
  [[nodiscard]] Result<void> open();

  // Steps until no task can go on at this time. An enumerator that had no split yet is asked again
  // at its time; so splits that have appeared since are found.
  [[nodiscard]] Result<void> run_until_quiet();

  // Sends barriers off, as a job's coordinator does: from sources, and from tasks whose producers have all finished. Ids go up. They
  // move when the tasks do.
  void trigger_checkpoint(CheckpointId checkpoint);
  // Nobody waits for it any more.
  void abort_checkpoint(CheckpointId checkpoint);
  // Whether each task has taken its snapshot for it, or has finished.
  [[nodiscard]] bool checkpoint_is_whole(CheckpointId checkpoint) const;

  // The state of all steps. Requires that it is quiet: what is on its way between tasks is in nobody's
  // state.
  [[nodiscard]] JobSnapshot snapshot() const;

  // When some task wants to be called next, if any does. Requires that it is quiet.
  [[nodiscard]] std::optional<ProcessingTime> next_wake() const;
  // Whether all tasks have finished.
  [[nodiscard]] bool finished() const;

  // Sums over all operators.
  [[nodiscard]] std::uint64_t late_records_dropped() const;
  [[nodiscard]] std::uint64_t bad_records() const;
  [[nodiscard]] std::uint64_t records_ahead() const;
  // What all functions have counted under this name.
  [[nodiscard]] std::int64_t counter(const std::string& name) const;

 private:
  class Task;
  struct Tasks;
  std::unique_ptr<Tasks> tasks_;
};

}  // namespace weir
