// How a TaskManager brings TaskHosts to life: as actors beside it, or as processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

// Owned and called by one TaskManager. At most one host per job and attempt. Its destructor ends all hosts that are left.
class TaskHostLauncher {
 public:
  virtual ~TaskHostLauncher() = default;

  // Called once, from any thread, when the host has ended: with an error unless it was asked to end.
  using Ended = std::function<void(std::optional<Error>)>;
  // Begins to start the host, which reports to the JobManager by itself.
  virtual void start(const StartTaskHost& request, Ended ended) = 0;
  // Asks the hosts of a job to end; those that are being started never do start.
  virtual void release(JobId job) = 0;
  virtual void release(JobId job, AttemptId attempt) = 0;
  // Ends one whatever it does. False: that is impossible.
  [[nodiscard]] virtual bool kill(JobId job, AttemptId attempt) = 0;
  // What it wrote to stdout and stderr, from a position on, at most as much as a message holds.
  [[nodiscard]] virtual LogText read_log(const QueryLog& query) = 0;
};

}  // namespace weir
