#include "snapshot/barrier_aligner.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr ChannelIndex left{0}, right{1};
constexpr CheckpointId first{1}, second{2};
const Alignment nothing{};

MonotonicTime at(std::chrono::milliseconds time) {
  return MonotonicTime{time};
}
Alignment blocked() {
  return {.blocks = true};
}
Alignment completes(CheckpointId id, std::chrono::milliseconds alignment = 0ms) {
  return {.complete = {{.id = id, .alignment = alignment}}, .unblocks = true};
}
BarrierAligner exactly_once(std::size_t channels) {
  return {channels, CheckpointMode::exactly_once};
}
BarrierAligner at_least_once(std::size_t channels) {
  return {channels, CheckpointMode::at_least_once};
}

// V67: three channels, whose barriers come at 1, 2, 0.
TEST(BarrierAligner, snapshots_exactly_when_the_last_channel_delivers) {
  BarrierAligner aligner = exactly_once(3);
  EXPECT_EQ(aligner.on_barrier({1}, first, at(5ms)), blocked());
  EXPECT_TRUE(aligner.is_blocked({1}));
  EXPECT_FALSE(aligner.is_blocked({0}));
  EXPECT_EQ(aligner.on_barrier({2}, first, at(7ms)), blocked());
  EXPECT_TRUE(aligner.is_blocked({2}));
  EXPECT_EQ(aligner.on_barrier({0}, first, at(9ms)), completes(first, 4ms));
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_FALSE(aligner.is_blocked({i}));
  EXPECT_FALSE(aligner.is_aligning());
}

TEST(BarrierAligner, a_single_channel_never_waits) {
  BarrierAligner aligner = exactly_once(1);
  EXPECT_EQ(aligner.on_barrier(left, first, at(3ms)), completes(first));
}

TEST(BarrierAligner, a_newer_barrier_aborts_the_pending_checkpoint) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), blocked());
  EXPECT_EQ(aligner.on_barrier(right, second, at(1ms)),
            (Alignment{.aborted = {first}, .unblocks = true, .blocks = true}));
  EXPECT_FALSE(aligner.is_blocked(left));
  EXPECT_TRUE(aligner.is_blocked(right));
}

TEST(BarrierAligner, a_late_barrier_of_an_aborted_checkpoint_is_ignored) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_barrier(right, second, at(0ms)), blocked());
  EXPECT_EQ(aligner.on_barrier(left, first, at(1ms)), nothing);
  EXPECT_FALSE(aligner.is_blocked(left));
}

TEST(BarrierAligner, a_cancelled_checkpoint_unblocks_and_its_late_barriers_are_ignored) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), blocked());
  EXPECT_EQ(aligner.on_cancel(first), (Alignment{.aborted = {first}, .unblocks = true}));
  EXPECT_FALSE(aligner.is_blocked(left));
  EXPECT_EQ(aligner.on_barrier(right, first, at(1ms)), nothing);
  EXPECT_FALSE(aligner.is_aligning());
  EXPECT_EQ(aligner.on_cancel(first), nothing);
}

TEST(BarrierAligner, a_checkpoint_cancelled_before_its_first_barrier_never_begins) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_cancel(second), nothing);
  EXPECT_EQ(aligner.on_barrier(left, second, at(0ms)), nothing);
  EXPECT_FALSE(aligner.is_blocked(left));
}

TEST(BarrierAligner, an_older_checkpoint_still_aligns_after_a_newer_one_was_cancelled) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), blocked());
  EXPECT_EQ(aligner.on_cancel(second), nothing);
  EXPECT_EQ(aligner.on_barrier(right, first, at(2ms)), completes(first, 2ms));
}

TEST(BarrierAligner, a_channel_that_ends_completes_what_waited_for_it) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), blocked());
  EXPECT_EQ(aligner.on_end_of_input(right, at(8ms)), completes(first, 8ms));
}

TEST(BarrierAligner, a_channel_that_has_ended_counts_as_arrived) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_end_of_input(right, at(0ms)), nothing);
  EXPECT_EQ(aligner.on_barrier(left, first, at(1ms)), completes(first));
  EXPECT_EQ(aligner.on_barrier(left, second, at(2ms)), completes(second));
}

TEST(BarrierAligner, when_all_channels_have_ended_a_barrier_from_elsewhere_completes_once) {
  BarrierAligner aligner = exactly_once(1);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), completes(first));
  EXPECT_EQ(aligner.on_end_of_input(left, at(0ms)), nothing);
  EXPECT_EQ(aligner.on_injected(first), nothing);
  EXPECT_EQ(aligner.on_injected(second), (Alignment{.complete = {{.id = second}}}));
  EXPECT_EQ(aligner.on_injected(second), nothing);
}

TEST(BarrierAligner, at_least_once_counts_and_blocks_nobody) {
  BarrierAligner aligner = at_least_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), nothing);
  EXPECT_FALSE(aligner.is_blocked(left));
  EXPECT_EQ(aligner.on_barrier(right, first, at(6ms)),
            (Alignment{.complete = {{.id = first, .alignment = 6ms}}}));
}

TEST(BarrierAligner, at_least_once_has_several_checkpoints_under_way) {
  BarrierAligner aligner = at_least_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), nothing);
  EXPECT_EQ(aligner.on_barrier(left, second, at(1ms)), nothing);
  EXPECT_EQ(aligner.on_barrier(right, first, at(2ms)),
            (Alignment{.complete = {{.id = first, .alignment = 2ms}}}));
  EXPECT_EQ(aligner.on_barrier(right, second, at(4ms)),
            (Alignment{.complete = {{.id = second, .alignment = 3ms}}}));
}

TEST(BarrierAligner, at_least_once_gives_up_what_a_channel_has_skipped) {
  BarrierAligner aligner = at_least_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), nothing);
  EXPECT_EQ(aligner.on_barrier(right, second, at(1ms)), nothing);
  EXPECT_EQ(aligner.on_barrier(left, second, at(1ms)),
            (Alignment{.aborted = {first}, .complete = {{.id = second}}}));
}

TEST(BarrierAligner, at_least_once_completes_all_that_waited_for_a_channel_that_ends) {
  BarrierAligner aligner = at_least_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), nothing);
  EXPECT_EQ(aligner.on_barrier(left, second, at(1ms)), nothing);
  EXPECT_EQ(aligner.on_end_of_input(right, at(3ms)),
            (Alignment{.complete = {{first, 3ms}, {second, 2ms}}}));
}

TEST(BarrierAlignerDeathTest, reading_a_blocked_channel_is_a_bug) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_barrier(left, first, at(0ms)), blocked());
  EXPECT_DEATH((void)aligner.on_barrier(left, second, at(0ms)), "check failed");
}

TEST(BarrierAlignerDeathTest, reading_a_channel_that_has_ended_is_a_bug) {
  BarrierAligner aligner = exactly_once(2);
  EXPECT_EQ(aligner.on_end_of_input(left, at(0ms)), nothing);
  EXPECT_DEATH((void)aligner.on_barrier(left, first, at(0ms)), "check failed");
}

// Over random interleavings, every checkpoint that ends does so once and in order, and when one completes, every
// channel that is open has delivered its barrier and, exactly-once, no later one.
TEST(BarrierAligner, every_checkpoint_ends_once_in_order_and_aligned) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random{seed};
    const auto mode =
        random.below(2) == 0 ? CheckpointMode::exactly_once : CheckpointMode::at_least_once;
    const auto channel_count = static_cast<std::uint32_t>(1 + random.below(4));
    BarrierAligner aligner{channel_count, mode};
    std::vector<std::uint64_t> delivered(channel_count, 0);
    std::vector<bool> ended(channel_count, false);
    std::uint64_t last_ended = 0;
    const auto expect_in_order = [&](CheckpointId id) {
      ASSERT_GT(id.value, last_ended);
      last_ended = id.value;
    };
    for (int step = 0; step < 200; ++step) {
      const ChannelIndex channel{static_cast<std::uint32_t>(random.below(channel_count))};
      if (ended[channel.value] || aligner.is_blocked(channel)) continue;
      Alignment event;
      if (random.below(100) == 0) {
        ended[channel.value] = true;
        event = aligner.on_end_of_input(channel, at(0ms));
      } else {
        delivered[channel.value] += random.below(4) == 0 ? 2U : 1U;  // as after an abort upstream
        event = aligner.on_barrier(channel, {delivered[channel.value]}, at(0ms));
      }
      for (const CheckpointId id : event.aborted) {
        if (mode == CheckpointMode::exactly_once) expect_in_order(id);
      }
      for (const AlignedCheckpoint& complete : event.complete) {
        expect_in_order(complete.id);
        for (std::uint32_t i = 0; i < channel_count; ++i) {
          if (ended[i]) continue;
          ASSERT_GE(delivered[i], complete.id.value);
          if (mode == CheckpointMode::exactly_once) {
            ASSERT_EQ(delivered[i], complete.id.value);
          }
        }
      }
      for (std::uint32_t i = 0; event.unblocks && i < channel_count; ++i) {
        ASSERT_EQ(aligner.is_blocked({i}), event.blocks && i == channel.value);
      }
    }
  }
}

}  // namespace
}  // namespace weir
