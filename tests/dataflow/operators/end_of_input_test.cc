// What is put out at the end of the input comes before the last watermark, so later steps still take it.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "dataflow/harness.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Count = Keyed<int, std::int64_t>;
using WindowCount = Windowed<int, std::int64_t>;

TEST(EndOfInput, final_values_are_counted_by_a_window_behind) {
  StreamHarness<int, WindowCount> harness([](Stream<int> numbers) {
    return numbers.key_by(std::identity{})
        .count("count")
        .at_end()
        .event_time([](const Count& count) { return EventTime{count.value}; }, monotonous())
        .key_by(&Count::key)
        .window(Tumbling::of(1h))
        .count("per hour");
  });
  for (const int n : {1, 2, 2, 3}) harness.push(n);
  harness.end_input();
  EXPECT_TRUE(harness.status());
  EXPECT_EQ(harness.take_values().size(), 3U);
  EXPECT_EQ(harness.late_records_dropped(), 0U);
}

struct Remind {
  Timer timer{};
  void on_element(const Count& count, KeyedContext<int, int>&) { timer.at(EventTime{count.value}); }
  void on_timer(const TimerFiring&, KeyedContext<int, int>& ctx) { ctx.emit(ctx.key()); }
};

TEST(EndOfInput, final_values_set_timers_that_fire) {
  StreamHarness<int, int> harness([](Stream<int> numbers) {
    return numbers.key_by(std::identity{})
        .count("count")
        .at_end()
        .key_by(&Count::key)
        .process("remind", Remind{});
  });
  harness.push(7);
  harness.end_input();
  EXPECT_EQ(harness.take_values(), (std::vector<int>{7}));
}

struct Total {
  int sum = 0;
  void on_element(const int& n, Context<int>&) { sum += n; }
  void on_end(Context<int>& ctx) { ctx.emit(sum, EventTime{1}); }
};

TEST(EndOfInput, what_on_end_puts_out_is_taken_by_a_window_behind) {
  StreamHarness<int, WindowCount> harness([](Stream<int> numbers) {
    return numbers.process("total", Total{})
        .key_by(std::identity{})
        .window(Tumbling::of(1h))
        .count("per hour");
  });
  for (const int n : {1, 2, 3}) harness.push(n);
  harness.end_input();
  const auto rows = harness.take_values();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].key, 6);
}

}  // namespace
}  // namespace weir
