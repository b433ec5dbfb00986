#include "dataflow/harness.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataflow/window/watermark_strategy.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

struct Reading {
  std::string sensor;
  int celsius = 0;
};
struct Alert {
  std::string sensor;
  std::string what;
  friend bool operator==(const Alert&, const Alert&) = default;
};

// Says when a sensor is hot, and when it has been silent for a minute or ten.
struct Alerts {
  int limit = 100;
  ValueState<int> readings{};
  Timer silence{};
  SideOutput<int> cold{};

  void on_element(const Reading& reading, KeyedContext<std::string, Alert>& ctx) {
    if (reading.celsius < 0) throw std::runtime_error("a sensor froze");
    if (reading.celsius > limit) ctx.emit({reading.sensor, "hot"});
    if (reading.celsius <= limit) cold.push(reading.celsius);
    if (readings.update()++ == 0) {
      silence.at(ctx.timestamp() + 60s);
      silence.at(ctx.processing_time() + 10min);
    }
  }
  void on_timer(const TimerFiring& firing, KeyedContext<std::string, Alert>& ctx) {
    ctx.emit({ctx.key(), firing.event_time ? "a minute" : "silent"});
  }
};

StreamHarness<Reading, Alert> alerts_harness(HarnessOptions options = {}) {
  return StreamHarness<Reading, Alert>(
      [](Stream<Reading> readings) {
        return readings.key_by(&Reading::sensor).process("alerts", Alerts{.limit = 30});
      },
      options);
}

// What the header shows.
TEST(StreamHarness, reads_as_its_example) {
  StreamHarness<Reading, Alert> harness([](Stream<Reading> readings) {
    return readings.key_by(&Reading::sensor).process("alerts", Alerts{.limit = 30});
  });
  harness.push({"attic", 35}, EventTime{1000});
  harness.push({"cellar", 12}, EventTime{1200});
  EXPECT_EQ(harness.take_values(), (std::vector<Alert>{{"attic", "hot"}}));
  harness.watermark(EventTime{61'000});
  EXPECT_EQ(harness.take_values(), (std::vector<Alert>{{"attic", "a minute"}}));
  harness.advance_processing_time(10min);
  EXPECT_EQ(harness.take_values(), (std::vector<Alert>{{"attic", "silent"}, {"cellar", "silent"}}));
  harness.end_input();
  EXPECT_TRUE(harness.status());
  EXPECT_TRUE(harness.finished());
}

TEST(StreamHarness, outputs_are_records_with_their_times_and_watermarks_in_order) {
  auto harness = alerts_harness();
  harness.push({"attic", 35}, EventTime{1000});
  harness.watermark(EventTime{61'000});
  harness.idle(true);
  harness.end_input();
  EXPECT_EQ(harness.take_outputs(),
            (std::vector<Emitted<Alert>>{Record<Alert>{{"attic", "hot"}, EventTime{1000}},
                                         Record<Alert>{{"attic", "a minute"}, EventTime{61'000}},
                                         Watermark{EventTime{61'000}}, WatermarkStatus{true},
                                         WatermarkStatus{false}, Watermark{EventTime::max()}}));
}

TEST(StreamHarness, side_outputs_are_taken_by_their_member) {
  auto harness = alerts_harness();
  harness.push({"attic", 3}, EventTime{1});
  harness.push({"attic", 4}, EventTime{2});
  EXPECT_EQ(harness.take_side(&Alerts::cold), (std::vector{3, 4}));
  EXPECT_TRUE(harness.take_values().empty());
}

TEST(StreamHarness, what_a_function_throws_becomes_the_status_and_ends_the_run) {
  auto harness = alerts_harness();
  harness.push({"attic", -1});
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().code, Errc::user_code);
  EXPECT_EQ(harness.status().error().message,
            "user function of 'alerts' threw an exception: a sensor froze");
  harness.push({"attic", 35});
  harness.advance_processing_time(1h);
  harness.end_input();
  EXPECT_TRUE(harness.take_outputs().empty());
  EXPECT_FALSE(harness.finished());
}

TEST(StreamHarness, mistakes_of_the_plan_are_the_status) {
  StreamHarness<int, int> harness(
      [](Stream<int> in) { return in.map([](int x) { return x; }).parallelism(0); });
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().code, Errc::invalid_plan);
  harness.push(1);
  harness.advance_processing_time(1s);
  EXPECT_TRUE(harness.take_values().empty());
}

TEST(StreamHarness, tasks_apart_give_what_a_chain_gives) {
  for (const bool chaining : {true, false}) {
    StreamHarness<int, int> harness(
        [](Stream<int> in) {
          return in.map([](int x) { return x + 1; }).filter([](int x) { return x % 2 == 0; });
        },
        {.chaining = chaining});
    harness.push_batch({{1, EventTime{1}}, {2, EventTime{2}}, {3, EventTime{3}}});
    harness.watermark(EventTime{3});
    EXPECT_EQ(harness.take_outputs(),
              (std::vector<Emitted<int>>{Record<int>{2, EventTime{1}}, Record<int>{4, EventTime{3}},
                                         Watermark{EventTime{3}}}));
  }
}

TEST(StreamHarness, steps_may_be_parallel) {
  StreamHarness<int, Keyed<int, std::int64_t>> harness([](Stream<int> in) {
    return in.key_by([](int x) { return x % 10; }).count("count").at_end().parallelism(3);
  });
  for (int i = 0; i < 1000; ++i) harness.push(i);
  harness.end_input();
  const auto counts = harness.take_values();
  ASSERT_EQ(counts.size(), 10U);
  for (const auto& count : counts) EXPECT_EQ(count.value, 100);
}

TEST(StreamHarness, processing_time_stops_wherever_a_timer_is_set) {
  struct Clockwork {
    Timer tick;
    void on_element(const int&, KeyedContext<int, std::int64_t>& ctx) {
      tick.at(ctx.processing_time() + 10ms);
    }
    void on_timer(const TimerFiring&, KeyedContext<int, std::int64_t>& ctx) {
      ctx.emit(ctx.processing_time().ms);
      tick.at(ctx.processing_time() + 10ms);
    }
  };
  StreamHarness<int, std::int64_t> harness([](Stream<int> in) {
    return in.key_by([](int x) { return x; }).process("clockwork", Clockwork{});
  });
  harness.push(1);
  harness.set_processing_time({35});
  EXPECT_EQ(harness.take_values(), (std::vector<std::int64_t>{10, 20, 30}));
}

TEST(StreamHarness, strict_runs_fail_at_the_first_record_that_does_not_parse) {
  const auto digits = [](Stream<std::string> in) {
    return in.parse("digits", [](const std::string& text) -> std::optional<int> {
      return text.size() == 1 ? std::optional(text[0] - '0') : std::nullopt;
    });
  };
  StreamHarness<std::string, int> lenient(digits);
  lenient.push("7");
  lenient.push("seven");
  EXPECT_EQ(lenient.take_values(), std::vector{7});
  EXPECT_EQ(lenient.bad_records(), 1U);
  StreamHarness<std::string, int> strict(digits, {.strict = true});
  strict.push("seven");
  ASSERT_FALSE(strict.status());
  EXPECT_EQ(strict.status().error().message,
            "'seven': it does not parse (step 'digits'; without --strict such records are counted "
            "and skipped)");
}

TEST(TwoInputHarness, each_input_has_its_own_watermark) {
  struct Merge {
    void on_element1(const int& x, Context<std::string>& ctx) { ctx.emit(std::to_string(x)); }
    void on_element2(const std::string& x, Context<std::string>& ctx) { ctx.emit(x); }
  };
  TwoInputHarness<int, std::string, std::string> harness(
      [](Stream<int> a, Stream<std::string> b) { return a.connect(b).process("merge", Merge{}); });
  harness.first().push(1, EventTime{1});
  harness.second().push("two", EventTime{2});
  harness.first().watermark(EventTime{5});
  EXPECT_EQ(harness.take_outputs(),
            (std::vector<Emitted<std::string>>{Record<std::string>{"1", EventTime{1}},
                                               Record<std::string>{"two", EventTime{2}}}));
  harness.second().watermark(EventTime{3});
  EXPECT_EQ(harness.take_outputs(), (std::vector<Emitted<std::string>>{Watermark{EventTime{3}}}));
  harness.first().end();
  EXPECT_FALSE(harness.finished());
  harness.second().end();
  EXPECT_TRUE(harness.finished());
}

}  // namespace
}  // namespace weir
