// Triggers and evictors, as scripts: what goes in, what comes out.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "dataflow/window/evictors/delta_evictor.h"
#include "dataflow/window/evictors/time_evictor.h"
#include "dataflow/window/session.h"
#include "dataflow/window/trigger.h"
#include "dataflow/window/triggers/continuous_event_time_trigger.h"
#include "dataflow/window/triggers/continuous_processing_time_trigger.h"
#include "dataflow/window/triggers/delta_trigger.h"
#include "dataflow/window/triggers/end_of_input_trigger.h"
#include "dataflow/window/triggers/never_trigger.h"
#include "dataflow/window/triggers/processing_time_trigger.h"
#include "dataflow/window/triggers/timeout_trigger.h"
#include "tests/dataflow/operators/harness_script.h"
#include "tests/dataflow/operators/window_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t end_of_time = EventTime::max().ms;

TEST(Trigger, a_count_trigger_adds_up_what_sessions_have_counted) {
  window_script([](auto keyed) {
    return keyed.window(Session::with_gap(3s)).trigger(purging(CountTrigger{4}));
  })
      .push("key2", 1, 0)
      .push("key2", 2, 1000)
      .push("key2", 3, 2500)
      .expect({})
      .push("key2", 4, 3500)
      .expect({"key2 10 [0,6500)"})
      .push("key1", 1, 10)
      .push("key1", 2, 1000)
      .push("key1", 3, 2500)
      .push("key1", 1, 6000)
      .push("key1", 2, 6500)
      .push("key1", 3, 7000)
      .expect({})
      .push("key1", 10, 4500)
      .expect({"key1 22 [10,10000)"})
      .watermark(20'000)
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Trigger, a_continuous_trigger_goes_on_in_the_session_that_two_have_become) {
  window_script([](auto keyed) {
    return keyed.window(Session::with_gap(3s)).trigger(ContinuousEventTimeTrigger{2s});
  })
      .push("k", 1, 500)
      .push("k", 2, 5500)
      .watermark(2000)
      .expect({"k 1 [500,3500)"})
      .push("k", 4, 3000)
      .watermark(3999)
      .expect({})
      .watermark(4000)
      .expect({"k 7 [500,8500)"})
      .watermark(6000)
      .expect({"k 7 [500,8500)"})
      .watermark(8000)
      .expect({"k 7 [500,8500)"})
      .watermark(8499)
      .expect({"k 7 [500,8500)"})
      .expect_no_state()
      .run();
}

TEST(Trigger, count_windows_fire_with_each_fourth_record_of_a_key) {
  window_script([](auto keyed) { return keyed.count_window(4); })
      .push("key2")
      .push("key2")
      .push("key1")
      .push("key1")
      .push("key1")
      .push("key2")
      .expect({})
      .push("key2")
      .expect({"key2 4 @MAX"})
      .push("key1")
      .expect({"key1 4 @MAX"})
      .expect_no_state()
      .push("key2")
      .push("key2")
      .push("key2")
      .expect({})
      .push("key2")
      .expect({"key2 4 @MAX"})
      .run();
}

TEST(Trigger, sliding_count_windows_have_the_last_records_after_every_few) {
  window_script([](auto keyed) { return keyed.count_window(4, 2); })
      .push("k", 1)
      .expect({})
      .push("k", 2)
      .expect({"k 3 @MAX"})
      .push("k", 4)
      .push("other", 100)
      .push("k", 8)
      .expect({"k 15 @MAX"})
      .push("k", 16)
      .push("k", 32)
      .expect({"k 60 @MAX"})
      .run();
}

TEST(Trigger, a_global_window_fires_at_the_end_of_the_input_and_before_its_watermark) {
  HarnessScript<StreamHarness<Item, Sum64>>([](Stream<Item> in) {
    return in.key_by(&Item::key)
        .window(Global{})
        .trigger(EndOfInputTrigger{})
        .sum("sum", &Item::value);
  })
      .push(Item{"key2"}, 1000)
      .push(Item{"key2"}, 3999)
      .push(Item{"key1"}, 20)
      .push(Item{"key2"})
      .push(Item{"key1"}, 999)
      .push(Item{"key2"}, 1998)
      .push(Item{"key1"}, 0)
      .push(Item{"key2"}, 1999)
      .watermark(EventTime::max() - 1ms)
      .expect({"WM " + std::to_string(end_of_time - 1)})
      .watermark(EventTime::max())
      .expect({"key1 3 @MAX@MAX", "key2 5 @MAX@MAX", "WM MAX"})
      .run();
  window_script([](auto keyed) { return keyed.window(Global{}).trigger(EndOfInputTrigger{}); })
      .push("key2", 5)
      .watermark(end_of_time)
      .expect({"key2 5 @MAX"})
      .expect_no_state()
      .run();
}

TEST(Trigger, a_trigger_replaces_the_default) {
  window_script([](auto keyed) { return keyed.window(Tumbling::of(1s)).trigger(CountTrigger{2}); })
      .push("k", 1, 1)
      .push("k", 1, 2)
      .expect({"k 2 [0,1000)"})
      .push("k", 1, 3)
      .expect({})
      .watermark(999)
      .expect({})
      .expect_no_state()
      .run();
  window_script([](auto keyed) { return keyed.window(Tumbling::of(1s)).trigger(CountTrigger{2}); })
      .push("k", 1, 1)
      .push("k", 1, 2)
      .expect({"k 2 [0,1000)"})
      .push("k", 1, 3)
      .push("k", 1, 4)
      .expect({"k 4 [0,1000)"})
      .watermark(999)
      .expect({})
      .expect_no_state()
      .run();
  window_script(
      [](auto keyed) { return keyed.window(Tumbling::of(1s)).trigger(purging(CountTrigger{2})); })
      .push("k", 1, 1)
      .push("k", 1, 2)
      .expect({"k 2 [0,1000)"})
      .push("k", 1, 3)
      .push("k", 1, 4)
      .expect({"k 2 [0,1000)"})
      .watermark(999)
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Trigger, evictors_choose_what_the_function_sees) {
  const auto evicting = [](auto evictor) {
    return window_script([evictor](auto keyed) {
      return keyed.window(Tumbling::of(10s)).trigger(CountTrigger{2}).evictor(evictor);
    });
  };
  evicting(CountEvictor{3})
      .push("k", 1, 1)
      .push("k", 2, 2)
      .expect({"k 3 [0,10000)"})
      .push("k", 4, 3)
      .push("k", 8, 4)
      .expect({"k 14 [0,10000)"})
      .push("k", 16, 5)
      .push("k", 32, 6)
      .expect({"k 56 [0,10000)"})
      .run();
  evicting(CountEvictor{1, Eviction::after})
      .push("k", 1, 1)
      .push("k", 2, 2)
      .expect({"k 3 [0,10000)"})
      .push("k", 4, 3)
      .push("k", 8, 4)
      .expect({"k 14 [0,10000)"})
      .run();
  evicting(TimeEvictor{1s})
      .push("k", 1, 1000)
      .push("k", 2, 2000)
      .expect({"k 2 [0,10000)"})
      .push("k", 4, 2999)
      .push("k", 8, 2500)
      .expect({"k 14 [0,10000)"})
      .run();
  evicting(delta_evictor(10,
                         [](const Item& item, const Item& last) {
                           return std::abs(static_cast<double>(item.value - last.value));
                         }))
      .push("k", 1, 1)
      .push("k", 10, 2)
      .expect({"k 11 [0,10000)"})
      .push("k", 12, 3)
      .push("k", 20, 4)
      .expect({"k 32 [0,10000)"})
      .run();
}

TEST(Trigger, a_time_evictor_leaves_elements_without_time_alone) {
  window_script([](auto keyed) {
    return keyed.window(Global{}).trigger(CountTrigger{2}).evictor(TimeEvictor{1s});
  })
      .push("k", 1)
      .push("k", 2)
      .expect({"k 3 @MAX"})
      .run();
}

TEST(Trigger, a_continuous_trigger_of_event_time_fires_early_and_at_the_end) {
  window_script([](auto keyed) {
    return keyed.window(Tumbling::of(2ms)).trigger(ContinuousEventTimeTrigger{1h});
  })
      .push("k", 1, 1)
      .push("k", 2, 1)
      .push("k", 4, 3)
      .expect({})
      .watermark(2)
      .expect({"k 3 [0,2)"})
      .watermark(4)
      .expect({"k 4 [2,4)"})
      .expect_no_state()
      .run();
  window_script([](auto keyed) {
    return keyed.window(Tumbling::of(10s))
        .trigger(ContinuousEventTimeTrigger{3s})
        .allowed_lateness(1s);
  })
      .push("k", 1, 4000)
      .watermark(5999)
      .expect({})
      .watermark(6000)
      .expect({"k 1 [0,10000)"})
      .push("k", 2, 500)
      .watermark(9000)
      .expect({"k 3 [0,10000)"})
      .watermark(9999)
      .expect({"k 3 [0,10000)"})
      .push("k", 4, 500)
      .expect({"k 7 [0,10000)"})
      .push("other", 8, 500)
      .expect({"other 8 [0,10000)"})
      .watermark(10'998)
      .expect({})
      .watermark(10'999)
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Trigger, a_continuous_trigger_of_processing_time_fires_by_the_clock) {
  window_script([](auto keyed) {
    return keyed.window(Tumbling::of(1h)).trigger(ContinuousProcessingTimeTrigger{10s});
  })
      .processing_time(4000)
      .push("k", 1, 1)
      .push("k", 2, 2)
      .processing_time(9999)
      .expect({})
      .processing_time(10'000)
      .expect({"k 3 [0,3600000)"})
      .push("k", 4, 3)
      .processing_time(20'000)
      .expect({"k 7 [0,3600000)"})
      .watermark(3'599'999)
      .expect({})
      .processing_time(40'000)
      .expect({})
      .expect_no_state()
      .run();
  window_script([](auto keyed) {
    return keyed.window(Tumbling::of(25s).in_processing_time())
        .trigger(ContinuousProcessingTimeTrigger{10s});
  })
      .push("k", 1)
      .processing_time(20'000)
      .expect({"k 1 [0,25000)", "k 1 [0,25000)"})
      .processing_time(60'000)
      .expect({"k 1 [0,25000)"})
      .expect_no_state()
      .run();
}

TEST(Trigger, a_delta_trigger_fires_when_records_have_moved_beyond_the_threshold) {
  window_script([](auto keyed) {
    return keyed.window(Tumbling::of(10s))
        .trigger(purging(delta_trigger<Item>(10, [](const Item& last, const Item& item) {
          return static_cast<double>(item.value - last.value);
        })));
  })
      .push("k", 100, 1)
      .push("k", 110, 2)
      .expect({})
      .push("k", 111, 3)
      .expect({"k 321 [0,10000)"})
      .push("k", 121, 4)
      .expect({})
      .push("k", 122, 5)
      .expect({"k 243 [0,10000)"})
      .run();
}

TEST(Trigger, a_timeout_fires_what_waits_for_too_long) {
  const auto timed_out = [](TimeoutOptions options) {
    return window_script([options](auto keyed) {
      return keyed.window(Global{}).trigger(purging(timeout(CountTrigger{3}, 10s, options)));
    });
  };
  timed_out({})
      .push("k", 1)
      .processing_time(5000)
      .push("k", 2)
      .processing_time(10'000)
      .expect({"k 3 @MAX"})
      .expect_no_state()
      .push("k", 4)
      .push("k", 8)
      .expect({})
      .push("k", 16)
      .expect({"k 28 @MAX"})
      .processing_time(60'000)
      .expect({})
      .expect_no_state()
      .run();
  timed_out({.reset_on_new_record = true})
      .push("k", 1)
      .processing_time(5000)
      .push("k", 2)
      .processing_time(14'999)
      .expect({})
      .processing_time(15'000)
      .expect({"k 3 @MAX"})
      .run();
  timed_out({.clear_on_timeout = false})
      .push("k", 1)
      .push("k", 2)
      .processing_time(10'000)
      .expect({"k 3 @MAX"})
      .push("k", 4)
      .expect({"k 4 @MAX"})
      .run();
}

TEST(Trigger, a_processing_time_trigger_works_on_windows_of_event_time) {
  window_script(
      [](auto keyed) { return keyed.window(Tumbling::of(1s)).trigger(ProcessingTimeTrigger{}); })
      .push("k", 1, 500)
      .processing_time(998)
      .expect({})
      .processing_time(999)
      .expect({"k 1 [0,1000)"})
      .watermark(999)
      .expect({})
      .expect_no_state()
      .run();
}

TEST(Trigger, what_never_fires_is_dropped_at_the_end) {
  window_script([](auto keyed) { return keyed.window(Tumbling::of(1s)).trigger(NeverTrigger{}); })
      .push("k", 1, 500)
      .watermark(999)
      .expect({})
      .expect_no_state()
      .run();
}

// Fires with a record of value 0, and at times that records ask for.
struct AskedTrigger {
  struct State {
    std::vector<std::int64_t> asked;
  };
  TriggerResult on_element(const Item& item, EventTime, TriggerContext& context, State& state) {
    if (item.value == 0) return TriggerResult::fire;
    if (item.key == "cancel") context.cancel_timer(EventTime{item.value});
    context.set_timer(EventTime{item.value});
    context.set_timer(ProcessingTime{item.value});
    if (item.key == "cancel") context.cancel_timer(EventTime{item.value});
    state.asked.push_back(item.value);
    return TriggerResult::continue_;
  }
  TriggerResult on_event_time(EventTime time, TriggerContext&, State& state) {
    return std::erase(state.asked, time.ms) > 0 ? TriggerResult::fire : TriggerResult::continue_;
  }
  TriggerResult on_processing_time(ProcessingTime time, TriggerContext&, State& state) {
    return std::erase(state.asked, time.ms) > 0 ? TriggerResult::purge : TriggerResult::continue_;
  }
  void merge(State& into, const State& other) {
    into.asked.insert(into.asked.end(), other.asked.begin(), other.asked.end());
  }
};

TEST(Trigger, a_programs_own_trigger_has_state_and_timers_of_both_times) {
  window_script(
      [](auto keyed) { return keyed.window(Session::with_gap(1s)).trigger(AskedTrigger{}); })
      .push("k", 300, 0)
      .push("k", 1700, 1500)
      .push("k", 200, 0)
      .push("cancel", 100, 0)
      .watermark(250)
      .expect({"k 500 [0,1000)"})
      .push("k", 600, 700)
      .watermark(500)
      .expect({"k 2800 [0,2500)"})
      .processing_time(599)
      .watermark(599)
      .expect({})
      .processing_time(600)
      .watermark(600)
      .expect({})
      .push("k", 0, 800)
      .expect({"k 0 [0,2500)"})
      .watermark(1700)
      .expect({"k 0 [0,2500)"})
      .watermark(2499)
      .expect_no_state()
      .run();
}

}  // namespace
}  // namespace weir
