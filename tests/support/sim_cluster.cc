#include "tests/support/sim_cluster.h"

#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <utility>

#include "actors/dispatcher.h"
#include "actors/messages.h"
#include "actors/resource_manager.h"
#include "actors/task_manager.h"
#include "base/check.h"

namespace weir {
namespace {

constexpr std::uint64_t steps_max = 5'000'000;

class SimConfig : public caf::actor_system_config {
 public:
  SimConfig() {
    set("scheduler.policy", caf::atom("testing"));
    set("logger.verbosity", caf::atom("quiet"));
  }
};

// Reads the virtual clock of the test scheduler, plus a little for every look, so that step budgets
// end.
class SimClock final : public Clock {
 public:
  explicit SimClock(caf::scheduler::test_coordinator& scheduler) : scheduler_(&scheduler) {}

  [[nodiscard]] MonotonicTime now() const override {
    looks_ += std::chrono::microseconds{20};
    return MonotonicTime{} + scheduler_->clock().now().time_since_epoch() + looks_;
  }
  [[nodiscard]] ProcessingTime processing_time() const override {
    return {
        std::chrono::duration_cast<Duration>(scheduler_->clock().now().time_since_epoch()).count()};
  }

 private:
  caf::scheduler::test_coordinator* scheduler_;
  mutable std::chrono::nanoseconds looks_{0};
};

caf::behavior observer(caf::event_based_actor* self, DispatcherHandle jobs, JobId job,
                       std::optional<JobOutcome>* into) {
  self->request(jobs, caf::infinite, AwaitJob{job}).then([self, into](const JobOutcome& outcome) {
    *into = outcome;
    self->quit();
  });
  return {[](caf::ok_atom) {}};
}

class Simulation {
 public:
  explicit Simulation(const SimOptions& options)
      : options_(options),
        random_(options.seed),
        system_(config_),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
        clock_(scheduler_) {
    engine_.clock = &clock_;
    engine_.threads = false;
    engine_.faults = options.faults;
    resources_ = spawn_actor<ResourceManagerHandle>(system_, engine_, Placement::shared,
                                                    resource_manager, &engine_);
    tasks_ = spawn_actor<TaskManagerHandle>(system_, engine_, Placement::shared, task_manager,
                                            &engine_, resources_, options.slots);
    jobs_ = spawn_actor<DispatcherHandle>(system_, engine_, Placement::shared, dispatcher, &engine_,
                                          resources_);
    scheduler_.run();
    actors_of_cluster_ = system_.registry().running();
  }

  ~Simulation() {
    caf::anon_send_exit(jobs_, caf::exit_reason::kill);
    caf::anon_send_exit(tasks_, caf::exit_reason::kill);
    caf::anon_send_exit(resources_, caf::exit_reason::kill);
    scheduler_.run();
  }

  SimResult run(std::shared_ptr<const PhysicalPlan> plan) {
    const JobId job{options_.seed + 1};
    std::optional<JobOutcome> outcome;
    caf::anon_send(jobs_, SubmitJob{job, std::move(plan), options_.settings});
    scheduler_.run_once();
    system_.spawn(observer, jobs_, job, &outcome);
    SimResult result;
    for (; !outcome && result.steps < steps_max; ++result.steps) {
      if (options_.cancel_at_step == result.steps) caf::anon_send(jobs_, CancelJob{job});
      if (scheduler_.has_job()) {
        run_random_actor();
      } else if (!scheduler_.trigger_timeout()) {
        break;
      }
    }
    if (outcome) {
      while (scheduler_.has_job()) run_random_actor();
      result.actors_left = system_.registry().running() - actors_of_cluster_;
    }
    result.outcome = std::move(outcome);
    return result;
  }

 private:
  // The test scheduler gives an actor one message and takes the next from the front.
  void run_random_actor() {
    auto& jobs = scheduler_.jobs;
    std::swap(jobs.front(), jobs[random_.below(jobs.size())]);
    scheduler_.run_once();
  }

  SimOptions options_;
  Random random_;
  SimConfig config_;
  EngineContext engine_;
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  SimClock clock_;
  ResourceManagerHandle resources_;
  TaskManagerHandle tasks_;
  DispatcherHandle jobs_;
  std::size_t actors_of_cluster_ = 0;
};

}  // namespace

SimResult simulate(std::shared_ptr<const PhysicalPlan> plan, const SimOptions& options) {
  Simulation simulation(options);
  return simulation.run(std::move(plan));
}

}  // namespace weir
