// Jobs with windows, joins, requests and loops give the rows that they give undisturbed, when tasks fail, workers die or freeze, and
// messages are late. A failing run prints its seed; WEIR_SIM_SEED=N replays it.
#include "tests/jobs/golden_time.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "snapshot/memory_snapshot_storage.h"
#include "tests/jobs/jobs_of_time.h"
#include "tests/sim/ledger.h"
#include "tests/sim/random_faults.h"
#include "tests/support/sim_cluster.h"

namespace weir {
namespace {

using TextLedger = Ledger<std::string>;

constexpr std::uint64_t record_count = 1'000;
constexpr double records_per_second = 500.0;

// Answers each third question only when it is asked again.
struct AskAgain {
  std::set<std::uint64_t> asked{};

  void operator()(std::uint64_t number, AsyncResult<Answer> result) {
    if (number % 3 == 0 && asked.insert(number).second) return result.fail("busy");
    result.complete({number, number * number});
  }
};

struct Shape {
  std::uint32_t parallelism = 1;
  bool chaining = true;
};

std::shared_ptr<const PhysicalPlan> plan_of(Job& job, Shape shape) {
  auto plan = make_plan(job, {.parallelism = shape.parallelism, .chaining = shape.chaining});
  EXPECT_TRUE(plan.has_value()) << plan.error().message;
  return *plan;
}

template <class Make>
auto generated(Job& job, const std::string& name, Make make) {
  return job.source(
      name, generator(make, {.count = record_count, .records_per_second = records_per_second}));
}

std::shared_ptr<const PhysicalPlan> golden_plan(const std::string& which, TextLedger& ledger,
                                                Shape shape) {
  Job job("sim");
  describe_golden_time(
      which, [&job](const std::string& name, auto make) { return generated(job, name, make); },
      [&ledger](const auto& rows) { rows.to("ledger", LedgerSink{&ledger}); }, AskAgain{},
      {.attempts = 2, .delay = Duration{30}});
  return plan_of(job, shape);
}

// Runs a plan, made by make_plan(ledger, shape), with what the seed says.
template <class MakePlan>
SimResult run_disturbed(std::uint64_t seed, FaultInjection& faults, MakePlan make_plan,
                        TextLedger& ledger) {
  Random random(seed);
  const auto workers = static_cast<std::uint32_t>(1 + random.below(2));
  SimOptions options{.seed = seed,
                     .workers = workers,
                     .faults = &faults,
                     .settings = settings_for(random),
                     .snapshot_storage = std::make_shared<MemorySnapshotStorage>()};
  if (random.below(2) == 0) options.steps_per_timer = 50 + random.below(200);
  const Shape shape{1 + static_cast<std::uint32_t>(random.below(3)), random.below(2) == 0};
  const auto fault = workers == 1 ? WorkerFault::none : static_cast<WorkerFault>(random.below(3));
  SimCluster cluster(options);
  return cluster.run(make_plan(ledger, shape), fault, 50 + random.below(2'000));
}

template <class MakePlan>
void run_undisturbed(MakePlan make_plan, TextLedger& ledger) {
  SimCluster cluster({});
  ASSERT_TRUE(has_ended_as(JobState::finished, cluster.run(make_plan(ledger, Shape{}))));
  ASSERT_FALSE(ledger.rows.empty());
}

class SimulatedGoldenJob : public testing::TestWithParam<std::string> {};

TEST_P(SimulatedGoldenJob, gives_the_rows_of_an_undisturbed_run) {
  const auto make_plan = [](TextLedger& ledger, Shape shape) {
    return golden_plan(GetParam(), ledger, shape);
  };
  TextLedger expected;
  ASSERT_NO_FATAL_FAILURE(run_undisturbed(make_plan, expected));
  for (const std::uint64_t seed : seeds(25)) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", WEIR_SIM_SEED=" + std::to_string(seed));
    FailsNowAndThen faults(seed, 4);
    TextLedger ledger;
    ASSERT_TRUE(has_ended_as(JobState::finished, run_disturbed(seed, faults, make_plan, ledger)));
    ASSERT_FALSE(ledger.commits_what_is_not_durable);
    ASSERT_EQ(ledger.rows, expected.rows);
  }
}

struct RestoresTheOneBefore final : FailsNowAndThen {
  using FailsNowAndThen::FailsNowAndThen;
  [[nodiscard]] bool restores_the_one_before() override { return true; }
};

TEST_P(SimulatedGoldenJob, finds_a_stale_restore) {
  const auto make_plan = [](TextLedger& ledger, Shape shape) {
    return golden_plan(GetParam(), ledger, shape);
  };
  TextLedger expected;
  ASSERT_NO_FATAL_FAILURE(run_undisturbed(make_plan, expected));
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    RestoresTheOneBefore faults(seed, 4);
    TextLedger ledger;
    const SimResult result = run_disturbed(seed, faults, make_plan, ledger);
    if (!has_ended_as(JobState::finished, result) || ledger.rows != expected.rows) return;
  }
  FAIL() << "100 seeds restored an older checkpoint, and nobody has seen it";
}

INSTANTIATE_TEST_SUITE_P(EachOf, SimulatedGoldenJob,
                         testing::ValuesIn(std::vector<std::string>(jobs_of_time.begin(),
                                                                    jobs_of_time.end())),
                         [](const auto& test) { return test.param; });

// --- Joins of changelogs: which changes come depends on which side is faster, what they amount to does not.

struct Stock {
  std::uint32_t item = 0;
  std::uint64_t amount = 0;
};
struct Wish {
  std::uint32_t item = 0;
  std::uint64_t number = 0;
};
struct Served {
  std::uint64_t number = 0;
  std::optional<std::uint64_t> amount;
};

// Each record takes back what the 60th before it has added, of the same item; both are made by the same reader.
std::shared_ptr<const PhysicalPlan> changelog_plan(TextLedger& ledger, Shape shape) {
  Job job("sim");
  const auto is_addition = [](std::uint64_t i) { return i % 120 < 60; };
  const auto added = [](std::uint64_t i) { return i - i % 120 + i % 60; };
  const auto wishes = generated(job, "wishes", std::identity{}).changelog([=](std::uint64_t i) {
    return Change<Wish>{is_addition(i) || i % 2 == 0 ? RowKind::insert : RowKind::remove,
                        {static_cast<std::uint32_t>(i % 20), i % 2 == 0 ? i : added(i)}};
  });
  const auto stock = generated(job, "stock", std::identity{}).changelog([=](std::uint64_t i) {
    return Change<Stock>{is_addition(i) ? RowKind::update_after : RowKind::update_before,
                         {static_cast<std::uint32_t>(i % 30), added(i)}};
  });
  wishes.key_by(&Wish::item)
      .left_join(stock.key_by(&Stock::item))
      .process("served",
               [](const Wish& wish, const Stock* there) {
                 return Served{wish.number,
                               there == nullptr ? std::nullopt : std::optional(there->amount)};
               })
      .changes()
      .to("ledger", LedgerSink{&ledger});
  return plan_of(job, shape);
}

// How often each row is in the table that the changes make.
std::map<std::string, int> table_of(const TextLedger& ledger) {
  std::map<std::string, int> table;
  for (const auto& [change, times] : ledger.rows)
    table[change.substr(change.find(',') + 1)] += change.front() == '+' ? times : -times;
  std::erase_if(table, [](const auto& row) { return row.second == 0; });
  return table;
}

TEST(SimulatedChangelog, its_join_amounts_to_the_table_of_an_undisturbed_run) {
  TextLedger expected;
  ASSERT_NO_FATAL_FAILURE(run_undisturbed(changelog_plan, expected));
  ASSERT_GT(table_of(expected).size(), 100U);
  for (const std::uint64_t seed : seeds(40)) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", WEIR_SIM_SEED=" + std::to_string(seed));
    FailsNowAndThen faults(seed, 4);
    TextLedger ledger;
    ASSERT_TRUE(
        has_ended_as(JobState::finished, run_disturbed(seed, faults, changelog_plan, ledger)));
    ASSERT_EQ(table_of(ledger), table_of(expected));
  }
}

}  // namespace
}  // namespace weir
