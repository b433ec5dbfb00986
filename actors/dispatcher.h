// The actor that accepts jobs and remembers how they ended.
#pragma once

#include <caf/all.hpp>
#include <map>
#include <vector>

#include "actors/engine_context.h"
#include "actors/messages.h"

namespace weir {

// Spawns a JobManager per job and keeps outcomes of ended jobs, the last `outcomes_max` of them.
class Dispatcher {
 public:
  static constexpr const char* name = "dispatcher";
  static constexpr std::size_t outcomes_max = 1000;

  Dispatcher() = default;
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  // JobManagers end with it.
  ~Dispatcher();

  void begin(DispatcherHandle::base* self, const EngineContext& engine,
             ResourceManagerHandle resource_manager);
  [[nodiscard]] caf::result<JobId> submit(const SubmitJob& submission);
  [[nodiscard]] caf::result<JobOutcome> await(JobId job);
  void cancel(JobId job);
  void on_job_ended(const JobOutcome& outcome);
  [[nodiscard]] caf::result<JobProgress> progress(JobId job);
  [[nodiscard]] std::vector<JobOutcome> list() const;
  void on_down(const caf::down_msg& down);

 private:
  struct RunningJob {
    JobManagerHandle job_manager;
    std::string name;
    std::vector<caf::typed_response_promise<JobOutcome>> waiting;
  };

  DispatcherHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  ResourceManagerHandle resource_manager_;
  std::map<JobId, RunningJob> running_;
  std::map<JobId, JobOutcome> ended_;
  std::vector<JobId> ended_order_;
};

[[nodiscard]] DispatcherHandle::behavior_type dispatcher(
    DispatcherHandle::stateful_pointer<Dispatcher> self, const EngineContext* engine,
    ResourceManagerHandle resource_manager);

}  // namespace weir
