#include "snapshot/restart_strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/codec.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

MonotonicTime at(Duration time) {
  return MonotonicTime{time};
}

// A strategy, and failures of which each comes so long after the last restart.
class Failures {
 public:
  explicit Failures(const RestartSettings& settings, std::uint64_t seed = 1)
      : strategy_(make_restart_strategy(settings, Random(seed))) {}

  std::optional<Duration> fail_at(Duration time) { return strategy_->on_failure(at(time)); }
  std::optional<Duration> fail_after_restart(Duration later) {
    now_ += last_delay_ + later;
    const auto delay = strategy_->on_failure(at(now_));
    last_delay_ = delay.value_or(Duration{0});
    return delay;
  }

 private:
  std::unique_ptr<RestartStrategy> strategy_;
  Duration now_{1'000'000};
  Duration last_delay_{0};
};

TEST(RestartStrategy, none_gives_up_at_once) {
  EXPECT_EQ(Failures(NoRestart{}).fail_at(0ms), std::nullopt);
}

TEST(RestartStrategy, is_exponential_for_jobs_that_take_checkpoints_and_none_for_others) {
  EXPECT_EQ(default_restart(true), RestartSettings(ExponentialDelayRestart{}));
  EXPECT_EQ(default_restart(false), RestartSettings(NoRestart{}));
}

// V71.
TEST(RestartStrategy, with_a_fixed_delay_restarts_as_often_as_allowed) {
  Failures failures(FixedDelayRestart{.attempts = 3, .delay = 10s});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(failures.fail_after_restart(1ms), 10s);
  EXPECT_EQ(failures.fail_after_restart(1ms), std::nullopt);
}

TEST(RestartStrategy, with_a_fixed_delay_restarts_once_by_default) {
  Failures failures(FixedDelayRestart{});
  EXPECT_EQ(failures.fail_after_restart(1ms), 1s);
  EXPECT_EQ(failures.fail_after_restart(100h), std::nullopt);
}

// V72.
TEST(RestartStrategy, an_exponential_delay_grows_without_rounding_in_between) {
  Failures failures(
      ExponentialDelayRestart{.initial = 4ms, .max = 300ms, .multiplier = 2.3, .jitter = 0});
  EXPECT_EQ(failures.fail_after_restart(1ms), 4ms);
  EXPECT_EQ(failures.fail_after_restart(1ms), 9ms);
  EXPECT_EQ(failures.fail_after_restart(1ms), 21ms);
}

TEST(RestartStrategy, an_exponential_delay_stops_growing_at_its_maximum) {
  Failures failures(ExponentialDelayRestart{.jitter = 0});
  Duration last{0};
  for (int i = 0; i < 2000; ++i) last = *failures.fail_after_restart(1ms);
  EXPECT_EQ(last, 1min);
}

TEST(RestartStrategy, an_exponential_delay_begins_again_after_a_while_without_failure) {
  const ExponentialDelayRestart settings{
      .initial = 1ms, .max = 300ms, .multiplier = 2, .reset_threshold = 8ms, .jitter = 0};
  Failures sooner(settings);
  EXPECT_EQ(sooner.fail_at(100ms), 1ms);
  EXPECT_EQ(sooner.fail_at(108ms), 2ms);
  Failures later(settings);
  EXPECT_EQ(later.fail_at(100ms), 1ms);
  EXPECT_EQ(later.fail_at(109ms), 1ms);
}

TEST(RestartStrategy, an_exponential_delay_gives_up_after_its_attempts) {
  Failures failures(ExponentialDelayRestart{
      .initial = 1ms, .max = 3ms, .multiplier = 1.2, .jitter = 0.2, .attempts = 13});
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(failures.fail_after_restart(1ms));
  EXPECT_EQ(failures.fail_after_restart(1ms), std::nullopt);
}

TEST(RestartStrategy, failures_before_the_restart_count_as_one) {
  Failures failures(ExponentialDelayRestart{.initial = 10ms, .jitter = 0, .attempts = 1});
  EXPECT_EQ(failures.fail_at(100ms), 10ms);
  EXPECT_EQ(failures.fail_at(100ms), 10ms);
  EXPECT_EQ(failures.fail_at(104ms), 6ms);
  EXPECT_EQ(failures.fail_at(110ms), 0ms);
  EXPECT_EQ(failures.fail_at(111ms), std::nullopt);
}

TEST(RestartStrategy, an_exponential_delay_varies_by_its_jitter) {
  std::set<std::int64_t> delays;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Failures failures(ExponentialDelayRestart{.initial = 4ms, .max = 300ms, .jitter = 0.25}, seed);
    delays.insert(failures.fail_at(0ms)->count());
  }
  EXPECT_THAT(delays, ElementsAre(3, 4, 5));
}

TEST(RestartStrategy, jitter_does_not_exceed_the_maximum) {
  std::set<std::int64_t> delays;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Failures failures(ExponentialDelayRestart{.initial = 4ms, .max = 4ms, .jitter = 0.25}, seed);
    delays.insert(failures.fail_at(0ms)->count());
  }
  EXPECT_THAT(delays, ElementsAre(3, 4));
}

// V73.
TEST(RestartStrategy, a_failure_rate_is_exceeded_by_one_more_within_the_interval) {
  Failures failures(FailureRateRestart{.max_failures = 3, .interval = 10s, .delay = 5ms});
  EXPECT_EQ(failures.fail_at(0s), 5ms);
  EXPECT_EQ(failures.fail_at(1s), 5ms);
  EXPECT_EQ(failures.fail_at(2s), 5ms);
  EXPECT_EQ(failures.fail_at(10s), std::nullopt);
}

TEST(RestartStrategy, a_failure_rate_that_is_kept_restarts_for_ever) {
  Failures failures(FailureRateRestart{.max_failures = 1, .interval = 1ms, .delay = 0ms});
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(failures.fail_after_restart(2ms), 0ms);
}

TEST(RestartStrategy, settings_that_make_no_sense_are_named) {
  const auto mistake = [](const RestartSettings& settings) {
    const auto checked = check(settings);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(mistake(ExponentialDelayRestart{}), "");
  EXPECT_EQ(mistake(FixedDelayRestart{.attempts = 0}),
            "restart strategy: 0 attempts: give at least 1, or choose none");
  EXPECT_THAT(mistake(FixedDelayRestart{.delay = -1ms}), HasSubstr("delay is negative"));
  EXPECT_THAT(mistake(FailureRateRestart{.max_failures = 0}), HasSubstr("at least 1"));
  EXPECT_THAT(mistake(FailureRateRestart{.interval = 0ms}), HasSubstr("interval"));
  EXPECT_THAT(mistake(ExponentialDelayRestart{.initial = 0ms}), HasSubstr("initial delay"));
  EXPECT_THAT(mistake(ExponentialDelayRestart{.max = 1ms}), HasSubstr("longest delay"));
  EXPECT_THAT(mistake(ExponentialDelayRestart{.multiplier = 0.5}), HasSubstr("multiplier"));
  EXPECT_THAT(mistake(ExponentialDelayRestart{.jitter = 1.5}), HasSubstr("jitter"));
  EXPECT_THAT(mistake(ExponentialDelayRestart{.attempts = 0}), HasSubstr("0 attempts"));
}

TEST(RestartStrategy, settings_travel_in_messages) {
  const RestartSettings settings = ExponentialDelayRestart{.multiplier = 2.5, .attempts = 7};
  EXPECT_EQ(*from_bytes<RestartSettings>(to_bytes(settings)), settings);
}

}  // namespace
}  // namespace weir
