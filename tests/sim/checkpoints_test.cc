// Checkpoints and restarts under random interleavings and failures. A failing run prints its seed; WEIR_SIM_SEED=N
// replays it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "dataflow/connectors/index_reader.h"
#include "snapshot/memory_snapshot_storage.h"
#include "tests/sim/ledger.h"
#include "tests/sim/random_faults.h"
#include "tests/support/sim_cluster.h"

namespace weir {
namespace {

constexpr std::uint64_t record_count = 3'000;
constexpr std::uint64_t key_count = 13;
using Row = Keyed<std::uint64_t, std::int64_t>;
using CountLedger = Ledger<std::pair<std::uint64_t, std::int64_t>>;

// A source that takes three seconds → keyed rolling count → sinks.
std::shared_ptr<const PhysicalPlan> counting_plan(CountLedger& ledger, std::uint32_t parallelism,
                                                  bool chaining) {
  Job job("sim");
  job.source("numbers", generator([](std::uint64_t i) { return i; },
                                  {.count = record_count, .records_per_second = 1'000.0}))
      .key_by([](std::uint64_t n) { return n % key_count; })
      .count("count")
      .to("ledger", LedgerSink{&ledger});
  auto plan = make_plan(job, {.parallelism = parallelism, .chaining = chaining});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return *plan;
}

// Each key's counts from 1 on, once each.
testing::AssertionResult is_exact(const CountLedger& ledger) {
  if (ledger.commits_what_is_not_durable)
    return testing::AssertionFailure() << "something was committed that was not durable";
  if (ledger.rows.size() != record_count)
    return testing::AssertionFailure() << ledger.rows.size() << " different rows";
  for (const auto& [row, times] : ledger.rows) {
    const std::int64_t of_key =
        static_cast<std::int64_t>((record_count - 1 - row.first) / key_count + 1);
    if (times != 1 || row.second < 1 || row.second > of_key) {
      return testing::AssertionFailure()
             << "key " << row.first << ", count " << row.second << ", " << times << " times";
    }
  }
  return testing::AssertionSuccess();
}

// Numbers in splits of a few, so that readers ask for one all the time, also while barriers are under way.
class FewNumbersReader final : public IndexReader {
 protected:
  [[nodiscard]] Result<Poll> read(IndexSplit& split, Outputs& out) override {
    out.port<std::uint64_t>().push(std::uint64_t{split.next});
    advance(split, 1);
    return Poll{PollResult::more};
  }
};

struct ManySplits {
  using value_type = std::uint64_t;
  static constexpr std::uint64_t records_per_split = 4;

  [[nodiscard]] std::string describe() const { return "many splits"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return enumerate_list([](std::uint32_t) -> Result<SplitList> {
      return contiguous_index_splits(record_count, record_count / records_per_split);
    });
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<FewNumbersReader>();
  }
};

std::shared_ptr<const PhysicalPlan> many_splits_plan(CountLedger& ledger, std::uint32_t parallelism,
                                                     bool chaining) {
  Job job("sim");
  job.source("numbers", ManySplits{})
      .key_by([](std::uint64_t n) { return n % key_count; })
      .count("count")
      .to("ledger", LedgerSink{&ledger});
  auto plan = make_plan(job, {.parallelism = parallelism, .chaining = chaining});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return *plan;
}

struct SimRun {
  SimResult result;
  CountLedger ledger;
};

// The job is busy all the time, so timers come among its steps.
void run_many_splits(std::uint64_t seed, FaultInjection* faults, SimRun& run) {
  Random random(seed);
  JobSettings settings = settings_for(random);
  settings.checkpoints.interval = Duration{10 + static_cast<int>(random.below(40))};
  SimCluster cluster({.seed = seed,
                      .faults = faults,
                      .steps_per_timer = 50 + random.below(200),
                      .settings = settings,
                      .snapshot_storage = std::make_shared<MemorySnapshotStorage>()});
  run.result = cluster.run(many_splits_plan(
      run.ledger, 1 + static_cast<std::uint32_t>(random.below(3)), random.below(2) == 0));
}

void run_one(std::uint64_t seed, std::uint32_t workers, FaultInjection* faults, WorkerFault fault,
             SimRun& run) {
  Random random(seed);
  const JobSettings settings = settings_for(random);
  SimCluster cluster({.seed = seed,
                      .workers = workers,
                      .faults = faults,
                      .settings = settings,
                      .snapshot_storage = std::make_shared<MemorySnapshotStorage>()});
  const std::uint64_t at = 50 + random.below(3'000);
  run.result =
      cluster.run(counting_plan(run.ledger, 1 + static_cast<std::uint32_t>(random.below(3)),
                                random.below(2) == 0),
                  fault, at);
}

TEST(SimulatedCheckpoints, commit_each_row_once_when_tasks_fail_at_any_step) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FailsNowAndThen faults(seed, 5);
    SimRun run;
    run_one(seed, 1, &faults, WorkerFault::none, run);
    ASSERT_TRUE(has_ended_as(JobState::finished, run.result));
    ASSERT_TRUE(is_exact(run.ledger));
  }
}

TEST(SimulatedCheckpoints, commit_each_row_once_when_workers_die_or_freeze) {
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FailsNowAndThen faults(seed, 2);
    SimRun run;
    run_one(seed, 2, &faults, seed % 2 == 0 ? WorkerFault::dies : WorkerFault::freezes, run);
    ASSERT_TRUE(has_ended_as(JobState::finished, run.result));
    ASSERT_TRUE(is_exact(run.ledger));
  }
}

TEST(SimulatedCheckpoints, commit_each_row_once_when_splits_and_barriers_cross) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FailsNowAndThen faults(seed, 5);
    SimRun run;
    run_many_splits(seed, &faults, run);
    ASSERT_TRUE(has_ended_as(JobState::finished, run.result));
    ASSERT_TRUE(is_exact(run.ledger));
  }
}

// One task fails when so many have acknowledged the first checkpoint.
class FailsOnceAcknowledged final : public FaultInjection {
 public:
  explicit FailsOnceAcknowledged(std::uint64_t acknowledgements)
      : acknowledgements_(acknowledgements) {}
  [[nodiscard]] bool loses_checkpoint_acknowledgement(const AcknowledgeCheckpoint& m) override {
    if (m.checkpoint == CheckpointId{1} && acknowledgements_ > 0) --acknowledgements_;
    return false;
  }
  [[nodiscard]] std::optional<Error> fails(TaskId) override {
    if (acknowledgements_ > 0 || std::exchange(has_failed_, true)) return std::nullopt;
    return Error{Errc::user_code, "injected"};
  }

 private:
  std::uint64_t acknowledgements_;
  bool has_failed_ = false;
};

// It must not complete any more when the output that it refers to is removed.
TEST(SimulatedCheckpoints, commit_each_row_once_when_a_task_fails_while_the_first_is_stored) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FailsOnceAcknowledged fault(2);
    SimRun run;
    Random random(seed);
    SimCluster cluster({.seed = seed,
                        .faults = &fault,
                        .settings = settings_for(random),
                        .snapshot_storage = std::make_shared<MemorySnapshotStorage>()});
    run.result = cluster.run(counting_plan(run.ledger, 1, false));
    ASSERT_TRUE(has_ended_as(JobState::finished, run.result));
    ASSERT_TRUE(is_exact(run.ledger));
  }
}

TEST(SimulatedCheckpoints, commit_each_row_once_when_output_cannot_be_synced_now_and_then) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FailsNowAndThen faults(seed, 1);
    SimRun run;
    run.ledger.syncs_that_fail = 3;
    run_one(seed, 1, &faults, WorkerFault::none, run);
    ASSERT_TRUE(has_ended_as(JobState::finished, run.result));
    ASSERT_LT(run.ledger.syncs_that_fail, 3);
    ASSERT_TRUE(is_exact(run.ledger));
  }
}

struct Traveller {
  std::uint64_t number = 0;
  std::uint64_t rounds_left = 0;
};

// Numbers that are all there at once and then go round a loop for long, from subtask to subtask.
std::shared_ptr<const PhysicalPlan> loop_plan(CountLedger& ledger, std::uint32_t parallelism,
                                              bool chaining) {
  struct Travel {
    void on_element(const Traveller& one, KeyedContext<std::uint64_t, Traveller>& ctx) {
      ctx.emit({one.number, one.rounds_left - 1});
    }
  };
  Job job("sim");
  job.source("numbers", generator([](std::uint64_t i) { return i; }, {.count = record_count}))
      .map([](std::uint64_t i) {
        return Traveller{i, 50 + i % 50};
      })
      .iterate("loop",
               [](Stream<Traveller> in) {
                 auto moved = in.key_by([](const Traveller& one) {
                                  return one.rounds_left;
                                }).process("travel", Travel{});
                 return LoopEnds{
                     moved.filter([](const Traveller& one) { return one.rounds_left > 0; }),
                     moved.filter([](const Traveller& one) { return one.rounds_left == 0; })};
               })
      .map([](const Traveller& one) {
        return Row{one.number, 1};
      })
      .to("ledger", LedgerSink{&ledger});
  auto plan = make_plan(job, {.parallelism = parallelism, .chaining = chaining});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return *plan;
}

// And says which checkpoints tasks have taken part in that are no sources.
struct CountsCheckpoints final : FaultInjection {
  CountsCheckpoints(std::uint64_t seed, int failures) : faults(seed, failures) {}
  [[nodiscard]] std::optional<Error> fails(TaskId task) override { return faults.fails(task); }
  [[nodiscard]] bool loses_checkpoint_acknowledgement(
      const AcknowledgeCheckpoint& acknowledgement) override {
    if (acknowledgement.task.vertex > VertexId{0}) checkpoints.insert(acknowledgement.checkpoint);
    return false;
  }
  FailsNowAndThen faults;
  std::set<CheckpointId> checkpoints;
};

TEST(SimulatedCheckpoints, go_on_in_a_loop_whose_input_has_ended_and_commit_each_row_once) {
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    JobSettings settings = settings_for(random);
    settings.checkpoints.interval = Duration{10};
    CountsCheckpoints faults(seed, seed % 4 == 0 ? 0 : 5);
    SimRun run;
    SimCluster cluster({.seed = seed,
                        .faults = &faults,
                        .steps_per_timer = 50,
                        .settings = settings,
                        .snapshot_storage = std::make_shared<MemorySnapshotStorage>()});
    run.result = cluster.run(loop_plan(run.ledger, 1 + static_cast<std::uint32_t>(random.below(3)),
                                       random.below(2) == 0));
    ASSERT_TRUE(has_ended_as(JobState::finished, run.result));
    ASSERT_TRUE(is_exact(run.ledger));
    EXPECT_GT(faults.checkpoints.size(), 5U);
  }
}

// Most steps of these jobs are heartbeats while they wait for a restart.
TEST(SimulatedCheckpoints, leave_nothing_when_the_job_is_cancelled_at_any_step) {
  std::uint64_t cancelled = 0;
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    JobSettings settings = settings_for(random);
    settings.restarts = FixedDelayRestart{.attempts = 1'000, .delay = Duration{60'000}};
    FailsNowAndThen faults(seed, 50);
    const auto storage = std::make_shared<MemorySnapshotStorage>();
    SimRun run;
    SimCluster cluster({.seed = seed,
                        .workers = 2,
                        .faults = &faults,
                        .cancel_at_step = random.below(6'000),
                        .settings = settings,
                        .snapshot_storage = storage});
    run.result =
        cluster.run(counting_plan(run.ledger, 1 + static_cast<std::uint32_t>(random.below(3)),
                                  random.below(2) == 0),
                    seed % 2 == 0 ? WorkerFault::none : WorkerFault::dies, random.below(3'000));
    ASSERT_TRUE(has_ended(run.result));
    if (run.result.outcome->state == JobState::canceled) ++cancelled;
    EXPECT_FALSE(run.ledger.is_open) << "nobody has removed the output";
    EXPECT_THAT(storage->files(), testing::IsEmpty());
  }
  EXPECT_TRUE(cancelled > 100 || std::getenv("WEIR_SIM_SEED") != nullptr) << cancelled;
}

struct SlowDisk final : FaultInjection {
  explicit SlowDisk(std::uint64_t seed) : random_(seed) {}
  [[nodiscard]] bool delays_writing() override { return random_.below(50) != 0; }

 private:
  Random random_;
};

// A checkpoint is under way nearly all the time.
TEST(SimulatedCheckpoints, leave_no_file_that_is_being_written_when_the_job_is_cancelled) {
  for (const std::uint64_t seed : seeds(200)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    JobSettings settings = settings_for(random);
    settings.checkpoints.interval = Duration{10};
    settings.checkpoints.inline_threshold_bytes = 0;
    const auto storage = std::make_shared<MemorySnapshotStorage>();
    SlowDisk disk(seed);
    SimRun run;
    SimCluster cluster({.seed = seed,
                        .faults = &disk,
                        .cancel_at_step = 200 + random.below(2'000),
                        .steps_per_timer = 20,
                        .settings = settings,
                        .snapshot_storage = storage});
    run.result = cluster.run(many_splits_plan(run.ledger, 2, random.below(2) == 0));
    ASSERT_TRUE(has_ended_as(JobState::canceled, run.result));
    EXPECT_THAT(storage->files(), testing::IsEmpty());
  }
}

struct SilentStorage final : FailsNowAndThen {
  explicit SilentStorage(std::uint64_t seed) : FailsNowAndThen(seed, 3) {}
  [[nodiscard]] bool loses_found_checkpoints() override { return true; }
};

TEST(SimulatedCheckpoints, end_a_job_whose_storage_does_not_answer_naming_it) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SilentStorage faults(seed);
    SimRun run;
    run_one(seed, 2, &faults, seed % 2 == 0 ? WorkerFault::none : WorkerFault::dies, run);
    ASSERT_TRUE(has_ended_as(JobState::failed, run.result));
    EXPECT_THAT(run.result.outcome->error->message, testing::HasSubstr("has not answered within"));
  }
}

template <class Run>
bool is_found_within_200_seeds(Run run_seed) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimRun run;
    run_seed(seed, run);
    const bool well = run.result.outcome && run.result.outcome->state == JobState::finished;
    if (!well || !is_exact(run.ledger)) return true;
  }
  return false;
}

template <class Bug>
bool is_found_within_200_seeds() {
  return is_found_within_200_seeds([](std::uint64_t seed, SimRun& run) {
    Bug bug(seed);
    run.ledger.tells_commits_apart = Bug::tells_commits_apart;
    run_one(seed, 1, &bug, WorkerFault::none, run);
  });
}

struct CommitsTwice final : FailsNowAndThen {
  static constexpr bool tells_commits_apart = false;
  explicit CommitsTwice(std::uint64_t seed) : FailsNowAndThen(seed, 0) {}
  [[nodiscard]] bool commits_twice() override { return true; }
};
TEST(SimulatedCheckpoints, find_a_double_commit) {
  EXPECT_TRUE(is_found_within_200_seeds<CommitsTwice>());
}

struct RestoresTheOneBefore final : FailsNowAndThen {
  static constexpr bool tells_commits_apart = true;
  explicit RestoresTheOneBefore(std::uint64_t seed) : FailsNowAndThen(seed, 3) {}
  [[nodiscard]] bool restores_the_one_before() override { return true; }
};
TEST(SimulatedCheckpoints, find_a_stale_restore) {
  EXPECT_TRUE(is_found_within_200_seeds<RestoresTheOneBefore>());
}

// It would be in the snapshots of both the enumerator and the reader, and be read twice.
struct SplitsOvertakeBarriers final : FailsNowAndThen {
  explicit SplitsOvertakeBarriers(std::uint64_t seed) : FailsNowAndThen(seed, 5) {}
  [[nodiscard]] bool splits_overtake_barriers() override { return true; }
};
TEST(SimulatedCheckpoints, find_a_split_that_overtakes_a_barrier) {
  EXPECT_TRUE(is_found_within_200_seeds([](std::uint64_t seed, SimRun& run) {
    SplitsOvertakeBarriers bug(seed);
    run_many_splits(seed, &bug, run);
  }));
}

struct AcknowledgesWhatIsNotDurable final : FailsNowAndThen {
  static constexpr bool tells_commits_apart = true;
  explicit AcknowledgesWhatIsNotDurable(std::uint64_t seed) : FailsNowAndThen(seed, 0) {}
  [[nodiscard]] bool acknowledges_what_is_not_durable() override { return true; }
};
TEST(SimulatedCheckpoints, find_output_that_is_committed_before_it_is_durable) {
  EXPECT_TRUE(is_found_within_200_seeds<AcknowledgesWhatIsNotDurable>());
}

// Checkpoints time out, which is not tolerated; the job never gets on.
struct LosesAcknowledgements final : FailsNowAndThen {
  static constexpr bool tells_commits_apart = true;
  explicit LosesAcknowledgements(std::uint64_t seed) : FailsNowAndThen(seed, 3) {}
  [[nodiscard]] bool loses_checkpoint_acknowledgement(const AcknowledgeCheckpoint&) override {
    return true;
  }
};
TEST(SimulatedCheckpoints, find_a_lost_acknowledgement) {
  EXPECT_TRUE(is_found_within_200_seeds<LosesAcknowledgements>());
}

}  // namespace
}  // namespace weir
