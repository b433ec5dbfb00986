#include "dataflow/operators/join_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using testing::ElementsAre;

using Buffer = JoinBuffer<std::string>;

std::vector<std::string> values_of(const Buffer& buffer) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < buffer.size(); ++i) values.push_back(buffer[i].value);
  return values;
}
void drop_until(Buffer& buffer, std::int64_t ms) {
  buffer.drop_front([ms](const JoinElement<std::string>& element) { return element.at.ms < ms; });
}

TEST(JoinBuffer, keeps_the_order_of_time_and_among_equals_that_of_arrival) {
  Buffer buffer;
  for (const std::int64_t ms : {5, 3, 5, 4, 9})
    buffer.insert({EventTime{ms}, std::to_string(ms) + (buffer.empty() ? " first" : "")});
  EXPECT_THAT(values_of(buffer), ElementsAre("3", "4", "5 first", "5", "9"));
  drop_until(buffer, 4);
  buffer.insert({EventTime{3}, "late"});
  EXPECT_THAT(values_of(buffer), ElementsAre("late", "4", "5 first", "5", "9"));
}

TEST(JoinBuffer, keeps_room_for_no_more_than_twice_what_waits) {
  Buffer buffer;
  for (std::int64_t ms = 0; ms < 100'000; ++ms) {
    buffer.insert({EventTime{ms}, "x"});
    drop_until(buffer, ms - 9);
  }
  EXPECT_EQ(values_of(buffer).size(), 10U);
  EXPECT_LT(heap_bytes(buffer), 100 * sizeof(JoinElement<std::string>));
  drop_until(buffer, 100'000);
  EXPECT_TRUE(buffer.empty());
}

TEST(JoinBuffer, is_written_as_what_is_there) {
  Buffer buffer;
  for (std::int64_t ms = 0; ms < 5; ++ms) buffer.insert({EventTime{ms}, std::to_string(ms)});
  drop_until(buffer, 2);
  const auto read = from_bytes<Buffer>(to_bytes(buffer));
  ASSERT_TRUE(read);
  EXPECT_THAT(values_of(*read), ElementsAre("2", "3", "4"));
  std::vector<JoinElement<std::string>> elements;
  for (std::size_t i = 0; i < buffer.size(); ++i) elements.push_back(buffer[i]);
  EXPECT_EQ(to_bytes(buffer), to_bytes(elements));
}

template <class T>
void compare_with_a_sorted_vector() {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    JoinBuffer<T> buffer;
    std::vector<std::pair<std::int64_t, int>> expected;
    const auto first_at = [&](std::int64_t ms) {
      return static_cast<std::size_t>(
          std::ranges::lower_bound(expected, ms, {}, [](const auto& pair) { return pair.first; }) -
          expected.begin());
    };
    for (int step = 0; step < 200; ++step) {
      const auto ms = static_cast<std::int64_t>(random.below(10));
      if (random.below(3) != 0) {
        buffer.insert({EventTime{ms}, T{step}});
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(first_at(ms + 1)),
                        {ms, step});
      } else {
        buffer.drop_front([ms](const auto& element) { return element.at.ms < ms; });
        expected.erase(expected.begin(),
                       expected.begin() + static_cast<std::ptrdiff_t>(first_at(ms)));
      }
      ASSERT_EQ(buffer.empty(), expected.empty());
      ASSERT_EQ(buffer.size(), expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(buffer[i].at.ms, expected[i].first);
        ASSERT_EQ(buffer[i].value.number, expected[i].second);
      }
      for (std::int64_t at = -1; at < 11; ++at)
        ASSERT_EQ(buffer.lower_bound(EventTime{at}), first_at(at));
      buffer.touch();
    }
  }
}

struct Small {
  int number = 0;
};
struct Large {
  int number = 0;
  std::array<std::int64_t, 20> more{};
};

TEST(JoinBuffer, does_what_a_sorted_vector_does) {
  compare_with_a_sorted_vector<Small>();
  compare_with_a_sorted_vector<Large>();
}

TEST(JoinBuffer, takes_little_room_while_nothing_waits) {
  EXPECT_LE(sizeof(JoinBuffer<Large>), 2 * sizeof(void*));
  EXPECT_EQ(heap_bytes(JoinBuffer<Large>()), 0U);
}

}  // namespace
}  // namespace weir
