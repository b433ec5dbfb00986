#include "dataflow/window/tumbling.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

std::int64_t start(std::int64_t time, std::int64_t offset, std::int64_t size) {
  return window_start(EventTime{time}, Duration{offset}, Duration{size}).ms;
}

TEST(Window, starts_at_the_multiple_of_the_size_at_or_before_the_time) {
  EXPECT_EQ(start(7, 0, 5), 5);
  EXPECT_EQ(start(-1, 0, 5), -5);
  EXPECT_EQ(start(-5, 0, 5), -5);
  EXPECT_EQ(start(-6, 0, 5), -10);
  EXPECT_EQ(start(7, 3, 5), 3);
  EXPECT_EQ(start(2, 3, 5), -2);
  EXPECT_EQ(start(7, -2, 5), 3);
  EXPECT_EQ(start(0, 1, 4), -3);
}

TEST(Window, its_last_time_is_a_millisecond_before_its_end) {
  EXPECT_EQ(Tumbling::of(5s).window_of(EventTime{12'000}),
            (Window{EventTime{10'000}, EventTime{15'000}}));
  EXPECT_EQ(Tumbling::of(5s).window_of(EventTime{12'000}).max_time(), EventTime{14'999});
  EXPECT_EQ(Tumbling::of(1h, 15min).window_of(EventTime{0}),
            (Window{EventTime{-2'700'000}, EventTime{900'000}}));
}

TEST(Window, holds_its_time_wherever_that_is) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    for (int i = 0; i < 1000; ++i) {
      const auto size =
          static_cast<std::int64_t>(1 + random.below(random.below(2) == 0 ? 10 : 1'000'000'000));
      const auto offset =
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * size - 1))) - size +
          1;
      const EventTime time{static_cast<std::int64_t>(random())};
      const Window window = Tumbling::of(Duration{size}, Duration{offset}).window_of(time);
      ASSERT_LE(window.start, time);
      ASSERT_GE(window.max_time(), time);
      if (window.start == EventTime::min() || window.end == EventTime::max()) continue;
      ASSERT_EQ(window.end, window.start + Duration{size});
      ASSERT_EQ((window.start.ms - offset) % size, 0);
    }
  }
}

TEST(Window, at_the_ends_of_time_is_cut_short_and_not_wrapped) {
  for (const Duration offset : {0ms, 1ms, -1ms, 4999ms, -4999ms}) {
    const Tumbling windows = Tumbling::of(5s, offset);
    const Window first = windows.window_of(EventTime::min());
    EXPECT_EQ(first.start, EventTime::min());
    EXPECT_EQ(windows.window_of(first.end).start, first.end);  // the next one is whole and in step
    EXPECT_EQ(windows.window_of(first.end), (Window{first.end, first.end + 5s}));
    const Window last = windows.window_of(EventTime::max());
    EXPECT_EQ(last.max_time(), EventTime::max());
    EXPECT_EQ(windows.window_of(last.start - 1ms), (Window{last.start - 5s, last.start}));
  }
}

TEST(Window, a_run_of_times_ends_at_the_first_outside_wherever_in_time_that_is) {
  const std::vector<Window> windows{{EventTime{-5}, EventTime{5}},
                                    {EventTime::min(), EventTime::min() + 7ms},
                                    {EventTime::max() - 7ms, EventTime::max()}};
  for (const Window& window : windows) {
    for (const EventTime outside :
         {EventTime::min(), EventTime{-6}, EventTime{0}, EventTime{5}, EventTime::max()}) {
      if (outside >= window.start && outside < window.end) continue;
      for (std::size_t place = 0; place < 200; ++place) {
        std::vector<EventTime> times(200, window.start);
        for (std::size_t i = 0; i < times.size(); i += 2) times[i] = window.max_time();
        if (window.end == EventTime::max()) times.assign(200, window.start);
        ASSERT_EQ(end_of_run(times, 1, 200, window), 200U);
        times[place] = outside;
        ASSERT_EQ(end_of_run(times, 0, 200, window), place);
      }
    }
  }
}

TEST(Tumbling, with_an_impossible_size_or_offset_says_so) {
  EXPECT_TRUE(Tumbling::of(0ms).mistake());
  EXPECT_TRUE(Tumbling::of(-1ms).mistake());
  EXPECT_TRUE(Tumbling::of(5ms, 5ms).mistake());
  EXPECT_TRUE(Tumbling::of(5ms, -5ms).mistake());
  EXPECT_FALSE(Tumbling::of(5ms, -4ms).mistake());
}

}  // namespace
}  // namespace weir
