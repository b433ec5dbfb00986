#include "base/bytes.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

Bytes raw(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(Bytes, integers_are_little_endian_and_of_fixed_width) {
  Bytes bytes;
  ByteWriter writer{bytes};
  writer.scalar(std::uint32_t{0x01020304});
  writer.scalar(std::int16_t{-2});
  writer.scalar(std::uint8_t{9});
  EXPECT_EQ(bytes, raw({4, 3, 2, 1, 0xfe, 0xff, 9}));
  EXPECT_EQ(writer.size(), 7u);
}

TEST(Bytes, texts_and_blocks_carry_their_length) {
  Bytes bytes;
  ByteWriter writer{bytes};
  writer.text("ab");
  writer.text("");
  writer.block(raw({7}));
  EXPECT_EQ(bytes, raw({2, 0, 0, 0, 'a', 'b', 0, 0, 0, 0, 1, 0, 0, 0, 7}));
  ByteReader reader{bytes};
  EXPECT_EQ(reader.text(), "ab");
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.block().size(), 1u);
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(reader.status());
}

TEST(Bytes, a_length_is_filled_in_afterwards) {
  Bytes bytes;
  ByteWriter writer{bytes};
  writer.scalar(std::uint32_t{0});
  writer.text("x");
  writer.overwrite_u32(0, 5);
  ByteReader reader{bytes};
  EXPECT_EQ(reader.block().size(), 5u);
  EXPECT_TRUE(reader.at_end());
}

TEST(BytesDeathTest, overwriting_past_the_end_is_a_bug) {
  Bytes bytes(3);
  ByteWriter writer{bytes};
  EXPECT_DEATH(writer.overwrite_u32(0, 1), "check failed");
}

TEST(Bytes, room_is_made_without_changing_the_size) {
  Bytes bytes;
  ByteWriter writer{bytes};
  writer.reserve(100);
  EXPECT_GE(bytes.capacity(), 100u);
  EXPECT_EQ(writer.size(), 0u);
}

TEST(Bytes, the_first_failure_sticks_and_later_reads_give_nothing) {
  const Bytes bytes = raw({1, 2, 3, 4, 5});
  ByteReader reader{bytes};
  EXPECT_EQ(reader.scalar<std::uint8_t>(), 1);
  EXPECT_EQ(reader.scalar<std::uint64_t>(), 0u);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_EQ(reader.scalar<std::uint8_t>(), 0);
  EXPECT_EQ(reader.text(), "");
  reader.fail("something else");
  EXPECT_EQ(reader.error(), (Error{Errc::corrupt_data,
                                   "damaged data at byte 1: expected 8 more bytes, but 4 remain"}));
  EXPECT_FALSE(reader.status());
}

TEST(Bytes, a_text_longer_than_the_input_fails) {
  const Bytes bytes = raw({0xff, 0xff, 0xff, 0xff, 'a'});
  ByteReader reader{bytes};
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.status().error().message,
            "damaged data at byte 4: expected a count of at most 1, not 4294967295");
}

TEST(Bytes, a_count_is_bounded_by_what_its_things_take) {
  const Bytes bytes = raw({2, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(ByteReader{bytes}.count(4), 2u);
  ByteReader reader{bytes};
  EXPECT_EQ(reader.count(5), 0u);
  EXPECT_FALSE(reader.ok());
}

TEST(Bytes, empty_input_reads_as_the_end) {
  ByteReader reader{{}};
  EXPECT_TRUE(reader.at_end());
  EXPECT_TRUE(reader.bytes(0).empty());
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.bytes(1).empty());
  EXPECT_FALSE(reader.ok());
}

TEST(BytesDeathTest, asking_for_the_error_of_a_sound_reader_is_a_bug) {
  const ByteReader reader{{}};
  EXPECT_DEATH((void)reader.error(), "check failed");
}

}  // namespace
}  // namespace weir
