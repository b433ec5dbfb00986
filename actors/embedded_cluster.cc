#include "actors/embedded_cluster.h"

#include <algorithm>
#include <caf/all.hpp>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "actors/dispatcher.h"
#include "actors/engine_context.h"
#include "actors/local_system_config.h"
#include "actors/local_task_hosts.h"
#include "actors/messages.h"
#include "actors/resource_manager.h"
#include "actors/task_manager.h"
#include "base/random.h"

namespace weir {
namespace {

constexpr std::chrono::seconds embedded_answer_timeout{30};

// Turns the answer of the Dispatcher into a future.
caf::behavior waiter(caf::event_based_actor* self, DispatcherHandle dispatcher, JobId job,
                     std::shared_ptr<std::promise<JobOutcome>> promise) {
  self->request(dispatcher, caf::infinite, AwaitJob{job})
      .then(
          [self, promise](const JobOutcome& outcome) {
            promise->set_value(outcome);
            self->quit();
          },
          [self, promise, job](const caf::error& error) {
            promise->set_value(
                {job,
                 {},
                 JobState::failed,
                 Error{Errc::actor_lost, "the Dispatcher is gone: " + self->system().render(error)},
                 {}});
            self->quit();
          });
  return {[](caf::ok_atom) {}};
}

}  // namespace

struct EmbeddedCluster::Actors {
  explicit Actors(ClusterOptions options) : config(options.worker_threads), system(config) {
    engine.logger = std::move(options.logger);
    const NodeInfo node{.id = "embedded", .role = "master", .version = WEIR_VERSION};
    resources = spawn_actor<ResourceManagerHandle>(system, engine, Placement::own_thread,
                                                   resource_manager, &engine, node);
    TaskManagerOptions worker{.registration = {1},
                              .node = node,
                              .resource_manager = resources,
                              .launcher = std::make_shared<LocalTaskHosts>(
                                  system, engine, [this](JobId job) { return plan_of(job); })};
    worker.node.slots = options.slots;
    tasks = spawn_actor<TaskManagerHandle>(system, engine, Placement::own_thread, task_manager,
                                           &engine, std::move(worker));
    jobs = spawn_actor<DispatcherHandle>(system, engine, Placement::own_thread, dispatcher, &engine,
                                         MasterServices{resources, {}});
  }

  std::shared_ptr<const PhysicalPlan> plan_of(JobId job) {
    const std::scoped_lock lock(mutex);
    const auto found = plans.find(job);
    return found == plans.end() ? nullptr : found->second;
  }

  void stop() {
    caf::anon_send_exit(jobs, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(tasks, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(resources, caf::exit_reason::user_shutdown);
    jobs = nullptr;
    tasks = nullptr;
    resources = nullptr;
  }

  EngineContext engine;  // before the system, which the actors that use it live in
  LocalSystemConfig config;
  caf::actor_system system;
  ResourceManagerHandle resources;
  TaskManagerHandle tasks;
  DispatcherHandle jobs;

  std::mutex mutex;
  std::map<JobId, std::shared_ptr<const PhysicalPlan>> plans;  // of jobs that may still run
  std::map<JobId, std::shared_future<JobOutcome>> outcomes;
  bool has_stuck_tasks = false;
};

EmbeddedCluster::EmbeddedCluster(ClusterOptions options)
    : actors_(std::make_unique<Actors>(std::move(options))) {}

EmbeddedCluster::~EmbeddedCluster() {
  {
    const std::scoped_lock lock(actors_->mutex);
    for (const auto& [job, outcome] : actors_->outcomes) {
      if (outcome.wait_for(std::chrono::seconds{0}) != std::future_status::ready) cancel(job);
    }
  }
  for (const auto& [job, outcome] : actors_->outcomes) {
    if (!wait(job, Duration{10'000})) actors_->has_stuck_tasks = true;
  }
  // A user function that never returns holds a thread that cannot be joined: it is left behind with
  // what it uses.
  if (actors_->has_stuck_tasks) {
    (void)actors_.release();
    return;
  }
  actors_->stop();
}

Result<JobId> EmbeddedCluster::submit(std::shared_ptr<const PhysicalPlan> plan,
                                      JobSettings settings) {
  const JobId job{fresh_seed()};
  caf::scoped_actor self(actors_->system);
  std::optional<Error> error;
  SubmitJob submission{job, make_job_graph(*plan), settings, {}};
  {
    const std::scoped_lock lock(actors_->mutex);
    actors_->plans.emplace(job, std::move(plan));
  }
  self->request(actors_->jobs, embedded_answer_timeout, std::move(submission))
      .receive([&](const JobSubmitted& answer) { error = answer.error; },
               [&](const caf::error& e) {
                 error = Error{Errc::timeout, "the Dispatcher did not accept the job: " +
                                                  actors_->system.render(e)};
               });
  if (error) return *error;
  const auto promise = std::make_shared<std::promise<JobOutcome>>();
  {
    const std::scoped_lock lock(actors_->mutex);
    actors_->outcomes.emplace(job, promise->get_future().share());
  }
  // A thread of its own: those of the scheduler may all be held by user code.
  spawn_actor<caf::actor>(actors_->system, actors_->engine, Placement::own_thread, waiter,
                          actors_->jobs, job, promise);
  return job;
}

std::optional<JobOutcome> EmbeddedCluster::wait(JobId job, Duration at_most) {
  std::shared_future<JobOutcome> future;
  {
    const std::scoped_lock lock(actors_->mutex);
    future = actors_->outcomes.at(job);
  }
  if (future.wait_for(at_most) != std::future_status::ready) return std::nullopt;
  JobOutcome outcome = future.get();
  const std::scoped_lock lock(actors_->mutex);
  actors_->plans.erase(job);
  if (outcome.tasks_given_up) actors_->has_stuck_tasks = true;
  return outcome;
}

void EmbeddedCluster::cancel(JobId job) {
  caf::anon_send(actors_->jobs, CancelJob{job});
}

Result<JobProgress> EmbeddedCluster::progress(JobId job) {
  caf::scoped_actor self(actors_->system);
  Result<JobProgress> result = JobProgress{};
  self->request(actors_->jobs, embedded_answer_timeout, QueryProgress{job})
      .receive(
          [&](const JobProgress& progress) { result = progress; },
          [&](const caf::error& e) {
            result = Error{Errc::timeout, "no answer about the job: " + actors_->system.render(e)};
          });
  return result;
}

}  // namespace weir
