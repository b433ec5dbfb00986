#include "dataflow/operators/sweep.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>

#include "base/clock.h"
#include "base/hash.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Table = KeyedTable<int, std::int64_t>;  // until when each is needed

Table table_of(int keys) {
  constexpr std::uint32_t groups = 16;
  Table table({{{0}, groups}, groups});
  for (int key = 0; key < keys; ++key) table.find_or_insert(hash_of(key), key) = 0;
  return table;
}
const auto always = [](const std::int64_t&) { return true; };
const auto erase = [](std::int64_t&) { return false; };

TEST(Sweep, is_once_round_when_a_round_of_event_time_has_passed) {
  Table table = table_of(1000);
  Sweep sweep(EventTime{100}, 10ms);
  ManualClock clock;
  std::size_t before = table.size();
  for (std::int64_t ms = 101; ms <= 110; ++ms) {
    ASSERT_TRUE(sweep.go_on(EventTime{ms}, table, StepBudget(clock, 1s), always, erase));
    EXPECT_LT(table.size(), before);
    before = table.size();
    if (ms < 108) {
      EXPECT_GT(table.size(), 0U);
    }
  }
  EXPECT_EQ(table.size(), 0U);
}

TEST(Sweep, does_nothing_while_the_watermark_stays) {
  Table table = table_of(1000);
  Sweep sweep(EventTime{100}, 10ms);
  ManualClock clock;
  for (const std::int64_t ms : {100, 99, -5})
    ASSERT_TRUE(sweep.go_on(EventTime{ms}, table, StepBudget(clock, 1s), always, erase));
  EXPECT_EQ(table.size(), 1000U);
}

TEST(Sweep, a_long_way_is_one_round) {
  for (const EventTime from : {EventTime::min(), EventTime{0}}) {
    Table table = table_of(1000);
    Sweep sweep(from, 1h);
    ManualClock clock;
    int looks = 0;
    ASSERT_TRUE(sweep.go_on(
        EventTime::max(), table, StepBudget(clock, 1s),
        [&](const std::int64_t&) {
          ++looks;
          return false;
        },
        erase));
    EXPECT_EQ(looks, 1000);
  }
}

TEST(Sweep, small_steps_get_round_as_well) {
  Table table = table_of(3);
  Sweep sweep(EventTime{0}, Duration{std::numeric_limits<std::int64_t>::max()});
  ManualClock clock;
  std::int64_t ms = 0;
  while (table.size() > 0) {
    ASSERT_TRUE(sweep.go_on(EventTime{++ms}, table, StepBudget(clock, 1s), always, erase));
    ASSERT_LE(ms, 1000);
  }
}

TEST(Sweep, goes_on_where_its_budget_ended) {
  Table table = table_of(10'000);
  Sweep sweep(EventTime{0}, 10ms);
  ManualClock clock;
  int calls = 1;
  std::size_t before = table.size();
  while (!sweep.go_on(EventTime{10}, table, StepBudget(clock, 0ns), always, erase)) {
    ++calls;
    ASSERT_LT(table.size(), before);
    before = table.size();
  }
  EXPECT_GT(calls, 10);
  EXPECT_EQ(table.size(), 0U);
}

TEST(Sweep, of_a_table_that_was_cleared_meanwhile_ends) {
  Table table = table_of(10'000);
  Sweep sweep(EventTime{0}, 10ms);
  ManualClock clock;
  ASSERT_FALSE(sweep.go_on(EventTime{10}, table, StepBudget(clock, 0ns), always, erase));
  table = table_of(3);
  ASSERT_TRUE(sweep.go_on(EventTime{30}, table, StepBudget(clock, 1s), always, erase));
  EXPECT_EQ(table.size(), 0U);
}

}  // namespace
}  // namespace weir
