#include "net/outbox.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

EncodedFrame frame(char content, std::size_t head, std::size_t payload) {
  return {Bytes(head, static_cast<std::byte>(content)),
          Bytes(payload, static_cast<std::byte>(content))};
}

std::string text_of(const std::vector<Bytes>& pieces) {
  std::string text;
  for (const Bytes& piece : pieces) {
    for (const std::byte b : piece) {
      if (text.empty() || text.back() != static_cast<char>(b)) text += static_cast<char>(b);
    }
  }
  return text;
}

TEST(Outbox, frames_leave_in_order_in_few_pieces) {
  Outbox outbox;
  for (const char c : {'a', 'b', 'c'}) (void)outbox.push(frame(c, 80, 100));
  (void)outbox.push(frame('d', 80, 100'000));
  (void)outbox.push(frame('e', 80, 0));
  std::vector<Bytes> pieces;
  EXPECT_TRUE(outbox.take(pieces));
  EXPECT_EQ(text_of(pieces), "abcde");
  EXPECT_EQ(pieces.size(), 3U);  // a to d's head, d's payload, e
  EXPECT_EQ(outbox.frames(), 5U);
  EXPECT_EQ(outbox.queued_bytes(), 3 * 180U + 100'080 + 80);
}

TEST(Outbox, a_large_payload_is_not_copied) {
  Outbox outbox;
  EncodedFrame large = frame('a', 80, 100'000);
  const std::byte* data = large.payload.data();
  (void)outbox.push(std::move(large));
  std::vector<Bytes> pieces;
  EXPECT_TRUE(outbox.take(pieces));
  EXPECT_EQ(pieces.at(1).data(), data);
}

TEST(Outbox, the_writer_is_woken_once_when_it_has_found_nothing) {
  Outbox outbox;
  std::vector<Bytes> pieces;
  EXPECT_EQ(outbox.push(frame('a', 1, 0)), Outbox::Wake::not_needed);  // no writer yet
  EXPECT_TRUE(outbox.take(pieces));
  EXPECT_EQ(outbox.push(frame('b', 1, 0)), Outbox::Wake::not_needed);  // it will look again
  EXPECT_TRUE(outbox.take(pieces));
  EXPECT_FALSE(outbox.take(pieces));
  EXPECT_EQ(outbox.push(frame('c', 1, 0)), Outbox::Wake::needed);
  EXPECT_EQ(outbox.push(frame('d', 1, 0)), Outbox::Wake::not_needed);
  EXPECT_TRUE(outbox.take(pieces));
  EXPECT_EQ(text_of(pieces), "abcd");
}

TEST(Outbox, nothing_follows_the_last_frame) {
  Outbox outbox;
  (void)outbox.push_last(frame('a', 1, 0));
  (void)outbox.push(frame('b', 1, 0));
  std::vector<Bytes> pieces;
  EXPECT_TRUE(outbox.take(pieces));
  EXPECT_EQ(text_of(pieces), "a");
}

TEST(Outbox, discard_drops_what_is_there_and_what_comes) {
  Outbox outbox;
  (void)outbox.push(frame('a', 1, 100'000));
  outbox.discard();
  (void)outbox.push(frame('b', 1, 0));
  std::vector<Bytes> pieces;
  EXPECT_FALSE(outbox.take(pieces));
  EXPECT_EQ(outbox.queued_bytes(), 0U);
}

TEST(Outbox, written_bytes_are_no_longer_queued) {
  Outbox outbox;
  (void)outbox.push(frame('a', 10, 0));
  outbox.written(4);
  EXPECT_EQ(outbox.queued_bytes(), 6U);
  EXPECT_EQ(outbox.written_bytes(), 4U);
}

}  // namespace
}  // namespace weir
