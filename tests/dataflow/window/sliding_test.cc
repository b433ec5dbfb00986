#include "dataflow/window/sliding.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace weir {
namespace {

using namespace std::chrono_literals;

std::vector<Window> windows_of(const Sliding& sliding, std::int64_t ms) {
  std::vector<Window> windows;
  sliding.assign(0, EventTime{ms}, windows);
  return windows;
}
Window window(std::int64_t start, std::int64_t end) {
  return {EventTime{start}, EventTime{end}};
}

TEST(Sliding, a_time_is_in_every_window_that_holds_it_newest_first) {
  EXPECT_EQ(windows_of(Sliding::of(3s, 1s), 0),
            (std::vector{window(0, 3000), window(-1000, 2000), window(-2000, 1000)}));
  EXPECT_EQ(windows_of(Sliding::of(3s, 1s), -1),
            (std::vector{window(-1000, 2000), window(-2000, 1000), window(-3000, 0)}));
  EXPECT_EQ(windows_of(Sliding::of(5ms, 5ms, 3ms), 2), (std::vector{window(-2, 3)}));
  EXPECT_TRUE(windows_of(Sliding::of(1s, 3s), 1000).empty());
}

TEST(Sliding, with_an_impossible_size_slide_or_offset_says_so) {
  EXPECT_TRUE(Sliding::of(0ms, 1ms).mistake());
  EXPECT_TRUE(Sliding::of(5ms, 0ms).mistake());
  EXPECT_TRUE(Sliding::of(5ms, -1ms).mistake());
  EXPECT_TRUE(Sliding::of(5ms, 2ms, 2ms).mistake());
  EXPECT_TRUE(Sliding::of(5ms, 2ms, -2ms).mistake());
  EXPECT_FALSE(Sliding::of(5ms, 2ms, 1ms).mistake());
  EXPECT_FALSE(Sliding::of(5ms, 2ms, -1ms).mistake());
}

}  // namespace
}  // namespace weir
