#include "state/key_groups.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/random.h"

namespace weir {
namespace {

using Bounds = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Bounds ranges(std::uint32_t parallelism, std::uint32_t max_parallelism) {
  Bounds bounds;
  for (std::uint32_t i = 0; i < parallelism; ++i) {
    const auto range = key_group_range_of({i}, parallelism, max_parallelism);
    bounds.emplace_back(range.first.value, range.last().value);
  }
  return bounds;
}

TEST(KeyGroups, default_maximum_is_one_and_a_half_times_the_parallelism_as_a_power_of_two) {
  const Bounds expected{{1, 128},         {85, 128},        {86, 256},        {100, 256},
                        {170, 256},       {171, 256},       {200, 512},       {1000, 2048},
                        {10'000, 16'384}, {21'845, 32'768}, {21'846, 32'768}, {32'768, 32'768}};
  for (const auto& [parallelism, max] : expected)
    EXPECT_EQ(default_max_parallelism(parallelism), max) << parallelism;
}

TEST(KeyGroups, ranges_of_128_groups_are_even_and_contiguous) {
  EXPECT_EQ(ranges(1, 128), (Bounds{{0, 127}}));
  EXPECT_EQ(ranges(2, 128), (Bounds{{0, 63}, {64, 127}}));
  EXPECT_EQ(ranges(3, 128), (Bounds{{0, 42}, {43, 85}, {86, 127}}));
  EXPECT_EQ(ranges(4, 128), (Bounds{{0, 31}, {32, 63}, {64, 95}, {96, 127}}));
  EXPECT_EQ(ranges(5, 128), (Bounds{{0, 25}, {26, 51}, {52, 76}, {77, 102}, {103, 127}}));
}

TEST(KeyGroups, a_group_belongs_to_the_subtask_whose_range_contains_it) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const auto max =
        static_cast<std::uint32_t>(1 + random.below(round < 250 ? 300 : parallelism_max));
    const auto parallelism = static_cast<std::uint32_t>(1 + random.below(max));
    SCOPED_TRACE(testing::Message() << "parallelism " << parallelism << " of " << max);
    std::uint32_t next = 0;
    for (std::uint32_t subtask = 0; subtask < parallelism; ++subtask) {
      const auto range = key_group_range_of({subtask}, parallelism, max);
      ASSERT_EQ(range.first.value, next);
      ASSERT_GT(range.count, 0U);
      for (; next <= range.last().value; ++next) {
        ASSERT_EQ(subtask_of({next}, parallelism, max), SubtaskIndex{subtask});
        ASSERT_TRUE(range.contains({next}));
      }
      ASSERT_FALSE(range.contains({next}));
    }
    ASSERT_EQ(next, max);
  }
}

TEST(KeyGroups, hashes_fall_into_all_groups_evenly) {
  std::vector<int> counts(128);
  for (int key = 0; key < 128'000; ++key) {
    const KeyGroup group = key_group_of(hash_of(key), 128);
    ASSERT_LT(group.value, 128U);
    ++counts[group.value];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 200);
  EXPECT_EQ(key_group_of(~KeyHash{0}, parallelism_max), KeyGroup{parallelism_max - 1});
  EXPECT_EQ(key_group_of(0, parallelism_max), KeyGroup{0});
}

// An empty range contains nothing, whatever its first group.
TEST(KeyGroups, the_default_range_is_empty) {
  EXPECT_FALSE(KeyGroupRange{}.contains({0}));
  EXPECT_FALSE(KeyGroupRange{}.contains({127}));
}

}  // namespace
}  // namespace weir
