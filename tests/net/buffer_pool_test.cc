#include "net/buffer_pool.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr std::size_t kb = 1024;

TEST(BufferPool, gives_back_the_buffer_that_came_last) {
  BufferPool pool;
  pool.give(Bytes(100 * kb));
  Bytes last(100 * kb);
  const std::byte* data = last.data();
  pool.give(std::move(last));
  EXPECT_EQ(pool.take(100 * kb).data(), data);
  EXPECT_EQ(pool.kept_bytes(), 100 * kb);
}

TEST(BufferPool, gives_only_what_has_room) {
  BufferPool pool;
  pool.give(Bytes(200 * kb));
  pool.give(Bytes(100 * kb));
  EXPECT_EQ(pool.take(150 * kb).size(), 200 * kb);
  EXPECT_EQ(pool.take(150 * kb).capacity(), 0U);
  EXPECT_EQ(pool.take(0).size(), 100 * kb);
  EXPECT_EQ(pool.take(0).capacity(), 0U);
  EXPECT_EQ(pool.kept_bytes(), 0U);
}

TEST(BufferPool, keeps_no_buffer_that_is_tiny_or_huge_and_not_too_many) {
  BufferPool pool;
  pool.give(Bytes(1 * kb));
  pool.give(Bytes(5'000 * kb));
  pool.give({});
  EXPECT_EQ(pool.kept_bytes(), 0U);
  for (int i = 0; i < 100; ++i) pool.give(Bytes(1024 * kb));
  EXPECT_EQ(pool.kept_bytes(), 16 * 1024 * kb);
}

}  // namespace
}  // namespace weir
