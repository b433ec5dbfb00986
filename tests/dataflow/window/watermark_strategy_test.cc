#include "dataflow/window/watermark_strategy.h"

#include <gtest/gtest.h>

#include <chrono>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(BoundedWatermarks, say_nothing_before_the_first_record) {
  EXPECT_EQ(BoundedWatermarks(bounded(10ms)).current(), EventTime::min());
}

TEST(BoundedWatermarks, trail_the_largest_time_by_the_bound_and_a_millisecond) {
  BoundedWatermarks watermarks(bounded(10ms));
  watermarks.on_time(EventTime{1337});
  EXPECT_EQ(watermarks.current(), EventTime{1326});
  for (const std::int64_t time : {12'345, 12'300, 12'340, 12'280})
    watermarks.on_time(EventTime{time});
  EXPECT_EQ(watermarks.current(), EventTime{12'334});
  watermarks.on_time(EventTime{723'456});
  EXPECT_EQ(watermarks.current(), EventTime{723'445});
  EXPECT_EQ(watermarks.current(), EventTime{723'445});
}

TEST(BoundedWatermarks, of_ordered_records_are_a_millisecond_behind) {
  BoundedWatermarks watermarks(monotonous());
  watermarks.on_time(EventTime{5});
  EXPECT_EQ(watermarks.current(), EventTime{4});
}

TEST(BoundedWatermarks, do_not_wrap_at_the_ends_of_time) {
  BoundedWatermarks watermarks(bounded(1h));
  watermarks.on_time(EventTime::min() + 5ms);
  EXPECT_EQ(watermarks.current(), EventTime::min());
  watermarks.on_time(EventTime::max());
  EXPECT_EQ(watermarks.current(), EventTime::max() - 1h - 1ms);
}

}  // namespace
}  // namespace weir
