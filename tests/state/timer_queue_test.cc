#include "state/timer_queue.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using Queue = TimerQueue<std::string>;
using Entry = TimerEntry<std::string>;
constexpr TimerIndex first{0}, second{1};
constexpr KeyGroupSlice all_groups{{{0}, 128}, 128};

std::vector<std::string> pop_all(Queue& queue, std::int64_t now) {
  std::vector<std::string> keys;
  while (const auto entry = queue.pop_due(now)) keys.push_back(entry->key);
  return keys;
}

TEST(TimerQueue, yields_by_time_and_then_in_the_order_of_registration) {
  Queue queue{all_groups};
  queue.add({20, first, "c"});
  queue.add({10, first, "b"});
  queue.add({10, second, "a"});
  queue.add({30, first, "d"});
  EXPECT_EQ(pop_all(queue, 20), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(queue.size(), 1U);
  EXPECT_EQ(queue.next_time_ms(), 30);
}

TEST(TimerQueue, a_timer_registered_twice_fires_once) {
  Queue queue{all_groups};
  EXPECT_TRUE(queue.add({10, first, "a"}));
  EXPECT_FALSE(queue.add({10, first, "a"}));
  EXPECT_TRUE(queue.add({10, second, "a"}));
  EXPECT_TRUE(queue.add({11, first, "a"}));
  EXPECT_EQ(pop_all(queue, 10).size(), 2U);
  EXPECT_TRUE(queue.add({10, first, "a"}));  // it has fired: this is another
}

TEST(TimerQueue, a_deleted_timer_does_not_fire) {
  Queue queue{all_groups};
  queue.add({10, first, "a"});
  queue.add({10, first, "b"});
  EXPECT_TRUE(queue.remove({10, first, "a"}));
  EXPECT_FALSE(queue.remove({10, first, "a"}));
  EXPECT_FALSE(queue.remove({10, second, "b"}));
  EXPECT_EQ(pop_all(queue, 100), std::vector<std::string>{"b"});
  EXPECT_FALSE(queue.next_time_ms());
}

TEST(TimerQueue, a_timer_made_again_fires_once_and_in_its_new_place) {
  Queue queue{all_groups};
  queue.add({10, first, "a"});
  queue.add({10, first, "b"});
  queue.remove({10, first, "a"});
  queue.add({10, first, "a"});
  EXPECT_EQ(pop_all(queue, 10), (std::vector<std::string>{"b", "a"}));
  EXPECT_EQ(queue.size(), 0U);
}

TEST(TimerQueue, times_may_be_extreme) {
  Queue queue{all_groups};
  queue.add({std::numeric_limits<std::int64_t>::max(), first, "last"});
  queue.add({std::numeric_limits<std::int64_t>::min(), first, "first"});
  EXPECT_EQ(pop_all(queue, 0), std::vector<std::string>{"first"});
  EXPECT_EQ(pop_all(queue, std::numeric_limits<std::int64_t>::max()),
            std::vector<std::string>{"last"});
}

// Against a sorted map, over random operations.
TEST(TimerQueue, does_what_a_sorted_map_does) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    TimerQueue<std::uint64_t> queue{all_groups};
    std::map<std::tuple<std::int64_t, std::uint32_t, std::uint64_t>, std::uint64_t>
        registered;  // with the order
    std::uint64_t order = 0;
    for (int step = 0; step < 3000; ++step) {
      const auto time = static_cast<std::int64_t>(random.below(100));
      const TimerEntry<std::uint64_t> entry{
          time, {static_cast<std::uint32_t>(random.below(2))}, random.below(10)};
      const auto as_key = [](const TimerEntry<std::uint64_t>& e) {
        return std::tuple(e.time_ms, e.timer.value, e.key);
      };
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        ASSERT_EQ(queue.add(entry), registered.emplace(as_key(entry), ++order).second);
      } else if (what < 9) {
        ASSERT_EQ(queue.remove(entry), registered.erase(as_key(entry)) == 1);
      } else {
        const auto popped = queue.pop_due(time);
        auto due = registered.end();
        for (auto it = registered.begin(); it != registered.end() && std::get<0>(it->first) <= time;
             ++it) {
          const bool earlier =
              due == registered.end() || std::get<0>(it->first) < std::get<0>(due->first) ||
              (std::get<0>(it->first) == std::get<0>(due->first) && it->second < due->second);
          if (earlier) due = it;
        }
        ASSERT_EQ(popped.has_value(), due != registered.end());
        if (!popped) continue;
        ASSERT_EQ(as_key(*popped), due->first);
        registered.erase(due);
      }
      ASSERT_EQ(queue.size(), registered.size());
      ASSERT_EQ(queue.next_time_ms().has_value(), !registered.empty());
      if (!registered.empty()) {
        ASSERT_LE(*queue.next_time_ms(), std::get<0>(registered.begin()->first));
      }
    }
  }
}

// A function that moves a timer with each record must not fill the memory with those it deleted.
TEST(TimerQueue, moving_a_timer_for_ever_takes_no_more_memory) {
  Queue queue{all_groups};
  queue.add({1'000'000, first, "still here"});
  for (std::int64_t time = 0; time < 100'000; ++time) {
    queue.remove({time + 9'999'999, first, "a"});
    queue.add({time + 10'000'000, first, "a"});
    ASSERT_LE(queue.held(), 1000U);
  }
  EXPECT_EQ(pop_all(queue, 20'000'000), (std::vector<std::string>{"still here", "a"}));
}

}  // namespace
}  // namespace weir
