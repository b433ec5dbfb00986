#include "dataflow/operators/process.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Texts = std::vector<std::string>;
using TextContext = KeyedContext<int, std::string>;

// Two inputs that set timers for their key: the first at 5, the second at 6.
struct TimerOfEach {
  Timer timer{};
  void on_element1(const int&, TextContext&) { timer.at(EventTime{5}); }
  void on_element2(const int&, TextContext&) { timer.at(EventTime{6}); }
  void on_timer(const TimerFiring&, TextContext& ctx) { ctx.emit(std::to_string(ctx.key())); }
};

constexpr auto itself = [](int x) { return x; };

HarnessScript<TwoInputHarness<int, int, std::string>> two_keyed_inputs() {
  return HarnessScript<TwoInputHarness<int, int, std::string>>([](Stream<int> a, Stream<int> b) {
    return a.key_by(itself).connect(b.key_by(itself)).process("timers", TimerOfEach{});
  });
}

TEST(KeyedCoProcess, timers_fire_before_the_watermark_that_reached_them) {
  two_keyed_inputs()
      .first(17, 42)
      .second(18, 42)
      .first_watermark(5)
      .expect({})
      .second_watermark(5)
      .expect({"17@5", "WM 5"})
      .first_watermark(6)
      .expect({})
      .second_watermark(6)
      .expect({"18@6", "WM 6"})
      .run();
}

TEST(KeyedCoProcess, event_time_is_that_of_the_slower_input) {
  two_keyed_inputs()
      .first_watermark(17)
      .expect({})
      .second_watermark(17)
      .expect({"WM 17"})
      .first_watermark(42)
      .expect({})
      .second_watermark(41)
      .expect({"WM 41"})
      .run();
}

// Remembers its key's name; told "at 6" it sets a timer, told "never mind" it deletes it.
struct Reminder {
  struct Order {
    int key = 0;
    std::int64_t at = 0;
    bool cancel = false;
  };
  ValueState<std::string> name{};
  Timer timer{};
  void on_element(const Order& order, TextContext& ctx) {
    name.set("state of " + std::to_string(ctx.key()));
    if (order.cancel) {
      timer.cancel(EventTime{order.at});
    } else {
      timer.at(EventTime{order.at});
    }
  }
  void on_timer(const TimerFiring& firing, TextContext& ctx) {
    EXPECT_TRUE(firing.is(timer));
    ctx.emit(name.value_or("nothing"));
    name.clear();
  }
};
using ReminderHarness = StreamHarness<Reminder::Order, std::string>;
constexpr auto remind = [](Stream<Reminder::Order> in) {
  return in.key_by(&Reminder::Order::key).process("reminders", Reminder{});
};

ReminderHarness reminders() {
  return ReminderHarness(remind);
}
HarnessScript<ReminderHarness> reminder_script() {
  return HarnessScript<ReminderHarness>(remind);
}
Reminder::Order order(int key, std::int64_t at) {
  return {.key = key, .at = at, .cancel = false};
}
Reminder::Order cancel(int key, std::int64_t at) {
  return {.key = key, .at = at, .cancel = true};
}

TEST(KeyedProcess, deleted_timers_are_silent_and_others_see_the_state_of_their_key) {
  reminder_script()
      .push(order(17, 6), 0)
      .push(order(13, 6), 0)
      .push(order(42, 7), 0)
      .push(cancel(13, 6), 1)
      .expect({})
      .watermark(6)
      .expect({"state of 17@6", "WM 6"})
      .watermark(7)
      .expect({"state of 42@7", "WM 7"})
      .run();
}

TEST(KeyedProcess, a_timer_set_twice_fires_once) {
  reminder_script()
      .push(order(17, 6), 0)
      .push(order(17, 6), 1)
      .watermark(6)
      .expect({"state of 17@6", "WM 6"})
      .watermark(EventTime::max())
      .expect({"WM MAX"})
      .run();
}

TEST(KeyedProcess, a_timer_of_the_past_fires_with_the_next_watermark) {
  auto harness = reminders();
  harness.watermark(EventTime{10});
  harness.push({17, 6, false}, EventTime{11});
  EXPECT_TRUE(harness.take_values().empty());
  harness.watermark(EventTime{11});
  EXPECT_EQ(harness.take_values(), (Texts{"state of 17"}));
}

TEST(KeyedProcess, end_of_input_fires_all_timers_of_event_time) {
  auto harness = reminders();
  harness.push({1, 1'000'000, false}, EventTime{0});
  harness.push({2, EventTime::max().ms, false}, EventTime{0});
  harness.end_input();
  EXPECT_EQ(harness.take_values(), (Texts{"state of 1", "state of 2"}));
}

TEST(KeyedProcess, a_timer_may_set_the_next_one) {
  struct Countdown {
    Timer timer{};
    void on_element(const int&, TextContext& ctx) { timer.at(ctx.timestamp() + 10ms); }
    void on_timer(const TimerFiring& firing, TextContext& ctx) {
      ctx.emit(std::to_string(firing.event_time->ms));
      if (*firing.event_time < EventTime{30}) timer.at(*firing.event_time + 10ms);
    }
  };
  StreamHarness<int, std::string> harness(
      [](Stream<int> in) { return in.key_by(itself).process("countdown", Countdown{}); });
  harness.push(1, EventTime{0});
  harness.watermark(EventTime{25});
  EXPECT_EQ(harness.take_values(), (Texts{"10", "20"}));
  harness.end_input();
  EXPECT_EQ(harness.take_values(), (Texts{"30"}));
}

TEST(KeyedProcess, timers_of_different_members_are_told_apart) {
  struct TwoTimers {
    Timer early{};
    Timer late{};
    void on_element(const int&, TextContext&) {
      late.at(EventTime{10});
      early.at(EventTime{10});
      early.at(ProcessingTime{10});
    }
    void on_timer(const TimerFiring& firing, TextContext& ctx) {
      ctx.emit(std::string(firing.is(early) ? "early" : "late") +
               (firing.processing_time ? " by the clock" : ""));
    }
  };
  StreamHarness<int, std::string> harness(
      [](Stream<int> in) { return in.key_by(itself).process("two", TwoTimers{}); });
  harness.push(1);
  harness.watermark(EventTime{10});
  EXPECT_EQ(harness.take_values(), (Texts{"late", "early"}));
  harness.set_processing_time({9});
  EXPECT_TRUE(harness.take_values().empty());
  harness.set_processing_time({10});
  EXPECT_EQ(harness.take_values(), (Texts{"early by the clock"}));
}

TEST(KeyedProcess, more_timers_than_a_batch_holds_fire_once_each) {
  struct ManyTimers {
    Timer timer{};
    void on_element(const int& x, KeyedContext<int, int>&) { timer.at(EventTime{x}); }
    void on_timer(const TimerFiring&, KeyedContext<int, int>& ctx) { ctx.emit(ctx.key()); }
  };
  StreamHarness<int, int> harness(
      [](Stream<int> in) { return in.key_by(itself).process("many", ManyTimers{}); });
  std::vector<Record<int>> records;
  std::vector<int> expected;
  for (int i = 0; i < 10'000; ++i) {
    records.push_back({i});
    expected.push_back(i);
  }
  harness.push_batch(records);
  harness.watermark(EventTime{20'000});
  EXPECT_EQ(harness.take_values(), expected);
}

// Puts out what it can see.
struct Observer {
  SideOutput<int> odd{};
  void on_element(const int& x, Context<std::string>& ctx) {
    if (x % 2 != 0) return odd.push(x);
    ctx.emit(std::to_string(ctx.timestamp().ms) + " of " + std::to_string(ctx.watermark().ms) +
             " at " + std::to_string(ctx.processing_time().ms));
    ctx.emit("other time", EventTime{77});
  }
  void on_end(Context<std::string>& ctx) { ctx.emit("end"); }
};

TEST(Process, sees_times_and_may_emit_with_another) {
  StreamHarness<int, std::string> harness(
      [](Stream<int> in) { return in.process("observer", Observer{}); });
  harness.watermark(EventTime{3});
  harness.set_processing_time({9});
  harness.push(2, EventTime{5});
  harness.push(3, EventTime{6});
  EXPECT_EQ(harness.take_outputs(),
            (std::vector<Emitted<std::string>>{Watermark{EventTime{3}},
                                               Record<std::string>{"5 of 3 at 9", EventTime{5}},
                                               Record<std::string>{"other time", EventTime{77}}}));
  EXPECT_EQ(harness.take_side(&Observer::odd), std::vector{3});
  harness.end_input();
  EXPECT_EQ(harness.take_outputs(), (std::vector<Emitted<std::string>>{
                                        Record<std::string>{"end"}, Watermark{EventTime::max()}}));
}

TEST(KeyedProcess, state_is_kept_per_key_and_shared_by_both_inputs) {
  struct Visits {
    ValueState<int> count{};
    void on_element1(const int&, TextContext& ctx) {
      ctx.emit(std::to_string(ctx.key()) + ": " + std::to_string(++count.update()));
    }
    void on_element2(const int&, TextContext&) { count.clear(); }
  };
  TwoInputHarness<int, int, std::string> harness([](Stream<int> a, Stream<int> b) {
    return a.key_by(itself).connect(b.key_by(itself)).process("visits", Visits{});
  });
  for (const int key : {1, 2, 1, 1}) harness.first().push(key);
  harness.second().push(1);
  harness.first().push(1);
  harness.first().push(2);
  EXPECT_EQ(harness.take_values(), (Texts{"1: 1", "2: 1", "1: 2", "1: 3", "1: 1", "2: 2"}));
}

}  // namespace
}  // namespace weir
