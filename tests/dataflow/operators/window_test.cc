// Windows of every kind, as scripts: what goes in, what comes out.
#include "dataflow/operators/window.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "dataflow/window/cumulative.h"
#include "dataflow/window/session.h"
#include "dataflow/window/sliding.h"
#include "dataflow/window/triggers/event_time_trigger.h"
#include "tests/dataflow/operators/harness_script.h"
#include "tests/dataflow/operators/window_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

template <class Script>
Script& push_eight(Script& script) {
  for (const auto& [key, time] : {std::pair{"key2", 3999},
                                  {"key2", 3000},
                                  {"key1", 20},
                                  {"key1", 0},
                                  {"key1", 999},
                                  {"key2", 1998},
                                  {"key2", 1999},
                                  {"key2", 1000}}) {
    script.push(key, 1, time);
  }
  return script;
}

// By the operator for tumbling windows and, with a trigger that makes no difference, by the general one.
TEST(Window, tumbling_fires_when_the_watermark_reaches_the_last_millisecond) {
  const auto check = [](auto windowed) {
    auto tumbling = window_script(windowed);
    push_eight(tumbling)
        .watermark(999)
        .watermark(1999)
        .expect({})
        .watermark(2999)
        .expect({"key1 3 [0,3000)", "key2 3 [0,3000)"})
        .watermark(3999)
        .watermark(4999)
        .expect({})
        .watermark(5999)
        .expect({"key2 2 [3000,6000)"})
        .watermark(7999)
        .expect({})
        .expect_no_state()
        .run();
  };
  check([](auto keyed) { return keyed.window(Tumbling::of(3s)); });
  check([](auto keyed) { return keyed.window(Tumbling::of(3s)).trigger(EventTimeTrigger{}); });
  check([](auto keyed) {
    return keyed.window(Tumbling::of(3s)).trigger(purging(EventTimeTrigger{}));
  });
}

TEST(Window, sliding_fires_each_slide) {
  auto sliding = window_script([](auto keyed) { return keyed.window(Sliding::of(3s, 1s)); });
  push_eight(sliding)
      .watermark(999)
      .expect({"key1 3 [-2000,1000)"})
      .watermark(1999)
      .expect({"key1 3 [-1000,2000)", "key2 3 [-1000,2000)"})
      .watermark(2999)
      .expect({"key1 3 [0,3000)", "key2 3 [0,3000)"})
      .watermark(3999)
      .expect({"key2 5 [1000,4000)"})
      .watermark(4999)
      .expect({"key2 2 [2000,5000)"})
      .watermark(5999)
      .expect({"key2 2 [3000,6000)"})
      .watermark(7999)
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Window, a_record_between_sliding_windows_is_in_none_and_not_late) {
  window_script_with_late([](auto keyed) { return keyed.window(Sliding::of(1s, 3s)); })
      .push("k", 1, 500)
      .push("k", 2, 1500)
      .push("k", 4, 3000)
      .watermark(3999)
      .expect({"k 1 [0,1000)", "k 4 [3000,4000)"})
      .expect_no_state()
      .run();
}

TEST(Window, cumulative_fires_each_step_and_begins_anew) {
  window_script([](auto keyed) { return keyed.window(Cumulative::of(3s, 1s)); })
      .push("k", 1, 500)
      .push("k", 2, 2500)
      .push("k", 4, 3000)
      .watermark(999)
      .expect({"k 1 [0,1000)"})
      .watermark(2999)
      .expect({"k 1 [0,2000)", "k 3 [0,3000)"})
      .watermark(5999)
      .expect({"k 4 [3000,4000)", "k 4 [3000,5000)", "k 4 [3000,6000)"})
      .expect_no_state()
      .run();
}

TEST(Window, sessions_end_when_a_key_has_been_silent_for_the_gap) {
  window_script([](auto keyed) { return keyed.window(Session::with_gap(3s)); })
      .push("key2", 1, 0)
      .push("key2", 2, 1000)
      .push("key2", 3, 2500)
      .push("key1", 1, 10)
      .push("key1", 2, 1000)
      .push("key1", 3, 2500)
      .push("key2", 4, 5501)
      .push("key2", 5, 6000)
      .push("key2", 5, 6000)
      .push("key2", 6, 6050)
      .watermark(12'000)
      .expect({"key1 6 [10,5500)", "key2 6 [0,5500)", "key2 20 [5501,9050)"})
      .push("key2", 10, 15'000)
      .push("key2", 20, 15'000)
      .watermark(17'999)
      .expect({"key2 30 [15000,18000)"})
      .expect_no_state()
      .run();
}

TEST(Window, sessions_that_touch_merge) {
  window_script([](auto keyed) { return keyed.window(Session::with_gap(3s)); })
      .push("a", 1, 0)
      .push("a", 2, 3000)
      .push("b", 1, 0)
      .push("b", 2, 3001)
      .watermark(5999)
      .expect({"a 3 [0,6000)", "b 1 [0,3000)"})
      .watermark(6000)
      .expect({"b 2 [3001,6001)"})
      .run();
}

TEST(Window, a_record_between_two_sessions_joins_them) {
  window_script([](auto keyed) { return keyed.window(Session::with_gap(3s)); })
      .push("k", 1, 10'000)
      .push("k", 2, 4000)
      .push("k", 4, 16'000)
      .push("k", 8, 7000)
      .push("k", 16, 13'000)
      .watermark(18'998)
      .expect({})
      .watermark(18'999)
      .expect({"k 31 [4000,19000)"})
      .expect_no_state()
      .run();
}

TEST(Window, a_late_record_that_touches_an_open_session_is_not_late) {
  window_script_with_late([](auto keyed) { return keyed.window(Session::with_gap(3s)); })
      .push("k", 1, 3000)
      .watermark(4000)
      .push("k", 2, 1000)
      .push("k", 4, 500)
      .push("other", 8, 1000)
      .watermark(5999)
      .expect({"k 7 [500,6000)", "LATE other 8"})
      .run();
}

TEST(Window, sessions_with_a_gap_of_the_record) {
  window_script([](auto keyed) {
    return keyed.window(Session::with_gap_of([](const Item& item) { return item.value * 1s; }));
  })
      .push("k", 3, 0)
      .push("k", 1, 2500)
      .push("k", 10, 4000)
      .watermark(3499)
      .expect({"k 4 [0,3500)"})
      .watermark(13'999)
      .expect({"k 10 [4000,14000)"})
      .run();
}

TEST(Window, a_late_record_within_the_allowed_lateness_fires_again) {
  const auto lateness = [](auto trigger) {
    return window_script_with_late([trigger](auto keyed) {
      return keyed.window(Tumbling::of(2s)).trigger(trigger).allowed_lateness(500ms);
    });
  };
  lateness(purging(EventTimeTrigger{}))
      .push("key2", 1, 500)
      .watermark(1500)
      .push("key2", 1, 1300)
      .watermark(2300)
      .expect({"key2 2 [0,2000)"})
      .push("key2", 1, 1997)
      .expect({"key2 1 [0,2000)"})
      .watermark(6000)
      .push("key2", 1, 1998)
      .expect({"LATE key2 1"})
      .watermark(7000)
      .expect({})
      .expect_no_state()
      .run();
  lateness(EventTimeTrigger{})
      .push("key2", 1, 500)
      .push("key2", 1, 1300)
      .watermark(2300)
      .expect({"key2 2 [0,2000)"})
      .push("key2", 1, 1997)
      .expect({"key2 3 [0,2000)"})
      .watermark(2499)
      .push("key2", 1, 1997)
      .expect({"LATE key2 1"})
      .expect_no_state()
      .run();
}

TEST(Window, late_records_go_to_their_side_output) {
  const auto check = [](auto windowed) {
    window_script_with_late(windowed)
        .push("k", 1, 1000)
        .watermark(1985)
        .push("k", 1, 1980)
        .watermark(1999)
        .expect({"k 2 [0,2000)"})
        .push("k", 7, 1998)
        .expect({"LATE k 7"})
        .expect_dropped(0)
        .push("k", 1, 2001)
        .watermark(2999)
        .expect({})
        .watermark(3999)
        .expect({"k 1 [2000,4000)"})
        .run();
  };
  check([](auto keyed) { return keyed.window(Tumbling::of(2s)); });
  check([](auto keyed) { return keyed.window(Tumbling::of(2s)).trigger(EventTimeTrigger{}); });
}

TEST(Window, a_record_that_is_late_for_some_windows_is_kept_in_the_others) {
  window_script_with_late([](auto keyed) { return keyed.window(Sliding::of(3s, 1s)); })
      .push("key2", 1, 1000)
      .watermark(1999)
      .expect({"key2 1 [-1000,2000)"})
      .push("key2", 1, 2000)
      .watermark(3000)
      .expect({"key2 2 [0,3000)"})
      .push("key1", 1, 3001)
      .push("key2", 1, 2400)
      .push("key2", 1, 2400)
      .push("key1", 1, 3001)
      .push("key2", 1, 3900)
      .watermark(6000)
      .expect({"key2 5 [1000,4000)", "key1 2 [1000,4000)", "key2 4 [2000,5000)",
               "key1 2 [2000,5000)", "key2 1 [3000,6000)", "key1 2 [3000,6000)"})
      .push("key1", 1, 3001)
      .expect({"LATE key1 1"})
      .watermark(25'000)
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Window, late_records_are_counted_where_nobody_wants_them) {
  window_script([](auto keyed) { return keyed.window(Sliding::of(3s, 1s)); })
      .watermark(5000)
      .push("k", 1, 2000)
      .push("k", 1, 2001)
      .push("k", 1, 2999)
      .push("k", 1, 3000)
      .push("k", 2, 5000)
      .expect_dropped(3)
      .watermark(9999)
      .expect({"k 3 [3000,6000)", "k 2 [4000,7000)", "k 2 [5000,8000)"})
      .run();
}

TEST(Window, a_late_record_joins_a_session_that_has_fired_and_is_allowed_lateness) {
  window_script_with_late(
      [](auto keyed) { return keyed.window(Session::with_gap(3s)).allowed_lateness(10s); })
      .push("k", 1, 1000)
      .push("k", 2, 6000)
      .watermark(9000)
      .expect({"k 1 [1000,4000)", "k 2 [6000,9000)"})
      .push("k", 4, 3500)
      .expect({"k 7 [1000,9000)"})
      .push("k", 8, 8000)
      .expect({})
      .watermark(10'999)
      .expect({"k 15 [1000,11000)"})
      .watermark(20'998)
      .push("k", 16, 1500)
      .expect({"k 31 [1000,11000)"})
      .watermark(20'999)
      .expect_no_state()
      .push("k", 32, 1500)
      .expect({"LATE k 32"})
      .run();
}

TEST(Window, lateness_beyond_the_end_of_time_is_the_end_of_time) {
  const EventTime time = EventTime::max() - 1750ms;
  const Window window = Tumbling::of(1s).window_of(time);
  window_script([](auto keyed) { return keyed.window(Tumbling::of(1s)).allowed_lateness(2s); })
      .push("k", 1, time.ms)
      .watermark(EventTime::max() - 1500ms)
      .expect({})
      .watermark(window.max_time())
      .expect({text_of(Sum64{window.start, window.end, "k", 1})})
      .watermark(EventTime::max())
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Window, nothing_fires_at_cleanup_and_nothing_is_left_after_it) {
  window_script([](auto keyed) {
    return keyed.window(Tumbling::of(2s))
        .trigger(purging(EventTimeTrigger{}))
        .allowed_lateness(1ms);
  })
      .push("k", 1, 1000)
      .watermark(1599)
      .expect({})
      .watermark(1999)
      .expect({"k 1 [0,2000)"})
      .watermark(2000)
      .expect({})
      .expect_no_state()
      .watermark(5000)
      .expect({})
      .run();
}

TEST(Window, tumbling_in_processing_time_fires_by_the_clock) {
  window_script([](auto keyed) { return keyed.window(Tumbling::of(3s).in_processing_time()); })
      .processing_time(3)
      .push("key2")
      .push("key2")
      .push("key2")
      .push("key1")
      .push("key1")
      .processing_time(2998)
      .expect({})
      .processing_time(5000)
      .expect({"key2 3 [0,3000)", "key1 2 [0,3000)"})
      .push("key1")
      .push("key1")
      .push("key1")
      .processing_time(7000)
      .expect({"key1 3 [3000,6000)"})
      .expect_no_state()
      .run();
}

TEST(Window, sliding_in_processing_time_fires_by_the_clock) {
  window_script([](auto keyed) { return keyed.window(Sliding::of(3s, 1s).in_processing_time()); })
      .processing_time(3)
      .push("key2")
      .processing_time(1000)
      .expect({"key2 1 [-2000,1000)"})
      .push("key2")
      .push("key1")
      .processing_time(2000)
      .expect({"key2 2 [-1000,2000)", "key1 1 [-1000,2000)"})
      .processing_time(5000)
      .expect({"key2 2 [0,3000)", "key1 1 [0,3000)", "key2 1 [1000,4000)", "key1 1 [1000,4000)"})
      .expect_no_state()
      .run();
}

TEST(Window, sessions_in_processing_time_end_by_the_clock) {
  window_script([](auto keyed) { return keyed.window(Session::with_gap(3s).in_processing_time()); })
      .processing_time(3)
      .push("key2")
      .processing_time(1000)
      .push("key2")
      .processing_time(3998)
      .expect({})
      .processing_time(5000)
      .expect({"key2 2 [3,4000)"})
      .push("key2")
      .push("key2")
      .push("key1")
      .push("key1")
      .push("key1")
      .processing_time(10'000)
      .expect({"key2 2 [5000,8000)", "key1 3 [5000,8000)"})
      .expect_no_state()
      .run();
}

TEST(Window, takes_and_fires_late_records_up_to_the_last_millisecond_of_lateness) {
  struct Case {
    Duration lateness;
    std::int64_t watermark;
    bool kept;
    bool fires_at_once;
  };
  for (const auto& [lateness, watermark, kept, fires_at_once] : {Case{0ms, 998, true, false},
                                                                 {0ms, 999, false, false},
                                                                 {100ms, 999, true, true},
                                                                 {100ms, 1098, true, true},
                                                                 {100ms, 1099, false, false}}) {
    SCOPED_TRACE(std::to_string(lateness.count()) + " " + std::to_string(watermark));
    auto boundary = window_script_with_late([lateness = lateness](auto keyed) {
      return keyed.window(Tumbling::of(1s)).trigger(EventTimeTrigger{}).allowed_lateness(lateness);
    });
    boundary.watermark(watermark).push("k", 1, 500);
    if (!kept) boundary.expect({"LATE k 1"});
    if (kept) boundary.expect(fires_at_once ? Texts{"k 1 [0,1000)"} : Texts{});
    boundary.watermark(999 + lateness.count())
        .expect(kept && !fires_at_once ? Texts{"k 1 [0,1000)"} : Texts{})
        .expect_no_state()
        .run();
  }
}

TEST(Window, fires_at_its_last_millisecond_and_keeps_its_contents_until_lateness_is_over) {
  const auto script = [](Duration lateness, auto trigger) {
    return window_script_with_late([=](auto keyed) {
      return keyed.window(Tumbling::of(1s)).trigger(trigger).allowed_lateness(lateness);
    });
  };
  const auto without_lateness = [](auto unfired) {
    unfired.push("k", 1, 500)
        .watermark(998)
        .expect({})
        .push("k", 1, 500)
        .watermark(999)
        .expect({"k 2 [0,1000)"})
        .expect_no_state()
        .run();
  };
  without_lateness(script(0ms, EventTimeTrigger{}));
  without_lateness(
      window_script_with_late([](auto keyed) { return keyed.window(Tumbling::of(1s)); }));
  script(100ms, EventTimeTrigger{})
      .push("k", 1, 500)
      .watermark(998)
      .expect({})
      .watermark(999)
      .expect({"k 1 [0,1000)"})
      .push("k", 2, 500)
      .expect({"k 3 [0,1000)"})
      .watermark(1098)
      .expect({})
      .push("k", 4, 500)
      .expect({"k 7 [0,1000)"})
      .watermark(1099)
      .expect({})
      .expect_no_state()
      .push("k", 8, 500)
      .expect({"LATE k 8"})
      .expect_no_state()
      .run();
}

// The results of the first come out, too.
TEST(Window, results_of_a_window_line_up_with_the_next_one_before_the_watermark_that_fired_both) {
  const auto check = [](auto windowed) {
    HarnessScript<StreamHarness<Item, std::string>>([windowed](Stream<Item> in) {
      const auto sums = windowed(in.key_by(&Item::key))
                            .aggregate("sum", Sum<std::int64_t Item::*, std::int64_t>{&Item::value},
                                       [](const std::string& key, Window, std::int64_t value) {
                                         return Item{key, value};
                                       });
      const auto top = windowed(sums.key_by([](const Item&) {
                         return 0;
                       })).reduce("top", [](const Item& a, const Item& b) {
        return a.value >= b.value ? a : b;
      });
      const auto text = [](const Item& item) {
        return item.key + " " + std::to_string(item.value);
      };
      return sums.map(text).union_with(
          top.map([text](const Item& item) { return "top " + text(item); }));
    })
        .push(Item{"a", 1}, 100)
        .push(Item{"b", 5}, 200)
        .push(Item{"a", 2}, 4000)
        .watermark(4998)
        .expect({"WM 4998"})
        .watermark(4999)
        .expect({"a 3@4999", "b 5@4999", "top b 5@4999", "WM 4999"})
        .run();
  };
  check([](auto keyed) { return keyed.window(Tumbling::of(5s)); });
  check([](auto keyed) { return keyed.window(Tumbling::of(5s)).trigger(EventTimeTrigger{}); });
}

// A window per digit of the value.
struct ByDigit {
  [[nodiscard]] std::vector<Window> windows_of(const Item& item, EventTime /*time*/) const {
    std::vector<Window> windows;
    for (std::int64_t rest = item.value; rest > 0; rest /= 10)
      windows.push_back({EventTime{rest % 10}, EventTime{100}});
    return windows;
  }
};

TEST(Window, a_programs_own_assigner_gives_any_windows) {
  window_script([](auto keyed) { return keyed.window(ByDigit{}); })
      .push("k", 31, 0)
      .push("k", 132, 0)
      .watermark(99)
      .expect({"k 163 [1,100)", "k 132 [2,100)", "k 163 [3,100)"})
      .expect_no_state()
      .run();
}

}  // namespace
}  // namespace weir
