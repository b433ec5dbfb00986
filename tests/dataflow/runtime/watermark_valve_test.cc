#include "dataflow/runtime/watermark_valve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

constexpr ValveOutput nothing{};
constexpr ChannelIndex a{0}, b{1}, c{2};

ValveOutput watermark(std::int64_t ms) {
  return {.watermark = EventTime{ms}, .idle = {}};
}
ValveOutput idle(bool is) {
  return {.watermark = {}, .idle = is};
}

// A valve spoken to in short.
struct Valve {
  explicit Valve(std::size_t channels) : valve(channels) {}
  ValveOutput at(ChannelIndex channel, std::int64_t ms) {
    return valve.on_watermark(channel, EventTime{ms});
  }
  ValveOutput sleep(ChannelIndex channel) { return valve.on_status(channel, true); }
  ValveOutput wake(ChannelIndex channel) { return valve.on_status(channel, false); }
  ValveOutput end(ChannelIndex channel) { return valve.on_watermark(channel, EventTime::max()); }
  WatermarkValve valve;
};

TEST(WatermarkValve, a_single_channel_passes_and_never_goes_back) {
  Valve valve(1);
  EXPECT_EQ(valve.at(a, 25), watermark(25));
  EXPECT_EQ(valve.at(a, 18), nothing);
  EXPECT_EQ(valve.at(a, 25), nothing);
  EXPECT_EQ(valve.at(a, 42), watermark(42));
}

TEST(WatermarkValve, result_is_the_minimum_of_all_channels) {
  Valve valve(3);
  EXPECT_EQ(valve.at(a, 0), nothing);
  EXPECT_EQ(valve.at(b, 0), nothing);
  EXPECT_EQ(valve.at(c, 0), watermark(0));
  EXPECT_EQ(valve.at(a, 12), nothing);
  EXPECT_EQ(valve.at(c, 8), nothing);
  EXPECT_EQ(valve.at(c, 10), nothing);
  EXPECT_EQ(valve.at(b, 15), watermark(10));
  EXPECT_EQ(valve.at(c, 17), watermark(12));
  EXPECT_EQ(valve.at(a, 20), watermark(15));
  EXPECT_EQ(valve.valve.holder(), b);
}

TEST(WatermarkValve, smaller_watermarks_of_a_channel_are_ignored) {
  Valve valve(3);
  EXPECT_EQ(valve.at(a, 25), nothing);
  EXPECT_EQ(valve.at(b, 10), nothing);
  EXPECT_EQ(valve.at(c, 17), watermark(10));
  EXPECT_EQ(valve.at(a, 12), nothing);
  EXPECT_EQ(valve.at(b, 8), nothing);
  EXPECT_EQ(valve.at(c, 15), nothing);
  EXPECT_EQ(valve.valve.current(), EventTime{10});
}

TEST(WatermarkValve, an_idle_channel_does_not_hold_back_the_others) {
  Valve valve(3);
  EXPECT_EQ(valve.at(a, 15), nothing);
  EXPECT_EQ(valve.at(b, 10), nothing);
  EXPECT_EQ(valve.sleep(c), watermark(10));
  EXPECT_EQ(valve.at(b, 18), watermark(15));
  EXPECT_EQ(valve.at(a, 20), watermark(18));
}

TEST(WatermarkValve, becoming_idle_one_by_one_lets_the_rest_through) {
  Valve valve(3);
  EXPECT_EQ(valve.at(a, 25), nothing);
  EXPECT_EQ(valve.at(b, 10), nothing);
  EXPECT_EQ(valve.at(c, 17), watermark(10));
  EXPECT_EQ(valve.sleep(b), watermark(17));
  EXPECT_EQ(valve.sleep(c), watermark(25));
}

TEST(WatermarkValve, when_the_last_channel_becomes_idle_the_largest_watermark_passes_first) {
  Valve valve(3);
  EXPECT_EQ(valve.at(a, 10), nothing);
  EXPECT_EQ(valve.at(b, 5), nothing);
  EXPECT_EQ(valve.at(c, 3), watermark(3));
  EXPECT_EQ(valve.sleep(a), nothing);
  EXPECT_EQ(valve.sleep(b), nothing);
  EXPECT_EQ(valve.sleep(c), (ValveOutput{.watermark = EventTime{10}, .idle = true}));
  EXPECT_FALSE(valve.valve.holder());
}

TEST(WatermarkValve, watermarks_of_an_idle_channel_are_ignored) {
  Valve valve(1);
  EXPECT_EQ(valve.at(a, 25), watermark(25));
  EXPECT_EQ(valve.sleep(a), idle(true));
  EXPECT_EQ(valve.at(a, 50), nothing);
  EXPECT_EQ(valve.wake(a), idle(false));
  EXPECT_EQ(valve.at(a, 50), watermark(50));
}

TEST(WatermarkValve, channels_start_active_and_repeated_status_changes_nothing) {
  Valve valve(2);
  EXPECT_EQ(valve.wake(a), nothing);
  EXPECT_EQ(valve.sleep(a), nothing);
  EXPECT_EQ(valve.sleep(a), nothing);
  EXPECT_EQ(valve.sleep(b), idle(true));
  EXPECT_EQ(valve.sleep(b), nothing);
  EXPECT_EQ(valve.wake(b), idle(false));
  EXPECT_EQ(valve.wake(a), nothing);
}

TEST(WatermarkValve, a_channel_that_wakes_behind_is_ignored_until_it_has_caught_up) {
  Valve valve(2);
  EXPECT_EQ(valve.at(a, 10), nothing);
  EXPECT_EQ(valve.sleep(b), watermark(10));
  EXPECT_EQ(valve.wake(b), nothing);
  EXPECT_EQ(valve.at(a, 20), watermark(20));  // b, at the beginning of time, holds nothing back
  EXPECT_EQ(valve.at(b, 15), nothing);
  EXPECT_EQ(valve.at(b, 25), nothing);  // caught up: now it counts
  EXPECT_EQ(valve.at(a, 30), watermark(25));
}

// FLINK-38477: the end of one channel must not fire what an idle one still feeds.
TEST(WatermarkValve, an_ended_channel_lets_time_pass_to_the_end_only_with_all_others) {
  Valve valve(3);
  EXPECT_EQ(valve.at(a, 5), nothing);
  EXPECT_EQ(valve.at(b, 7), nothing);
  EXPECT_EQ(valve.end(c), watermark(5));
  EXPECT_EQ(valve.sleep(a), watermark(7));
  EXPECT_EQ(valve.sleep(b), idle(true));
  EXPECT_EQ(valve.wake(a), idle(false));
  EXPECT_EQ(valve.at(a, 9), watermark(9));
  EXPECT_EQ(valve.end(a), idle(true));  // only the idle one is left
  EXPECT_EQ(valve.wake(b), idle(false));
  EXPECT_EQ(valve.end(b), (ValveOutput{.watermark = EventTime::max(), .idle = {}}));
}

// Whatever happens, watermarks grow, never pass an active aligned channel, and the status changes
// when it changes.
TEST(WatermarkValve, output_grows_and_status_alternates_over_random_events) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto channel_count = static_cast<std::uint32_t>(1 + random.below(4));
    WatermarkValve valve(channel_count);
    std::vector<bool> idles(channel_count);
    EventTime last = EventTime::min();
    bool last_idle = false;
    for (int step = 0; step < 300; ++step) {
      const auto index = static_cast<std::uint32_t>(random.below(channel_count));
      const bool sleeps = random.below(2) == 0;
      const bool is_watermark = random.below(4) > 0;
      const auto output =
          is_watermark ? valve.on_watermark(
                             {index}, EventTime{static_cast<std::int64_t>(random.below(1000))})
                       : valve.on_status({index}, sleeps);
      if (!is_watermark) idles[index] = sleeps;
      if (output.watermark) {
        ASSERT_GT(*output.watermark, last);
        last = *output.watermark;
      }
      if (output.idle) {
        ASSERT_NE(*output.idle, last_idle);
        last_idle = *output.idle;
      }
      ASSERT_EQ(valve.current(), last);
      ASSERT_EQ(last_idle, std::ranges::all_of(idles, [](bool is) { return is; }));
    }
  }
}

}  // namespace
}  // namespace weir
