#include "dataflow/operators/event_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "dataflow/harness.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using Outputs64 = std::vector<Emitted<std::int64_t>>;

StreamHarness<std::int64_t, std::int64_t> timed(WatermarkStrategy strategy) {
  return StreamHarness<std::int64_t, std::int64_t>([strategy](Stream<std::int64_t> in) {
    return in.event_time([](std::int64_t ms) { return EventTime{ms}; }, strategy);
  });
}

TEST(EventTime, stamps_records_and_sends_a_watermark_behind_each_batch_that_moves_it) {
  auto harness = timed(bounded(10ms));
  harness.push(1337);
  harness.push_batch({{12'345}, {12'300}});
  harness.push(12'340);
  EXPECT_EQ(
      harness.take_outputs(),
      (Outputs64{Record<std::int64_t>{1337, EventTime{1337}}, Watermark{EventTime{1326}},
                 Record<std::int64_t>{12'345, EventTime{12'345}},
                 Record<std::int64_t>{12'300, EventTime{12'300}}, Watermark{EventTime{12'334}},
                 Record<std::int64_t>{12'340, EventTime{12'340}}}));
}

TEST(EventTime, replaces_watermarks_from_before_but_for_the_last) {
  auto harness = timed(monotonous());
  harness.push(5, EventTime{500});
  harness.watermark(EventTime{400});
  harness.end_input();
  EXPECT_EQ(harness.take_outputs(),
            (Outputs64{Record<std::int64_t>{5, EventTime{5}}, Watermark{EventTime{4}},
                       Watermark{EventTime::max()}}));
}

TEST(EventTime, is_read_from_a_member_or_a_time_point) {
  struct Visit {
    std::chrono::sys_seconds at;
  };
  StreamHarness<Visit, Visit> harness(
      [](Stream<Visit> in) { return in.event_time(&Visit::at, monotonous()); });
  harness.push({std::chrono::sys_seconds{5s}});
  EXPECT_EQ(std::get<Record<Visit>>(harness.take_outputs().front()).time, EventTime{5000});
}

}  // namespace
}  // namespace weir
