// The cluster under random interleavings, failures and cancels. A failing run prints its seed;
// WEIR_SIM_SEED=N replays it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "tests/support/sim_cluster.h"

namespace weir {
namespace {

constexpr std::int64_t record_count = 300'000;
constexpr std::int64_t key_count = 50;

// Which seeds to run: one, if the environment says so.
std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* seed = std::getenv("WEIR_SIM_SEED")) return {std::strtoull(seed, nullptr, 10)};
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

// What a sink's writers and committer did, kept across the job.
struct OutputLog {
  std::int64_t rows = 0;
  std::int64_t sum = 0;
  int prepared = 0;
  int commits = 0;
  int finishes = 0;
  int aborts = 0;
  std::int64_t committed_rows = 0;
};

using Row = Keyed<std::int64_t, std::int64_t>;

class LoggingWriter final : public SinkOperator {
 public:
  explicit LoggingWriter(OutputLog* log) : log_(log) {}
  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs&) override {
    const auto& values = batch_cast<Row>(*in).values;
    for (std::size_t i = rows.begin; i < rows.end; ++i) log_->sum += values[i].value;
    written_ += static_cast<std::int64_t>(rows.end - rows.begin);
    log_->rows += static_cast<std::int64_t>(rows.end - rows.begin);
    return Progress{StepResult::done, rows.end};
  }
  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() override {
    return std::vector<Committable>{{to_bytes(written_)}};
  }

 private:
  OutputLog* log_;
  std::int64_t written_ = 0;
};

class LoggingCommitter final : public SinkCommitter {
 public:
  explicit LoggingCommitter(OutputLog* log) : log_(log) {}
  [[nodiscard]] Result<void> prepare() override {
    ++log_->prepared;
    return {};
  }
  [[nodiscard]] Result<void> commit(const std::vector<Committable>& committables) override {
    ++log_->commits;
    for (const auto& one : committables)
      log_->committed_rows += *from_bytes<std::int64_t>(one.bytes);
    return {};
  }
  [[nodiscard]] Result<void> finish() override {
    ++log_->finishes;
    return {};
  }
  void abort() override { ++log_->aborts; }

 private:
  OutputLog* log_;
};

struct LoggingSink {
  OutputLog* log;
  [[nodiscard]] std::string describe() const { return "log"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<LoggingWriter>(log);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const {
    return std::make_unique<LoggingCommitter>(log);
  }
};

// numbers → keyed rolling count → one sink; every record is a row.
std::shared_ptr<const PhysicalPlan> counting_plan(OutputLog& log, std::uint32_t parallelism,
                                                  bool chaining) {
  Job job("sim");
  job.source("numbers", from_sequence(0, record_count - 1))
      .key_by([](std::int64_t n) { return n % key_count; })
      .count("count")
      .to("log", LoggingSink{&log})
      .parallelism(1);
  auto plan = make_plan(job, {.parallelism = parallelism, .chaining = chaining});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return *plan;
}

// Per key 1 + 2 + … + records of the key.
constexpr std::int64_t expected_sum =
    key_count * (record_count / key_count) * (record_count / key_count + 1) / 2;

class FailsSometimes final : public FaultInjection {
 public:
  FailsSometimes(std::uint64_t seed, std::uint64_t one_in) : random_(seed), one_in_(one_in) {}
  [[nodiscard]] std::optional<Error> fails(TaskId) override {
    if (random_.below(one_in_) != 0) return std::nullopt;
    failed_ = true;
    return Error{Errc::user_code, "injected"};
  }
  [[nodiscard]] bool has_failed() const { return failed_; }

 private:
  Random random_;
  std::uint64_t one_in_;
  bool failed_ = false;
};

TEST(SimulatedCluster, every_interleaving_of_a_healthy_job_gives_the_same_result) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    OutputLog log;
    const auto result = simulate(counting_plan(log, 1 + seed % 4, seed % 2 == 0), {.seed = seed});
    ASSERT_TRUE(has_ended_as(JobState::finished, result));
    ASSERT_EQ(log.rows, record_count);
    ASSERT_EQ(log.sum, expected_sum);
    ASSERT_EQ(log.committed_rows, record_count);
    ASSERT_EQ(log.commits, 1);
    ASSERT_EQ(log.finishes, 1);
    ASSERT_EQ(log.aborts, 0);
    ASSERT_EQ(result.actors_left, 0U);
  }
}

TEST(SimulatedCluster, jobs_whose_tasks_fail_or_that_are_cancelled_end_in_legal_states) {
  int finished = 0;
  int failed = 0;
  int canceled = 0;
  for (const std::uint64_t seed : seeds(400)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    OutputLog log;
    Random random(seed);
    FailsSometimes faults(seed, seed % 3 == 0 ? 100 : 1'000'000);
    SimOptions options{.seed = seed, .faults = &faults};
    if (seed % 3 == 1) options.cancel_at_step = random.below(1000);
    const auto result = simulate(counting_plan(log, 1 + seed % 4, seed % 2 == 0), options);
    ASSERT_TRUE(has_ended(result));
    switch (result.outcome->state) {
      case JobState::finished:
        ++finished;
        ASSERT_EQ(log.committed_rows, record_count);
        ASSERT_EQ(log.commits, 1);
        ASSERT_EQ(log.aborts, 0);
        break;
      case JobState::failed:
        ++failed;
        ASSERT_TRUE(faults.has_failed());
        ASSERT_EQ(result.outcome->error->message, "injected");
        ASSERT_EQ(log.commits, 0);
        ASSERT_EQ(log.finishes, 0);
        ASSERT_EQ(log.aborts, log.prepared);
        break;
      case JobState::canceled:
        ++canceled;
        ASSERT_TRUE(options.cancel_at_step.has_value());
        ASSERT_EQ(log.commits, 0);
        ASSERT_EQ(log.finishes, 0);
        ASSERT_EQ(log.aborts, log.prepared);
        break;
      default:
        FAIL() << "ended in " << name_of(result.outcome->state);
    }
    ASSERT_EQ(result.actors_left, 0U);
  }
  if (std::getenv("WEIR_SIM_SEED") != nullptr) return;
  EXPECT_GT(finished, 100);
  EXPECT_GT(failed, 30);
  EXPECT_GT(canceled, 30);
}

TEST(SimulatedCluster, the_same_seed_gives_the_same_run) {
  OutputLog first;
  OutputLog second;
  const auto a = simulate(counting_plan(first, 3, true), {.seed = 7});
  const auto b = simulate(counting_plan(second, 3, true), {.seed = 7});
  EXPECT_EQ(a.steps, b.steps);
  const auto c = simulate(counting_plan(second, 3, true), {.seed = 8});
  EXPECT_NE(a.steps, c.steps);
}

TEST(SimulatedCluster, a_job_that_needs_more_slots_than_there_are_fails_when_its_time_is_up) {
  OutputLog log;
  const auto result = simulate(counting_plan(log, 4, true), {.seed = 1, .slots = 2});
  ASSERT_TRUE(result.outcome.has_value());
  EXPECT_EQ(result.outcome->state, JobState::failed);
  EXPECT_EQ(result.outcome->error->code, Errc::not_enough_slots);
  EXPECT_NE(result.outcome->error->message.find("4 slots (2 free of 2)"), std::string::npos);
  EXPECT_EQ(log.prepared, 0);
}

// Not after the time that the deployment may take: who is to be deployed to is dead.
TEST(SimulatedCluster, a_worker_that_dies_while_the_job_comes_up_fails_it_at_once) {
  int failed = 0;
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    OutputLog log;
    SimCluster cluster({.seed = seed, .slots = 4, .workers = 2});
    const auto hurt =
        cluster.run(counting_plan(log, 4, false), WorkerFault::dies, Random(seed).below(80));
    ASSERT_TRUE(has_ended(hurt));
    if (hurt.outcome->state == JobState::finished) continue;
    ++failed;
    ASSERT_THAT(hurt.outcome->error->message,
                testing::Not(testing::HasSubstr("did not all start")));
  }
  EXPECT_TRUE(failed > 50 || std::getenv("WEIR_SIM_SEED") != nullptr) << failed;
}

// Two or three workers: hosts exchange frames, and one worker dies, or freezes for so long that it is given up, at a
// random moment. Afterwards the cluster must be whole again: another job of all its slots finishes.
TEST(SimulatedCluster, a_worker_that_dies_or_freezes_fails_its_job_and_leaves_a_whole_cluster) {
  int finished = 0;
  int failed = 0;
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    Random random(seed);
    const std::uint32_t workers = 2 + seed % 2;
    SimCluster cluster({.seed = seed, .slots = 2 * workers, .workers = workers});
    const auto fault = seed % 4 < 2 ? WorkerFault::dies : WorkerFault::freezes;
    OutputLog first;
    const auto hurt =
        cluster.run(counting_plan(first, 2 * workers, seed % 2 == 0), fault, random.below(1500));
    ASSERT_TRUE(has_ended(hurt));
    if (hurt.outcome->state == JobState::finished) {
      ++finished;
      ASSERT_EQ(first.committed_rows, record_count);
    } else {
      ++failed;
      ASSERT_EQ(hurt.outcome->state, JobState::failed);
      ASSERT_EQ(first.commits, 0);
      const Errc code = hurt.outcome->error->code;
      ASSERT_TRUE(code == Errc::actor_lost || code == Errc::timeout || code == Errc::process_lost ||
                  code == Errc::not_enough_slots)
          << hurt.outcome->error->message;
    }
    OutputLog second;
    const auto whole = cluster.run(counting_plan(second, 2 * workers, seed % 2 == 0));
    ASSERT_TRUE(has_ended_as(JobState::finished, whole));
    ASSERT_EQ(second.committed_rows, record_count);
    ASSERT_EQ(second.sum, expected_sum);
    ASSERT_EQ(whole.actors_left, 0U);
  }
  if (std::getenv("WEIR_SIM_SEED") != nullptr) return;
  EXPECT_GT(finished, 10);
  EXPECT_GT(failed, 50);
}

TEST(SimulatedCluster, every_interleaving_over_several_workers_gives_the_same_result) {
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    OutputLog log;
    const auto result = simulate(counting_plan(log, 4, seed % 2 == 0),
                                 {.seed = seed, .slots = 4, .workers = seed % 2 == 0 ? 2U : 4U});
    ASSERT_TRUE(has_ended_as(JobState::finished, result));
    ASSERT_EQ(log.committed_rows, record_count);
    ASSERT_EQ(log.sum, expected_sum);
    ASSERT_EQ(result.actors_left, 0U);
  }
}

// Planted bugs: the simulation must be able to find them.
class LosesCredit final : public FaultInjection {
 public:
  explicit LosesCredit(std::uint64_t seed) : random_(seed) {}
  [[nodiscard]] bool loses_credit(const ReturnCredit&) override { return random_.below(10) == 0; }

 private:
  Random random_;
};

class LosesAcknowledgement final : public FaultInjection {
 public:
  explicit LosesAcknowledgement(std::uint64_t seed) : random_(seed) {}
  [[nodiscard]] bool loses_acknowledgement(const TaskChanged&) override {
    return random_.below(50) == 0;
  }

 private:
  Random random_;
};

template <class Bug>
std::optional<std::uint64_t> seed_that_finds() {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    OutputLog log;
    Bug bug(seed);
    const auto result =
        simulate(counting_plan(log, 1 + seed % 4, seed % 2 == 0), {.seed = seed, .faults = &bug});
    if (!result.outcome || result.outcome->state != JobState::finished) return seed;
  }
  return std::nullopt;
}

TEST(SimulatedCluster, finds_a_credit_leak_within_200_seeds) {
  EXPECT_TRUE(seed_that_finds<LosesCredit>().has_value());
}

TEST(SimulatedCluster, finds_a_lost_acknowledgement_within_200_seeds) {
  EXPECT_TRUE(seed_that_finds<LosesAcknowledgement>().has_value());
}

// A duplicate of a deployment is harmless, unless the TaskHost forgets what it has deployed.
class DuplicatesDeployments : public FaultInjection {
 public:
  [[nodiscard]] bool duplicates(const DeployTasks&) override { return true; }
};
class DeploysTwice final : public DuplicatesDeployments {
 public:
  [[nodiscard]] bool forgets_what_it_deployed() override { return true; }
};

// Whether a job went as it should on two workers, and left nothing behind.
bool runs_well(std::uint64_t seed, FaultInjection& faults) {
  OutputLog log;
  const auto result = simulate(counting_plan(log, 4, seed % 2 == 0),
                               {.seed = seed, .slots = 4, .workers = 2, .faults = &faults});
  return result.outcome && result.outcome->state == JobState::finished &&
         log.committed_rows == record_count && log.sum == expected_sum && result.actors_left == 0;
}

TEST(SimulatedCluster, a_deployment_told_twice_is_done_once) {
  for (const std::uint64_t seed : seeds(20)) {
    DuplicatesDeployments faults;
    EXPECT_TRUE(runs_well(seed, faults)) << "WEIR_SIM_SEED=" << seed;
  }
}

TEST(SimulatedCluster, finds_a_double_deployment_within_200_seeds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    DeploysTwice bug;
    if (!runs_well(seed, bug)) return;
  }
  FAIL();
}

// A worker that was given up and is taken for a current one never learns that it must register anew.
class IgnoresRegistrations final : public FaultInjection {
 public:
  [[nodiscard]] bool ignores_registrations() override { return true; }
};

TEST(SimulatedCluster, finds_a_missing_check_of_registrations_within_200_seeds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    IgnoresRegistrations bug;
    Random random(seed);
    SimCluster cluster({.seed = seed, .slots = 4, .workers = 2, .faults = &bug});
    OutputLog first;
    (void)cluster.run(counting_plan(first, 4, true), WorkerFault::freezes, random.below(500));
    OutputLog second;
    const auto result = cluster.run(counting_plan(second, 4, true));
    if (!result.outcome || result.outcome->state != JobState::finished) return;
  }
  FAIL();
}

}  // namespace
}  // namespace weir
