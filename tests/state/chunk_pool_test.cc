#include "state/chunk_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

TEST(ChunkPool, gives_out_chunks_that_are_apart_and_aligned) {
  ChunkPool pool;
  std::vector<std::byte*> chunks;
  for (int i = 0; i < 300; ++i) {
    chunks.push_back(pool.take());
    ASSERT_EQ(reinterpret_cast<std::uintptr_t>(chunks.back()) % ChunkPool::chunk_bytes, 0);
    std::memset(chunks.back(), i % 128, ChunkPool::chunk_bytes);
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(chunks[static_cast<std::size_t>(i)][0], std::byte(i % 128));
    EXPECT_EQ(chunks[static_cast<std::size_t>(i)][ChunkPool::chunk_bytes - 1], std::byte(i % 128));
  }
}

TEST(ChunkPool, takes_no_memory_before_it_is_used_and_little_for_little) {
  ChunkPool pool;
  EXPECT_EQ(pool.bytes(), 0);
  (void)pool.take();
  EXPECT_EQ(pool.bytes(), ChunkPool::chunk_bytes);
  for (int i = 1; i < 1000; ++i) (void)pool.take();
  EXPECT_LE(pool.bytes(), 1100 * ChunkPool::chunk_bytes);
}

TEST(ChunkPool, gives_zeroed_chunks_side_by_side_whatever_was_taken_before) {
  ChunkPool pool;
  std::vector<std::byte*> used;
  for (const std::size_t chunks : {1U, 3U, 100U, 2U, 64U}) {
    std::byte* const begin = pool.take_zeroed(chunks);
    for (std::size_t i = 0; i < chunks * ChunkPool::chunk_bytes; ++i)
      ASSERT_EQ(begin[i], std::byte{0});
    std::memset(begin, 1, chunks * ChunkPool::chunk_bytes);
    for (int i = 0; i < 5; ++i) used.push_back(pool.take());
    for (std::byte* chunk : used) std::memset(chunk, 2, ChunkPool::chunk_bytes);
    for (std::size_t i = 0; i < chunks * ChunkPool::chunk_bytes; ++i)
      ASSERT_EQ(begin[i], std::byte{1});
    pool.give_back(used.back());
    used.pop_back();
  }
}

TEST(ChunkPool, uses_again_what_was_given_back) {
  ChunkPool pool;
  for (int round = 0; round < 100; ++round) {
    std::vector<std::byte*> chunks;
    for (int i = 0; i < 10; ++i) chunks.push_back(pool.take());
    for (std::byte* chunk : chunks) pool.give_back(chunk);
  }
  EXPECT_LE(pool.bytes(), 20 * ChunkPool::chunk_bytes);
}

TEST(ChunkPool, never_gives_a_chunk_to_two_while_others_give_back) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  ChunkPool pool;
  std::set<std::byte*> taken;
  for (int round = 0; round < 50; ++round) {
    while (taken.size() < 40) ASSERT_TRUE(taken.insert(pool.take()).second);
    std::vector<std::byte*> first, second;
    for (std::byte* chunk : taken) {
      if (random.below(3) != 0) (random.below(2) == 0 ? first : second).push_back(chunk);
    }
    for (const auto* back : {&first, &second}) {
      for (std::byte* chunk : *back) taken.erase(chunk);
    }
    const auto give_back = [&pool](const std::vector<std::byte*>& chunks) {
      for (std::byte* chunk : chunks) pool.give_back(chunk);
    };
    std::thread one(give_back, first), two(give_back, second);
    while (taken.size() < 30) ASSERT_TRUE(taken.insert(pool.take()).second);
    one.join();
    two.join();
  }
  EXPECT_LE(pool.bytes(), 200 * ChunkPool::chunk_bytes);
}

}  // namespace
}  // namespace weir
