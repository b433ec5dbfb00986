#include "dataflow/connectors/rolling_policy.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t mib_128 = std::uint64_t{128} * 1024 * 1024;
constexpr ProcessingTime start{1'000'000};

// V62
TEST(RollingPolicy, of_rows_rolls_what_is_larger_than_128_MiB) {
  const RollingPolicy policy;
  EXPECT_FALSE(policy.rolls_at_row(mib_128));
  EXPECT_TRUE(policy.rolls_at_row(mib_128 + 1));
  EXPECT_FALSE(policy.rolls_at_checkpoint(mib_128));
  EXPECT_TRUE(policy.rolls_at_checkpoint(mib_128 + 1));
}

// V62
TEST(RollingPolicy, of_rows_rolls_what_is_60_seconds_old_or_inactive) {
  const RollingPolicy policy;
  EXPECT_FALSE(policy.rolls_at_time(start + 59'999ms, start, start));
  EXPECT_TRUE(policy.rolls_at_time(start + 60'000ms, start, start + 60'000ms));
  EXPECT_FALSE(policy.rolls_at_time(start + 50s, start, start + 10s));
  const RollingPolicy long_lived{.age = 1h};
  EXPECT_FALSE(long_lived.rolls_at_time(start + 69'999ms, start, start + 10s));
  EXPECT_TRUE(long_lived.rolls_at_time(start + 70'000ms, start, start + 10s));
}

// V62
TEST(RollingPolicy, at_every_checkpoint_rolls_then_and_only_then) {
  const RollingPolicy policy = roll_at_every_checkpoint();
  EXPECT_TRUE(policy.rolls_at_checkpoint(1));
  EXPECT_FALSE(policy.rolls_at_row(mib_128 + 1));
  EXPECT_FALSE(policy.rolls_at_time(start + 24h, start, start));
  EXPECT_EQ(policy.rolls_from(start, start), ProcessingTime::max());
}

TEST(RollingPolicy, tells_when_it_will_roll) {
  const RollingPolicy policy{.age = 60s, .inactivity = 10s};
  EXPECT_EQ(policy.rolls_from(start, start + 5s), start + 15s);
  EXPECT_EQ(policy.rolls_from(start, start + 55s), start + 60s);
  const RollingPolicy patient{.age = Duration::max(), .inactivity = Duration::max()};
  EXPECT_EQ(patient.rolls_from(start, start), ProcessingTime::max());
  EXPECT_FALSE(patient.rolls_at_time(start + 24h, start, start));
}

TEST(RollingPolicy, needs_ages_above_zero) {
  EXPECT_TRUE(RollingPolicy{}.check("sink"));
  const Error expected{Errc::invalid_plan,
                       "sink: age and inactivity of a part file must be above 0 to roll it"};
  EXPECT_EQ((RollingPolicy{.age = 0ms}.check("sink").error()), expected);
  EXPECT_EQ((RollingPolicy{.inactivity = -1ms}.check("sink").error()), expected);
}

}  // namespace
}  // namespace weir
