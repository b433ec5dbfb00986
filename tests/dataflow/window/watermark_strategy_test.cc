#include "dataflow/window/watermark_strategy.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(BoundedWatermarks, say_nothing_before_the_first_record) {
  EXPECT_EQ(bounded(10ms).generator().current(), EventTime::min());
}

TEST(BoundedWatermarks, trail_the_largest_time_by_the_bound_and_a_millisecond) {
  auto watermarks = bounded(10ms).generator();
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
  auto watermarks = monotonous().generator();
  watermarks.on_time(EventTime{5});
  EXPECT_EQ(watermarks.current(), EventTime{4});
}

TEST(BoundedWatermarks, do_not_wrap_at_the_ends_of_time) {
  auto watermarks = bounded(1h).generator();
  watermarks.on_time(EventTime::min() + 5ms);
  EXPECT_EQ(watermarks.current(), EventTime::min());
  watermarks.on_time(EventTime::max());
  EXPECT_EQ(watermarks.current(), EventTime::max() - 1h - 1ms);
}

TEST(PunctuatedWatermarks, come_from_records_that_carry_them_and_never_go_back) {
  auto watermarks = punctuated([](int marker, EventTime time) {
                      return marker > 0 ? std::optional(time) : std::nullopt;
                    }).generator();
  watermarks.on_record(0, EventTime{50});
  EXPECT_EQ(watermarks.current(), EventTime::min());
  watermarks.on_record(1, EventTime{40});
  EXPECT_EQ(watermarks.current(), EventTime{40});
  watermarks.on_record(1, EventTime{30});
  EXPECT_EQ(watermarks.current(), EventTime{40});
}

TEST(WatermarkStrategy, says_what_is_wrong_with_it) {
  EXPECT_FALSE(bounded(0ms).mistake());
  EXPECT_EQ(bounded(-1s).mistake(),
            "bounded(…) has -1000 ms of out-of-orderness: it must not be below 0");
  EXPECT_EQ(monotonous().with_idleness(0ms).mistake(),
            "with_idleness(…) has 0 ms: it must be above 0");
  EXPECT_EQ(monotonous().with_idleness(-1ms).mistake(),
            "with_idleness(…) has -1 ms: it must be above 0");
  EXPECT_FALSE(monotonous().with_idleness(1ms).mistake());
  EXPECT_EQ(monotonous().with_max_ahead(-1ms).mistake(),
            "with_max_ahead(…) has -1 ms: it must not be below 0");
}

}  // namespace
}  // namespace weir
