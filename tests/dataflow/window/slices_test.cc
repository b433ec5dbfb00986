#include "dataflow/window/slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

EventTime at(std::int64_t ms) {
  return {ms};
}

TEST(Slices, a_slide_is_cut_where_windows_begin_and_end) {
  const auto even = slices_of(Sliding::of(3s, 1s));
  EXPECT_EQ(even.slice_of(at(1500)), (Slice{at(1000), at(2000)}));
  EXPECT_EQ(even.first_window_with({at(1000), at(2000)}), (Window{at(-1000), at(2000)}));
  EXPECT_EQ(even.last_window_with({at(1000), at(2000)}), (Window{at(1000), at(4000)}));

  const auto uneven = slices_of(Sliding::of(2500ms, 1s));
  EXPECT_EQ(uneven.slice_of(at(1499)), (Slice{at(1000), at(1500)}));
  EXPECT_EQ(uneven.slice_of(at(1500)), (Slice{at(1500), at(2000)}));
  EXPECT_EQ(uneven.first_window_with({at(1500), at(2000)}), (Window{at(0), at(2500)}));
}

TEST(Slices, no_window_holds_a_gap) {
  const auto gaps = slices_of(Sliding::of(1s, 3s, 1s));
  EXPECT_EQ(gaps.slice_of(at(1000)), (Slice{at(1000), at(2000)}));
  EXPECT_EQ(gaps.slice_of(at(3999)), (Slice{at(2000), at(4000)}));
  EXPECT_EQ(gaps.last_window_with({at(2000), at(4000)}), std::nullopt);
  EXPECT_EQ(gaps.first_window_with({at(2000), at(4000)}), std::nullopt);
}

TEST(Slices, cumulative_windows_follow_each_other_into_the_next_stretch) {
  const auto slices = slices_of(Cumulative::of(3s, 1s));
  EXPECT_EQ(slices.slice_of(at(1500)), (Slice{at(1000), at(2000)}));
  EXPECT_EQ(slices.window_after({at(0), at(2000)}), (Window{at(0), at(3000)}));
  EXPECT_EQ(slices.window_after({at(0), at(3000)}), (Window{at(3000), at(4000)}));
  EXPECT_EQ(slices.first_window_beyond(at(998)), (Window{at(0), at(1000)}));
  EXPECT_EQ(slices.first_window_beyond(at(999)), (Window{at(0), at(2000)}));
  EXPECT_EQ(slices.first_window_beyond(EventTime::max()), std::nullopt);
}

// Against what the assigner says, also where time begins and ends.
template <class Windows>
void check(const Windows& windows, std::uint64_t seed) {
  const auto slices = slices_of(windows);
  Random random(seed);
  std::vector<EventTime> times;
  for (const EventTime near : {at(0), at(-7), EventTime::min() + 50ms, EventTime::max() - 50ms}) {
    for (int i = 0; i < 40; ++i)
      times.push_back(near + Duration{static_cast<std::int64_t>(random.below(200)) - 100});
  }
  std::vector<Window> assigned;
  for (const EventTime time : times) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << " time " << time.ms);
    assigned.clear();
    windows.assign(0, time, assigned);
    std::ranges::sort(assigned);
    const Slice slice = slices.slice_of(time);
    ASSERT_LE(slice.start, time);
    ASSERT_TRUE(time < slice.end || slice.end == EventTime::max());
    ASSERT_EQ(slices.slice_of(slice.start), slice);
    if (assigned.empty()) {
      ASSERT_EQ(slices.first_window_with(slice), std::nullopt);
      ASSERT_EQ(slices.last_window_with(slice), std::nullopt);
      continue;
    }
    ASSERT_EQ(slices.first_window_with(slice), assigned.front());
    ASSERT_EQ(slices.last_window_with(slice), assigned.back());
    for (std::size_t i = 0; i < assigned.size(); ++i) {
      ASSERT_TRUE(slices.holds(assigned[i], slice));
      if (i == 0) continue;
      ASSERT_EQ(slices.window_after(assigned[i - 1]), assigned[i]);
    }
    const auto behind = slices.window_after(assigned.back());
    ASSERT_TRUE(!behind || !slices.holds(*behind, slice));
    const EventTime watermark = time;
    const auto open = std::ranges::find_if(
        assigned, [&](const Window& window) { return window.max_time() > watermark; });
    const auto beyond = slices.first_window_beyond(watermark);
    ASSERT_TRUE(open == assigned.end() || beyond == *open);
    ASSERT_TRUE(!beyond || beyond->max_time() > watermark);
  }
}

TEST(Slices, windows_are_those_of_the_assigner_at_all_times) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    const auto up_to = [&](std::uint64_t most) {
      return Duration{1 + static_cast<std::int64_t>(random.below(most))};
    };
    const Duration slide = up_to(20);
    const Duration offset = up_to(static_cast<std::uint64_t>(slide.count())) - Duration{1};
    check(Sliding::of(up_to(60), slide, random.below(2) == 0 ? offset : -offset), seed);
    check(Cumulative::of(slide * up_to(6).count(), slide, offset), seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace weir
