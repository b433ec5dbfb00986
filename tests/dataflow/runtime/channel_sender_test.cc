#include "dataflow/runtime/channel_sender.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/dataflow/runtime/recording_transport.h"

namespace weir {
namespace {

// A batch of 100 bytes.
BatchPtr hundred() {
  return batch_of(std::vector<char>(100));
}

TEST(ChannelSender, sends_while_credit_is_positive_and_overdraws_it_by_one_batch) {
  RecordingTransport transport;
  ChannelSender sender(transport, 250);
  for (int i = 0; i < 5; ++i) sender.send(hundred());
  EXPECT_EQ(transport.batch_count(), 3U);  // the third begins with 50 bytes of credit
  EXPECT_EQ(sender.in_flight_bytes(), 300);
  EXPECT_FALSE(sender.has_room());
  EXPECT_FALSE(sender.drained());
  sender.add_credit(100);
  EXPECT_EQ(transport.batch_count(), 4U);
  sender.add_credit(300);
  EXPECT_EQ(transport.batch_count(), 5U);
  EXPECT_TRUE(sender.drained());
  EXPECT_TRUE(sender.has_room());
}

TEST(ChannelSender, a_batch_larger_than_the_window_passes_alone) {
  RecordingTransport transport;
  ChannelSender sender(transport, 10);
  sender.send(hundred());
  EXPECT_EQ(transport.batch_count(), 1U);
  sender.send(hundred());
  EXPECT_EQ(transport.batch_count(), 1U);
  sender.add_credit(100);
  EXPECT_EQ(transport.batch_count(), 2U);
}

TEST(ChannelSender, control_elements_cost_nothing) {
  RecordingTransport transport;
  ChannelSender sender(transport, 100);
  sender.send(hundred());
  for (std::int64_t i = 0; i < 10; ++i) sender.send(Watermark{EventTime{i}});
  EXPECT_EQ(transport.elements().size(), 11U);
  EXPECT_EQ(sender.in_flight_bytes(), 100);
}

TEST(ChannelSender, control_elements_keep_their_place_behind_batches_that_wait) {
  RecordingTransport transport;
  ChannelSender sender(transport, 100);
  sender.send(hundred());
  sender.send(hundred());
  sender.send(Watermark{EventTime{5}});
  sender.send(EndOfInput{});
  EXPECT_EQ(transport.elements().size(), 1U);
  sender.add_credit(100);
  ASSERT_EQ(transport.elements().size(), 4U);
  EXPECT_TRUE(std::holds_alternative<BatchPtr>(transport.elements()[1]));
  EXPECT_EQ(std::get<Watermark>(transport.elements()[2]), Watermark{EventTime{5}});
  EXPECT_TRUE(std::holds_alternative<EndOfInput>(transport.elements()[3]));
}

TEST(ChannelSender, the_receiver_is_idle_when_nothing_is_in_flight) {
  RecordingTransport transport;
  ChannelSender sender(transport, 100);
  EXPECT_TRUE(sender.receiver_is_idle());
  sender.send(hundred());
  EXPECT_FALSE(sender.receiver_is_idle());
  sender.add_credit(99);
  EXPECT_FALSE(sender.receiver_is_idle());
  sender.add_credit(1);
  EXPECT_TRUE(sender.receiver_is_idle());
}

TEST(ChannelSender, sends_in_order_and_within_its_credit_whatever_the_receiver_does) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    RecordingTransport transport;
    const std::uint64_t window = 1 + random.below(500);
    ChannelSender sender(transport, window);
    std::vector<int> sent;
    for (int i = 0; i < 300; ++i) {
      if (random.below(2) == 0) transport.consume_one(sender);
      std::vector<int> values(1 + random.below(40), i);
      sent.insert(sent.end(), values.begin(), values.end());
      sender.send(batch_of(std::move(values)));
      ASSERT_LE(transport.charged_bytes(), window + 40 * sizeof(int));
    }
    while (transport.consume_one(sender)) continue;
    EXPECT_TRUE(sender.receiver_is_idle());
    EXPECT_EQ(transport.values<int>(), sent);
  }
}

TEST(ChannelSenderDeathTest, credit_that_was_not_in_flight_is_a_bug) {
  RecordingTransport transport;
  ChannelSender sender(transport, 100);
  EXPECT_DEATH(sender.add_credit(1), "check failed");
}

}  // namespace
}  // namespace weir
