// Sources that wait for each other, under random interleavings, failures and losses. A failing run prints its seed; WEIR_SIM_SEED=N
// replays it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "dataflow/connectors/index_reader.h"
#include "snapshot/memory_snapshot_storage.h"
#include "tests/support/sim_cluster.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t span_ms = 20'000;  // that each source has
constexpr Duration drift{2000};

std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* seed = std::getenv("WEIR_SIM_SEED")) return {std::strtoull(seed, nullptr, 10)};
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

// A number, `step_ms` later than the one before it; one a poll.
class SteppingReader final : public IndexReader {
 public:
  explicit SteppingReader(std::int64_t step_ms) : step_ms_(step_ms) {}

 protected:
  [[nodiscard]] Result<Poll> read(IndexSplit& split, Outputs& out) override {
    out.port<std::int64_t>().push(static_cast<std::int64_t>(split.next) * step_ms_);
    advance(split, 1);
    return Poll{PollResult::more};
  }

 private:
  std::int64_t step_ms_;
};

struct SteppingSource {
  using value_type = std::int64_t;
  std::int64_t step_ms;

  [[nodiscard]] std::string describe() const { return "steps"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return enumerate_list([count = span_ms / step_ms](std::uint32_t) -> Result<SplitList> {
      return strided_index_splits(static_cast<std::uint64_t>(count), 1);
    });
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<SteppingReader>(step_ms);
  }
};

// What has been read, of the fast source and the slow one.
struct Race {
  static constexpr std::int64_t fast_ms = 500;
  static constexpr std::int64_t slow_ms = 50;

  std::int64_t slow_at = -1;
  std::int64_t furthest_ahead = 0;  // of the fast one

  // A source that has ended holds nobody.
  void slow_reads(std::int64_t at) {
    slow_at = at + slow_ms < span_ms ? std::max(slow_at, at) : span_ms;
  }
  void fast_reads(std::int64_t at) { furthest_ahead = std::max(furthest_ahead, at - slow_at); }
  // Beyond what the group allows it gets by one poll.
  static constexpr std::int64_t ahead_max = drift.count() + fast_ms;
};

// Two pipelines that have nothing to do with each other but the group; so each restarts alone.
std::shared_ptr<const PhysicalPlan> racing_plan(Race& race, bool aligned) {
  const auto strategy = [aligned] {
    return aligned ? monotonous().with_alignment("race", drift, 100ms) : monotonous();
  };
  Job job("sim");
  job.source("fast", SteppingSource{Race::fast_ms})
      .event_time(
          [&race](std::int64_t ms) {
            race.fast_reads(ms);
            return EventTime{ms};
          },
          strategy())
      .to("fast out", discard());
  job.source("slow", SteppingSource{Race::slow_ms})
      .event_time(
          [&race](std::int64_t ms) {
            race.slow_reads(ms);
            return EventTime{ms};
          },
          strategy())
      .to("slow out", discard());
  auto plan = make_plan(job, {.parallelism = 1});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return *plan;
}

// Loses messages, and fails tasks.
class Trouble : public FaultInjection {
 public:
  Trouble(std::uint64_t seed, std::uint64_t loses_one_in, int failures)
      : random_(seed), loses_one_in_(loses_one_in), failures_left_(failures) {}
  [[nodiscard]] bool loses_report(const ReportWatermarks&) override { return loses(); }
  [[nodiscard]] bool loses_answer(const AlignWatermarks&) override { return loses(); }
  [[nodiscard]] std::optional<Error> fails(TaskId) override {
    if (failures_left_ == 0 || random_.below(40) != 0) return std::nullopt;
    --failures_left_;
    return Error{Errc::user_code, "injected"};
  }
  [[nodiscard]] int failures_left() const { return failures_left_; }

 private:
  bool loses() { return loses_one_in_ > 0 && random_.below(loses_one_in_) == 0; }

  Random random_;
  std::uint64_t loses_one_in_;
  int failures_left_;
};

SimResult run(Race& race, std::uint64_t seed, FaultInjection* faults = nullptr,
              bool aligned = true) {
  JobSettings settings;
  settings.checkpoints.interval = Duration{250};
  settings.checkpoints.directory = "/sim";
  settings.restarts = FixedDelayRestart{.attempts = 1'000, .delay = Duration{300}};
  SimCluster cluster({.seed = seed,
                      .workers = 1 + static_cast<std::uint32_t>(seed % 2),
                      .faults = faults,
                      .settings = settings,
                      .snapshot_storage = std::make_shared<MemorySnapshotStorage>()});
  return cluster.run(racing_plan(race, aligned));
}

TEST(SimulatedAlignment,
     a_fast_source_never_gets_ahead_of_a_slow_one_by_more_than_the_drift_and_a_poll) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    Race race;
    ASSERT_TRUE(has_ended_as(JobState::finished, run(race, seed)));
    ASSERT_LE(race.furthest_ahead, Race::ahead_max);
    ASSERT_GE(race.furthest_ahead, Race::fast_ms) << "yet it is not held to the other's step";
  }
}

// What shows that the test above can fail.
TEST(SimulatedAlignment, without_it_a_fast_source_gets_ahead) {
  std::int64_t furthest = 0;
  for (const std::uint64_t seed : seeds(10)) {
    Race race;
    ASSERT_TRUE(has_ended_as(JobState::finished, run(race, seed, nullptr, false)));
    furthest = std::max(furthest, race.furthest_ahead);
  }
  EXPECT_GT(furthest, Race::ahead_max);
}

TEST(SimulatedAlignment, reports_and_answers_that_are_lost_delay_but_stop_nobody) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    Trouble trouble(seed, 3, 0);
    Race race;
    ASSERT_TRUE(has_ended_as(JobState::finished, run(race, seed, &trouble)));
    ASSERT_LE(race.furthest_ahead, Race::ahead_max);
  }
}

TEST(SimulatedAlignment,
     a_source_that_fails_and_begins_again_holds_the_others_only_until_it_has_caught_up) {
  int failures = 0;
  for (const std::uint64_t seed : seeds(100)) {
    SCOPED_TRACE("WEIR_SIM_SEED=" + std::to_string(seed));
    Trouble trouble(seed, 0, 3);
    Race race;
    ASSERT_TRUE(has_ended_as(JobState::finished, run(race, seed, &trouble)));
    ASSERT_LE(race.furthest_ahead, Race::ahead_max);
    failures += 3 - trouble.failures_left();
  }
  if (std::getenv("WEIR_SIM_SEED") != nullptr) return;
  EXPECT_GT(failures, 50);
}

}  // namespace
}  // namespace weir
