#include "dataflow/operators/join_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weir {
namespace {

using testing::ElementsAre;

using Buffer = JoinBuffer<std::string>;

std::vector<std::string> values_of(const Buffer& buffer) {
  std::vector<std::string> values;
  for (const auto& element : buffer) values.push_back(element.value);
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
  EXPECT_EQ(to_bytes(buffer),
            to_bytes(std::vector<JoinElement<std::string>>(buffer.begin(), buffer.end())));
}

}  // namespace
}  // namespace weir
