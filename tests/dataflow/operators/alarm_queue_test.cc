#include "dataflow/operators/alarm_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using Queue = AlarmQueue<int>;
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::vector<int> popped(Queue& queue, std::int64_t now_ms) {
  std::vector<int> keys;
  while (const auto entry = queue.pop_due(now_ms)) keys.push_back(entry->key);
  return keys;
}

TEST(AlarmQueue, yields_what_is_due_by_time_and_then_in_the_order_of_pushing) {
  Queue queue;
  int key = 0;
  for (const std::int64_t ms : {most, std::int64_t{5}, std::int64_t{-3}, least, std::int64_t{5}})
    queue.push({ms, 0, key++});
  EXPECT_EQ(queue.next_time_ms(), least);
  EXPECT_EQ(popped(queue, -4), (std::vector<int>{3}));
  EXPECT_EQ(queue.next_time_ms(), -3);
  EXPECT_EQ(popped(queue, 5), (std::vector<int>{2, 1, 4}));
  EXPECT_TRUE(popped(queue, most - 1).empty());
  EXPECT_EQ(popped(queue, most), (std::vector<int>{0}));
  EXPECT_EQ(queue.next_time_ms(), std::nullopt);
  EXPECT_EQ(queue.size(), 0U);
}

TEST(AlarmQueue, what_is_pushed_for_a_time_that_has_passed_comes_next) {
  Queue queue;
  queue.push({100, 0, 1});
  queue.push({101, 0, 2});
  EXPECT_EQ(popped(queue, 100), (std::vector<int>{1}));
  queue.push({50, 0, 3});
  EXPECT_EQ(popped(queue, 101), (std::vector<int>{3, 2}));
}

TEST(AlarmQueue, drops_what_is_not_kept) {
  Queue queue;
  for (int key = 0; key < 100; ++key) queue.push({key / 2, 0, key});
  (void)popped(queue, 9);
  queue.drop_unless([](const Queue::Entry& entry) { return entry.key % 10 == 0; });
  EXPECT_EQ(queue.size(), 8U);
  EXPECT_EQ(popped(queue, 24), (std::vector<int>{20, 30, 40}));
}

std::vector<int> known_next(const Queue& queue, std::size_t most_wanted) {
  std::vector<int> keys;
  queue.visit_next([&](const Queue::Entry& entry) {
    keys.push_back(entry.key);
    return keys.size() < most_wanted;
  });
  return keys;
}

TEST(AlarmQueue, says_what_comes_next_as_far_as_it_knows) {
  Queue queue;
  EXPECT_TRUE(known_next(queue, 9).empty());
  for (int key = 0; key < 3; ++key) queue.push({1'000'007, 0, key});
  queue.push({1'000'100, 0, 4});
  queue.push({1'000'008, 0, 3});
  queue.push({2'000'000, 0, 5});
  ASSERT_TRUE(queue.pop_due(1'000'007));
  EXPECT_EQ(known_next(queue, 9), (std::vector<int>{1, 2, 3, 4}));
  EXPECT_EQ(known_next(queue, 3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(popped(queue, 3'000'000), (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(AlarmQueue, keeps_keys_that_own_memory) {
  AlarmQueue<std::string> queue;
  for (int i = 0; i < 1000; ++i)
    queue.push({i * 37 % 500, 0, std::string(40, 'k') + std::to_string(i)});
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(queue.pop_due(500));
  queue.drop_unless([](const auto& entry) { return entry.time_ms % 2 == 0; });
  std::int64_t last = 0;
  while (const auto entry = queue.pop_due(500)) {
    EXPECT_GE(entry->time_ms, last);
    EXPECT_EQ(entry->time_ms % 2, 0);
    last = entry->time_ms;
    const int i = std::stoi(entry->key.substr(40));
    EXPECT_EQ(i * 37 % 500, last);
  }
  EXPECT_EQ(queue.size(), 0U);
  queue.push({1000, 0, std::string(40, 'k')});  // is there when the queue goes
}

TEST(AlarmQueue, yields_random_entries_in_the_order_of_a_stable_sort) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const std::uint64_t spread = std::uint64_t{1} << (1 + random.below(62));
    Queue queue;
    std::vector<std::pair<std::int64_t, int>> expected;  // sorted by time, stable
    std::int64_t now = -static_cast<std::int64_t>(random.below(spread));
    for (int i = 0; i < 300; ++i) {
      if (random.below(4) != 0) {
        const std::int64_t at = now + 1 + static_cast<std::int64_t>(random.below(spread) / 2);
        queue.push({at, 0, i});
        const auto place =
            std::ranges::upper_bound(expected, at, {}, &std::pair<std::int64_t, int>::first);
        expected.insert(place, {at, i});
        continue;
      }
      now += static_cast<std::int64_t>(random.below(spread) / 300);
      while (!expected.empty() && expected.front().first <= now) {
        ASSERT_EQ(queue.next_time_ms(), expected.front().first);
        const auto entry = queue.pop_due(now);
        ASSERT_TRUE(entry);
        ASSERT_EQ(entry->key, expected.front().second);
        expected.erase(expected.begin());
      }
      ASSERT_FALSE(queue.pop_due(now));
      ASSERT_EQ(queue.size(), expected.size());
    }
  }
}

}  // namespace
}  // namespace weir
