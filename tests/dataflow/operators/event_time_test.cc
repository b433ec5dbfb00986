#include "dataflow/operators/event_time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <vector>

#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"

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

struct RememberLast {
  ValueState<std::int64_t> last{};
  void on_element(const std::int64_t& value, KeyedContext<int, std::int64_t>& ctx) {
    last.set(value);
    ctx.emit(value);
  }
};

// With a step behind whose state keeps the watermark: what event_time knew itself is gone after a restore.
TEST(EventTime, trails_the_largest_time_by_the_bound_and_a_millisecond_and_never_goes_back) {
  HarnessScript<StreamHarness<std::int64_t, std::int64_t>>([](Stream<std::int64_t> in) {
    return in.event_time([](std::int64_t ms) { return EventTime{ms}; }, bounded(10ms))
        .key_by([](std::int64_t) { return 0; })
        .process("remember", RememberLast{});
  })
      .processing_time(1000)
      .expect({})
      .push(std::int64_t{1337})
      .expect({"1337@1337", "WM 1326"})
      .push(std::int64_t{12'345})
      .expect({"12345@12345", "WM 12334"})
      .push(std::int64_t{12'300})
      .push(std::int64_t{12'340})
      .push(std::int64_t{12'280})
      .expect({"12300@12300", "12340@12340", "12280@12280"})
      .push(std::int64_t{723'456})
      .expect({"723456@723456", "WM 723445"})
      .processing_time(2000)
      .processing_time(3000)
      .expect({})
      .run();
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

TEST(EventTime, a_silent_stream_becomes_idle_and_active_again_before_its_next_watermark) {
  auto harness = timed(monotonous().with_idleness(1s));
  harness.push(1000);
  (void)harness.take_outputs();
  harness.advance_processing_time(1s);
  EXPECT_TRUE(harness.take_outputs().empty());
  harness.advance_processing_time(1s);
  EXPECT_EQ(harness.take_outputs(), (Outputs64{WatermarkStatus{true}}));
  harness.advance_processing_time(5s);
  EXPECT_TRUE(harness.take_outputs().empty());
  harness.push(2000);
  EXPECT_EQ(harness.take_outputs(),
            (Outputs64{Record<std::int64_t>{2000, EventTime{2000}}, WatermarkStatus{false},
                       Watermark{EventTime{1999}}}));
}

TEST(EventTime, a_time_far_beyond_the_clock_does_not_move_the_watermark_and_is_counted) {
  constexpr std::int64_t now = 1'700'000'000'000;
  auto harness = timed(monotonous().with_max_ahead(1h));
  harness.set_processing_time({now});
  harness.push(now + 3'600'001);
  EXPECT_EQ(harness.records_ahead(), 1U);
  EXPECT_EQ(harness.take_outputs(),
            (Outputs64{Record<std::int64_t>{now + 3'600'001, EventTime{now + 3'600'001}}}));
  harness.push(now + 3'600'000);
  EXPECT_EQ(harness.records_ahead(), 1U);
  EXPECT_EQ(harness.take_outputs().back(),
            Emitted<std::int64_t>(Watermark{EventTime{now + 3'599'999}}));
}

TEST(EventTime, while_the_clock_is_not_set_any_time_is_believed) {
  auto harness = timed(monotonous());
  harness.push(1'700'000'000'000);
  EXPECT_EQ(harness.records_ahead(), 0U);
}

TEST(EventTime, watermarks_may_come_from_the_records) {
  StreamHarness<std::int64_t, std::int64_t> harness([](Stream<std::int64_t> in) {
    return in.event_time([](std::int64_t ms) { return EventTime{ms}; },
                         punctuated([](std::int64_t ms, EventTime time) {
                           return ms % 10 == 0 ? std::optional(time) : std::nullopt;
                         }));
  });
  harness.push(17);
  harness.push(20);
  harness.push(15);
  harness.push(10);
  EXPECT_EQ(
      harness.take_outputs(),
      (Outputs64{Record<std::int64_t>{17, EventTime{17}}, Record<std::int64_t>{20, EventTime{20}},
                 Watermark{EventTime{20}}, Record<std::int64_t>{15, EventTime{15}},
                 Record<std::int64_t>{10, EventTime{10}}}));
}

TEST(IngestionTime, is_that_of_the_clock_and_goes_on_while_nothing_comes) {
  StreamHarness<int, int> harness([](Stream<int> in) { return in.ingestion_time(); });
  harness.set_processing_time({150});
  harness.push(7, EventTime{3});
  EXPECT_EQ(harness.take_outputs(),
            (std::vector<Emitted<int>>{Record<int>{7, EventTime{150}}, Watermark{EventTime{149}}}));
  harness.set_processing_time({400});
  EXPECT_EQ(harness.take_outputs(),
            (std::vector<Emitted<int>>{Watermark{EventTime{199}}, Watermark{EventTime{399}}}));
}

}  // namespace
}  // namespace weir
