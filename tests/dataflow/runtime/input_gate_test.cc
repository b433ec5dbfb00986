#include "dataflow/runtime/input_gate.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace weir {
namespace {

constexpr InputPort left{0}, right{1};
constexpr InputSelection all{};
constexpr InputSelection only_left{1}, only_right{2};

// Elements are told apart by their times.
ChargedElement element(std::int64_t number) {
  return {Watermark{EventTime{number}}, 0};
}

std::vector<std::int64_t> take_all(InputGate& gate, InputSelection selection = all) {
  std::vector<std::int64_t> numbers;
  while (auto item = gate.take(selection))
    numbers.push_back(std::get<Watermark>(item->content.element).time.ms);
  return numbers;
}

TEST(InputGate, channels_take_turns) {
  InputGate gate({left, left, left});
  for (std::int64_t i = 0; i < 3; ++i) gate.put({0}, element(i));
  gate.put({1}, element(10));
  gate.put({2}, element(20));
  gate.put({2}, element(21));
  EXPECT_EQ(gate.queued_elements(), 6U);
  EXPECT_EQ(take_all(gate), (std::vector<std::int64_t>{0, 10, 20, 1, 21, 2}));
  EXPECT_TRUE(gate.empty());
}

TEST(InputGate, a_busy_channel_does_not_starve_the_others) {
  InputGate gate({left, left});
  for (std::int64_t i = 0; i < 100; ++i) gate.put({0}, element(0));
  for (int taken = 0; taken < 50; ++taken) {
    gate.put({1}, element(1));
    bool seen = false;
    for (int tries = 0; tries < 2 && !seen; ++tries)
      seen = gate.take(all)->channel == ChannelIndex{1};
    EXPECT_TRUE(seen);
  }
}

TEST(InputGate, elements_of_a_blocked_channel_wait_in_order) {
  InputGate gate({left, left});
  gate.put({0}, element(0));
  gate.put({0}, element(1));
  gate.put({1}, element(10));
  gate.set_blocked({0}, true);
  EXPECT_EQ(take_all(gate), std::vector<std::int64_t>{10});
  EXPECT_EQ(gate.queued_elements(), 2U);
  EXPECT_FALSE(gate.empty());
  gate.set_blocked({0}, false);
  EXPECT_EQ(take_all(gate), (std::vector<std::int64_t>{0, 1}));
}

TEST(InputGate, elements_of_a_paused_port_wait) {
  InputGate gate({left, right, left});
  gate.put({0}, element(0));
  gate.put({1}, element(10));
  gate.put({2}, element(20));
  EXPECT_EQ(take_all(gate, only_right), std::vector<std::int64_t>{10});
  EXPECT_EQ(take_all(gate, only_left), (std::vector<std::int64_t>{20, 0}));
}

TEST(InputGate, items_say_where_they_came_from_and_what_was_charged) {
  InputGate gate({left, right});
  gate.put({1}, {EndOfInput{}, 123});
  EXPECT_TRUE(gate.has_ended({1}));
  const auto item = gate.take(all);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->channel, ChannelIndex{1});
  EXPECT_EQ(item->port, right);
  EXPECT_EQ(item->content.charged_bytes, 123U);
}

TEST(InputGate, drain_returns_everything_also_of_blocked_channels) {
  InputGate gate({left, right});
  gate.set_blocked({0}, true);
  gate.put({0}, {Watermark{}, 7});
  gate.put({1}, {Watermark{}, 8});
  std::uint64_t charged = 0;
  for (const GateItem& item : gate.drain()) charged += item.content.charged_bytes;
  EXPECT_EQ(charged, 15U);
  EXPECT_TRUE(gate.empty());
  EXPECT_FALSE(gate.take(all));
}

TEST(InputGate, without_channels_has_nothing) {
  InputGate gate({});
  EXPECT_FALSE(gate.take(all));
}

TEST(InputGateDeathTest, nothing_follows_the_end_of_a_channel) {
  InputGate gate({left});
  gate.put({0}, {EndOfInput{}, 0});
  EXPECT_DEATH(gate.put({0}, element(1)), "check failed");
  EXPECT_DEATH(gate.put({1}, element(1)), "check failed");
}

// Channels are FIFO and nothing is lost, whatever is blocked and paused in between.
TEST(InputGate, each_channel_keeps_its_order_over_random_blocking) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    InputGate gate({left, right, left, right});
    std::vector<std::int64_t> put(4), taken(4);
    std::vector<bool> blocked(4);
    for (int step = 0; step < 500; ++step) {
      const auto channel = static_cast<std::uint32_t>(random.below(4));
      switch (random.below(3)) {
        case 0:
          gate.put({channel}, element(put[channel]++));
          break;
        case 1:
          blocked[channel] = !blocked[channel];
          gate.set_blocked({channel}, blocked[channel]);
          break;
        default:
          const InputSelection selection{static_cast<std::uint32_t>(random.below(4))};
          const auto item = gate.take(selection);
          if (!item) break;
          ASSERT_FALSE(blocked[item->channel.value]);
          ASSERT_TRUE(selection.allows(item->port));
          ASSERT_EQ(std::get<Watermark>(item->content.element).time.ms,
                    taken[item->channel.value]++);
      }
    }
    for (std::uint32_t i = 0; i < 4; ++i) gate.set_blocked({i}, false);
    std::size_t rest = 0;
    for (std::size_t i = 0; i < 4; ++i) rest += static_cast<std::size_t>(put[i] - taken[i]);
    EXPECT_EQ(take_all(gate).size(), rest);
  }
}

}  // namespace
}  // namespace weir
