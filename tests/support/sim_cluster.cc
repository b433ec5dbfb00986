#include "tests/support/sim_cluster.h"

#include <algorithm>
#include <caf/all.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <map>
#include <utility>
#include <vector>

#include "actors/dispatcher.h"
#include "actors/local_task_hosts.h"
#include "actors/messages.h"
#include "actors/resource_manager.h"
#include "actors/task_manager.h"
#include "base/check.h"
#include "tests/support/sim_data_plane.h"

namespace weir {
namespace {

constexpr std::uint64_t steps_max = 5'000'000;
constexpr std::chrono::hours time_max{1};

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

}  // namespace

class SimCluster::Impl {
 public:
  explicit Impl(const SimOptions& options)
      : options_(options),
        random_(options.seed),
        system_(config_),
        scheduler_(dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler())),
        clock_(scheduler_) {
    engine_.clock = &clock_;
    engine_.threads = false;
    engine_.faults = options.faults;
    engine_.snapshot_storage = options.snapshot_storage;
    engine_.report_interval = Duration{0};
    if (options.workers > 1) {
      engine_.report_interval = Duration{200};
      engine_.heartbeat_interval = Duration{1'000};
    }
    const NodeInfo master{.id = "master", .role = "master", .version = "sim"};
    resources_ = spawn_actor<ResourceManagerHandle>(system_, engine_, Placement::shared,
                                                    resource_manager, &engine_, master);
    for (std::uint32_t i = 0; i < options.workers; ++i) workers_.push_back(spawn_worker());
    jobs_ = spawn_actor<DispatcherHandle>(system_, engine_, Placement::shared, dispatcher, &engine_,
                                          MasterServices{resources_, {}});
    while (scheduler_.has_job()) scheduler_.run_once();
    actors_of_cluster_ = system_.registry().running();
  }

  // Ends the cluster. False if actors are left that nobody knows, for which an actor system would wait for ever.
  [[nodiscard]] bool end() {
    frozen_ = nullptr;
    caf::anon_send_exit(jobs_, caf::exit_reason::kill);
    for (const auto& worker : workers_) caf::anon_send_exit(worker.handle, caf::exit_reason::kill);
    caf::anon_send_exit(resources_, caf::exit_reason::kill);
    while (scheduler_.has_job()) scheduler_.run_once();
    return system_.registry().running() == 0;
  }

  SimResult run(std::shared_ptr<const PhysicalPlan> plan, WorkerFault fault,
                std::uint64_t fault_at) {
    const JobId job{options_.seed * 1000 + ++last_job_};
    std::optional<JobOutcome> outcome;
    SubmitJob submission{job, make_job_graph(*plan), options_.settings, {}};
    plans_[job] = std::move(plan);
    caf::anon_send(jobs_, std::move(submission));
    run_actor(jobs_);
    system_.spawn(observer, jobs_, job, &outcome);
    SimResult result;
    const auto begin = scheduler_.clock().now();
    for (; !outcome && result.steps < steps_max; ++result.steps) {
      if (options_.cancel_at_step == result.steps) caf::anon_send(jobs_, CancelJob{job});
      if (fault != WorkerFault::none && fault_at == result.steps) hurt_worker(fault);
      respawn_workers();
      if (!step()) break;
      if (scheduler_.clock().now() - begin > time_max) break;
    }
    if (outcome) settle();
    if (outcome) result.actors_left = system_.registry().running() - actors_of_cluster_;
    result.outcome = std::move(outcome);
    return result;
  }

 private:
  struct Worker {
    TaskManagerHandle handle;
    std::shared_ptr<bool> ended;
  };

  Worker spawn_worker() {
    const RegistrationId registration{++last_registration_};
    auto ended = std::make_shared<bool>(false);
    const std::uint32_t slots = options_.slots / options_.workers;
    LocalTaskHosts::MakeDataPlane make_data_plane;
    if (options_.workers > 1) {
      make_data_plane = [this](const StartTaskHost& start) -> DataPlaneFactory {
        return [network = network_, job = start.job, attempt = start.attempt,
                host = start.host](DataReceiver& receiver) -> Result<ListeningDataPlane> {
          return ListeningDataPlane{
              std::make_unique<SimDataPlane>(network, job, attempt, host, receiver), "sim:1"};
        };
      };
    }
    TaskManagerOptions worker{.registration = registration,
                              .node = {.id = "worker-" + std::to_string(registration.value),
                                       .role = "worker",
                                       .version = "sim",
                                       .slots = slots},
                              .resource_manager = resources_,
                              .launcher = std::make_shared<LocalTaskHosts>(
                                  system_, engine_, [this](JobId job) { return plans_[job]; },
                                  std::move(make_data_plane)),
                              .on_end = [ended](const Error&) { *ended = true; }};
    return {spawn_actor<TaskManagerHandle>(system_, engine_, Placement::shared, task_manager,
                                           &engine_, std::move(worker)),
            ended};
  }

  void hurt_worker(WorkerFault fault) {
    Worker& worker = workers_[random_.below(workers_.size())];
    if (fault == WorkerFault::dies) {
      caf::anon_send_exit(worker.handle, caf::exit_reason::kill);
      *worker.ended = true;
    } else {
      frozen_ = caf::actor_cast<caf::abstract_actor*>(worker.handle);
      thaw_at_ = scheduler_.clock().now() + 3 * engine_.heartbeat_timeout;
    }
  }

  void respawn_workers() {
    for (Worker& worker : workers_) {
      if (*worker.ended) worker = spawn_worker();
    }
  }

  // One message of a random actor, or a timer.
  bool step() {
    if (frozen_ != nullptr && scheduler_.clock().now() >= thaw_at_) frozen_ = nullptr;
    if (is_time_for_a_timer()) return scheduler_.trigger_timeout();
    return run_random_actor() || scheduler_.trigger_timeout();
  }

  bool is_time_for_a_timer() {
    if (!options_.steps_per_timer || random_.below(*options_.steps_per_timer) != 0) return false;
    const auto& timers = scheduler_.clock().schedule();
    return !timers.empty() &&
           timers.begin()->first <= scheduler_.clock().now() + std::chrono::seconds{1};
  }

  // After a job: whatever is under way, and what a frozen worker still has to go through.
  void settle() {
    std::uint64_t steps = 0;
    const auto until = std::max(thaw_at_, scheduler_.clock().now()) + 2 * engine_.heartbeat_timeout;
    while (++steps < steps_max) {
      respawn_workers();
      if (run_random_actor()) continue;
      if (options_.workers == 1 || scheduler_.clock().now() > until) return;
      if (!step()) return;
    }
  }

  bool run_random_actor() {
    auto& jobs = scheduler_.jobs;
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (frozen_ == nullptr || dynamic_cast<caf::abstract_actor*>(jobs[i]) != frozen_)
        able.push_back(i);
    }
    if (able.empty()) return false;
    // The test scheduler gives an actor one message and takes the next from the front.
    std::swap(jobs.front(), jobs[able[random_.below(able.size())]]);
    scheduler_.run_once();
    return true;
  }

  template <class Handle>
  void run_actor(const Handle& handle) {
    auto& jobs = scheduler_.jobs;
    const auto found = std::ranges::find_if(jobs, [&](caf::resumable* job) {
      return dynamic_cast<caf::abstract_actor*>(job) ==
             caf::actor_cast<caf::abstract_actor*>(handle);
    });
    WEIR_CHECK(found != jobs.end());
    std::iter_swap(jobs.begin(), found);
    scheduler_.run_once();
  }

  SimOptions options_;
  Random random_;
  SimConfig config_;
  EngineContext engine_;
  std::map<JobId, std::shared_ptr<const PhysicalPlan>> plans_;
  std::shared_ptr<SimNetwork> network_ = std::make_shared<SimNetwork>();
  caf::actor_system system_;
  caf::scheduler::test_coordinator& scheduler_;
  SimClock clock_;
  ResourceManagerHandle resources_;
  std::vector<Worker> workers_;
  DispatcherHandle jobs_;
  std::size_t actors_of_cluster_ = 0;
  std::uint64_t last_job_ = 0;
  std::uint64_t last_registration_ = 0;
  caf::abstract_actor* frozen_ = nullptr;
  caf::actor_clock::time_point thaw_at_{};
};

SimCluster::SimCluster(const SimOptions& options) : impl_(std::make_unique<Impl>(options)) {}
SimCluster::~SimCluster() {
  if (impl_->end()) return;
  // What a planted bug leaves behind stays, reachable, to the end of the process.
  static auto* left_behind = new std::vector<std::unique_ptr<Impl>>;
  left_behind->push_back(std::move(impl_));
}

SimResult SimCluster::run(std::shared_ptr<const PhysicalPlan> plan, WorkerFault fault,
                          std::uint64_t fault_at) {
  return impl_->run(std::move(plan), fault, fault_at);
}

testing::AssertionResult has_ended(const SimResult& result) {
  if (result.outcome) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "stuck after " << result.steps << " steps";
}

testing::AssertionResult has_ended_as(JobState state, const SimResult& result) {
  if (auto ended = has_ended(result); !ended) return ended;
  if (result.outcome->state == state) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << name_of(result.outcome->state) << ": "
         << (result.outcome->error ? result.outcome->error->message : "");
}

SimResult simulate(std::shared_ptr<const PhysicalPlan> plan, const SimOptions& options) {
  return SimCluster(options).run(std::move(plan));
}

}  // namespace weir
