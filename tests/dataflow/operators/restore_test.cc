// Steps that go on from a snapshot of theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/harness.h"
#include "dataflow/window/session.h"
#include "dataflow/window/triggers/count_trigger.h"
#include "dataflow/window/triggers/event_time_trigger.h"
#include "state/key_groups.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Texts = std::vector<std::string>;
using TextContext = KeyedContext<int, std::string>;

constexpr auto itself = [](int x) { return x; };

struct Item {
  std::string key;
  std::int64_t value = 1;
};
using Sum64 = Windowed<std::string, std::int64_t>;

template <class T>
std::vector<T> sorted(std::vector<T> values) {
  std::ranges::sort(values);
  return values;
}

TEST(Restore, open_windows_go_on_where_they_were) {
  using Harness = StreamHarness<Item, Sum64>;
  const auto describe = [](Stream<Item> in) {
    return in.key_by(&Item::key).window(Tumbling::of(3s)).sum("sum", &Item::value);
  };
  const auto fired = [](Harness& harness) {
    Texts texts;
    for (const Sum64& sum : harness.take_values()) {
      texts.push_back(sum.key + " " + std::to_string(sum.value) + "@" +
                      std::to_string(sum.window_end.ms - 1));
    }
    return sorted(std::move(texts));
  };
  Harness first(describe);
  for (const auto& [key, time] : {std::pair{"key2", 3999},
                                  {"key2", 3000},
                                  {"key1", 20},
                                  {"key1", 0},
                                  {"key1", 999},
                                  {"key2", 1998},
                                  {"key2", 1999},
                                  {"key2", 1000}}) {
    first.push({key, 1}, EventTime{time});
  }
  first.watermark(EventTime{999});
  first.watermark(EventTime{1999});
  EXPECT_TRUE(fired(first).empty());

  Harness second(describe, {.restored = first.snapshot()});
  second.watermark(EventTime{2999});
  EXPECT_EQ(fired(second), (Texts{"key1 3@2999", "key2 3@2999"}));
  second.watermark(EventTime{3999});
  second.watermark(EventTime{4999});
  EXPECT_TRUE(fired(second).empty());

  Harness third(describe, {.restored = second.snapshot()});
  third.watermark(EventTime{5999});
  EXPECT_EQ(fired(third), (Texts{"key2 2@5999"}));
  third.watermark(EventTime{7999});
  EXPECT_TRUE(fired(third).empty());
}

TEST(Restore, what_was_late_before_is_late_after) {
  using Harness = StreamHarness<Item, Sum64>;
  const auto describe = [](Stream<Item> in) {
    return in.key_by(&Item::key).window(Tumbling::of(3s)).sum("sum", &Item::value);
  };
  Harness first(describe);
  first.push({"a", 1}, EventTime{1000});
  first.watermark(EventTime{2999});
  EXPECT_EQ(first.take_values().size(), 1U);

  Harness second(describe, {.restored = first.snapshot()});
  second.push({"a", 1}, EventTime{2000});
  EXPECT_EQ(second.late_records_dropped(), 1U) << "or its window would fire again";
  second.watermark(EventTime{2000});
  second.watermark(EventTime{2999});
  EXPECT_TRUE(second.take_outputs().empty()) << "read again, these watermarks say nothing new";
  second.watermark(EventTime{3000});
  EXPECT_EQ(second.take_outputs().size(), 1U);
}

TEST(Restore, the_watermark_that_comes_back_is_that_of_the_slower_input) {
  using Harness = TwoInputHarness<Item, Item, Sum64>;
  const auto describe = [](Stream<Item> left, Stream<Item> right) {
    return left.union_with(right)
        .key_by(&Item::key)
        .window(Tumbling::of(3s))
        .sum("sum", &Item::value);
  };
  Harness first(describe);
  first.first().watermark(EventTime{5999});
  first.second().watermark(EventTime{2999});
  Harness second(describe, {.restored = first.snapshot()});
  second.first().push({"a", 1}, EventTime{3000});
  EXPECT_EQ(second.late_records_dropped(), 0U);
  second.first().push({"a", 1}, EventTime{2999});
  EXPECT_EQ(second.late_records_dropped(), 1U);
}

// A key of each of two subtasks.
constexpr std::uint32_t key_groups = 16;
std::int64_t key_of_subtask(std::uint32_t subtask) {
  std::int64_t key = 0;
  while (subtask_of(key_group_of(hash_of(key), key_groups), 2, key_groups).value != subtask) ++key;
  return key;
}

struct Reading {
  std::int64_t key = 0;
  std::int64_t value = 1;
  EventTime at;
  friend auto operator<=>(const Reading&, const Reading&) = default;
};

// Windows behind what gives records their times, chained to it, so that each subtask has a watermark of its own. What comes out, with
// the late records behind; restored after the first readings, unless into 0 subtasks.
template <class Windowed>
Texts after_restore(Windowed windowed, std::uint32_t restored_into) {
  using Sums = weir::Windowed<std::int64_t, std::int64_t>;
  using Harness = StreamHarness<Reading, Sums>;
  const auto describe = [windowed](std::uint32_t parallelism) {
    return [=](Stream<Reading> in) {
      auto sums = windowed(in.partition_custom([](const Reading& r, std::uint32_t subtasks) {
                               return subtask_of(key_group_of(hash_of(r.key), key_groups), subtasks,
                                                 key_groups)
                                   .value;
                             })
                               .event_time(&Reading::at, monotonous())
                               .parallelism(parallelism)
                               .reinterpret_as_keyed(&Reading::key))
                      .sum("sums", &Reading::value);
      (void)sums.late();
      return sums.parallelism(parallelism).max_parallelism(key_groups);
    };
  };
  const std::int64_t a = key_of_subtask(0);
  const std::int64_t b = key_of_subtask(1);
  auto harness = std::make_unique<Harness>(describe(2));
  Texts seen;
  const auto push = [&](std::int64_t key, std::int64_t value, std::int64_t at) {
    harness->push(Reading{key, value, {at}});
    for (const Sums& sum : harness->take_values()) {
      seen.push_back((sum.key == a ? "a " : "b ") + std::to_string(sum.value) + " until " +
                     std::to_string(sum.window_end.ms));
    }
    for (const Reading& late : harness->template take_late<Reading>())
      seen.push_back("late " + std::to_string(late.value));
    EXPECT_TRUE(harness->status()) << harness->status().error().message;
  };
  push(a, 1, 10);
  push(b, 2, 10);
  push(a, 4, 101);  // the windows of `a` have fired
  push(b, 8, 40);
  // Twice: what is ahead goes with the next snapshot, too.
  for (int restores = 0; restored_into > 0 && restores < 2; ++restores) {
    const JobSnapshot snapshot = harness->snapshot();
    harness =
        std::make_unique<Harness>(describe(restored_into), HarnessOptions{.restored = snapshot});
  }
  push(a, 16, 30);
  push(b, 32, 45);
  push(a, 64, 230);
  push(b, 128, 230);
  return sorted(std::move(seen));
}

template <class Windowed>
void expect_same_after_restore(Windowed windowed) {
  const Texts expected = after_restore(windowed, 0);
  EXPECT_FALSE(expected.empty());
  for (const std::uint32_t parallelism : {1U, 2U, 3U, 5U}) {
    EXPECT_EQ(after_restore(windowed, parallelism), expected)
        << "restored with parallelism " << parallelism;
  }
}

TEST(Restore, what_was_late_for_a_key_of_a_faster_subtask_is_late_after_it) {
  EXPECT_EQ(after_restore([](const auto& keyed) { return keyed.window(Tumbling::of(50ms)); }, 2),
            (Texts{"a 1 until 50", "a 4 until 150", "b 42 until 50", "late 16"}));
  expect_same_after_restore([](const auto& keyed) { return keyed.window(Tumbling::of(50ms)); });
  expect_same_after_restore([](const auto& keyed) {
    return keyed.window(Tumbling::of(50ms)).trigger(EventTimeTrigger{});
  });
  expect_same_after_restore(
      [](const auto& keyed) { return keyed.window(Tumbling::of(50ms)).allowed_lateness(40ms); });
  expect_same_after_restore(
      [](const auto& keyed) { return keyed.window(Sliding::of(50ms, 25ms)); });
  expect_same_after_restore([](const auto& keyed) { return keyed.window(Session::with_gap(5ms)); });
}

TEST(Restore, a_late_record_that_is_still_taken_fires_at_once_where_its_subtask_was_ahead) {
  expect_same_after_restore(
      [](const auto& keyed) { return keyed.window(Tumbling::of(50ms)).allowed_lateness(100ms); });
}

// Told "3", it sets timers of both times at 3 and remembers.
struct Reminder {
  ValueState<int> times_asked{};
  Timer timer{};
  Timer other{};
  void on_element(const int&, TextContext& ctx) {
    ++times_asked.update();
    timer.at(EventTime{10});
    timer.at(ProcessingTime{10});
    other.at(EventTime{20});
    (void)ctx;
  }
  void on_timer(const TimerFiring& firing, TextContext& ctx) {
    ctx.emit(std::to_string(ctx.key()) + (firing.is(timer) ? " timer " : " other ") +
             (firing.event_time ? "event" : "processing") + " asked " +
             std::to_string(times_asked.value_or(0)));
  }
};
using ReminderHarness = StreamHarness<int, std::string>;
constexpr auto reminders = [](Stream<int> in) {
  return in.key_by(itself).process("reminders", Reminder{});
};

TEST(Restore, a_processing_timer_that_is_overdue_fires_at_once) {
  ReminderHarness first(reminders);
  first.push(17);
  ReminderHarness early(reminders, {.processing_time = {9}, .restored = first.snapshot()});
  EXPECT_TRUE(early.take_values().empty());
  early.advance_processing_time(1ms);
  EXPECT_EQ(early.take_values(), (Texts{"17 timer processing asked 1"}));
  ReminderHarness late(reminders, {.processing_time = {500}, .restored = first.snapshot()});
  EXPECT_EQ(late.take_values(), (Texts{"17 timer processing asked 1"}));
}

TEST(Restore, windows_of_processing_time_that_have_ended_meanwhile_fire_at_once) {
  using Harness = StreamHarness<Item, Sum64>;
  const auto fired = [](Harness& harness) {
    std::vector<std::int64_t> ends;
    for (const Sum64& sum : harness.take_values()) ends.push_back(sum.window_end.ms);
    return sorted(std::move(ends));
  };
  const auto check = [&](auto assigner, std::int64_t end) {
    const auto describe = [assigner](Stream<Item> in) {
      return in.key_by(&Item::key).window(assigner.in_processing_time()).sum("sum", &Item::value);
    };
    Harness first(describe, {.processing_time = {100}});
    first.push({"a", 1});
    first.push({"b", 1});
    Harness early(describe, {.processing_time = {end - 2}, .restored = first.snapshot()});
    EXPECT_TRUE(fired(early).empty());
    early.advance_processing_time(1ms);
    EXPECT_EQ(fired(early), (std::vector{end, end}));
    Harness late(describe, {.processing_time = {100'000}, .restored = first.snapshot()});
    EXPECT_EQ(fired(late), (std::vector{end, end}));
  };
  check(Tumbling::of(3s), 3000);
  check(Session::with_gap(3s), 3100);
}

TEST(Restore, a_timer_that_is_set_again_still_fires_once) {
  ReminderHarness first(reminders);
  first.push(17);
  first.push(18);
  ReminderHarness second(reminders, {.restored = first.snapshot()});
  second.push(17);
  second.watermark(EventTime{10});
  EXPECT_EQ(sorted(second.take_values()),
            (Texts{"17 timer event asked 2", "18 timer event asked 1"}));
  ReminderHarness third(reminders, {.restored = second.snapshot()});
  third.watermark(EventTime{20});
  EXPECT_EQ(sorted(third.take_values()),
            (Texts{"17 other event asked 2", "18 other event asked 1"}));
}

TEST(Restore, keys_go_to_their_new_subtasks) {
  const auto counts = [](std::uint32_t parallelism) {
    return [parallelism](Stream<int> in) {
      auto counted = in.key_by(itself).count("count");
      return counted.parallelism(parallelism).max_parallelism(16);
    };
  };
  using Count = Keyed<int, std::int64_t>;
  JobSnapshot state;
  for (const std::uint32_t parallelism : {1U, 3U, 2U, 16U}) {
    StreamHarness<int, Count> harness(counts(parallelism), {.restored = std::move(state)});
    for (int key = 0; key < 100; ++key) harness.push(key);
    ASSERT_TRUE(harness.status());
    (void)harness.take_values();
    state = harness.snapshot();
  }
  StreamHarness<int, Count> harness(counts(1), {.restored = std::move(state)});
  for (int key = 0; key < 100; ++key) harness.push(key);
  const auto values = harness.take_values();
  ASSERT_EQ(values.size(), 100U);
  for (const Count& count : values) EXPECT_EQ(count.value, 5);
}

TEST(Restore, final_values_are_put_out_once) {
  const auto describe = [](Stream<int> in) { return in.key_by(itself).count("count").at_end(); };
  using Count = Keyed<int, std::int64_t>;
  StreamHarness<int, Count> first(describe);
  first.push(1);
  first.push(1);
  StreamHarness<int, Count> second(describe, {.restored = first.snapshot()});
  second.push(1);
  second.watermark(EventTime::max());
  EXPECT_EQ(second.take_values().at(0).value, 3);
  StreamHarness<int, Count> third(describe, {.restored = second.snapshot()});
  third.end_input();
  EXPECT_TRUE(third.take_values().empty());
}

// Remembers all it has seen, in a list of one kind, and says so at the end.
struct Buffer {
  OperatorListState<std::string> seen{};
  void on_element(const std::string& text, Context<std::string>&) { seen.add(text); }
  void on_end(Context<std::string>& ctx) {
    std::string all;
    for (const std::string& text : seen.get()) all += text + " ";
    ctx.emit(all);
  }
};

Texts at_the_end(Buffer buffer, std::uint32_t before, std::uint32_t after) {
  const auto describe = [&](std::uint32_t parallelism) {
    return [buffer, parallelism](Stream<std::string> in) {
      return in.rebalance().process("buffer", buffer).parallelism(parallelism);
    };
  };
  StreamHarness<std::string, std::string> first(describe(before));
  for (const char* text : {"a", "b", "c", "d", "e"}) first.push(text);
  StreamHarness<std::string, std::string> second(describe(after), {.restored = first.snapshot()});
  second.end_input();
  EXPECT_TRUE(second.status());
  return second.take_values();
}

TEST(Restore, lists_of_an_operator_are_dealt_out_or_go_to_all) {
  std::multiset<std::size_t> sizes;
  std::string dealt;
  for (const std::string& text : at_the_end(Buffer{}, 2, 3)) {
    sizes.insert(text.size() / 2);
    dealt += text;
  }
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{1, 2, 2}));
  EXPECT_EQ(dealt.size(), 10U);
  const Texts all = at_the_end(Buffer{.seen = ListRedistribution::union_of_all}, 2, 3);
  ASSERT_EQ(all.size(), 3U);
  for (const std::string& text : all) EXPECT_EQ(text.size(), 10U);
}

struct Rule {
  std::string name;
  int limit = 0;
};

// Tells for each record what rules there are, and can be told to break the rules of the engine.
struct Rules {
  BroadcastState<std::string, int> rules{};
  ValueState<int> of_key{};
  void on_element1(const int& number, TextContext& ctx) {
    if (number < 0) rules.put("mine", number);
    std::map<std::string, int> in_order;
    rules.for_each([&](const std::string& name, int limit) { in_order.emplace(name, limit); });
    std::string text;
    for (const auto& [name, limit] : in_order) text += name + "=" + std::to_string(limit) + " ";
    ctx.emit(text);
  }
  void on_element2(const Rule& rule, Context<std::string>&) {
    if (rule.limit < 0) of_key.set(1);
    rules.put(rule.name, rule.limit);
  }
};
using RulesHarness = TwoInputHarness<int, Rule, std::string>;

auto apply_rules(std::uint32_t parallelism) {
  return [parallelism](Stream<int> numbers, Stream<Rule> rules) {
    return numbers.key_by(itself)
        .connect(rules.broadcast())
        .process("rules", Rules{})
        .parallelism(parallelism);
  };
}

// What records of many keys, and so of all subtasks, are told.
std::set<std::string> told(RulesHarness& harness) {
  for (int key = 0; key < 100; ++key) harness.first().push(key);
  EXPECT_TRUE(harness.status());
  const Texts values = harness.take_values();
  EXPECT_EQ(values.size(), 100U);
  return {values.begin(), values.end()};
}

TEST(BroadcastProcess, all_subtasks_have_the_same_map_after_a_restore_with_another_parallelism) {
  RulesHarness first(apply_rules(2));
  for (const char* name : {"test1", "test2", "test3"}) first.second().push({name, 3});
  const std::set<std::string> expected{"test1=3 test2=3 test3=3 "};
  EXPECT_EQ(told(first), expected);
  for (const std::uint32_t parallelism : {1U, 2U, 3U}) {
    RulesHarness second(apply_rules(parallelism), {.restored = first.snapshot()});
    EXPECT_EQ(told(second), expected);
  }
  JobSnapshot of_one_subtask = first.snapshot();
  for (auto& [node, instances] : of_one_subtask) {
    for (std::size_t i = 1; i < instances.size(); ++i) instances[i].items.clear();
  }
  RulesHarness third(apply_rules(3), {.restored = of_one_subtask});
  EXPECT_EQ(told(third), expected);
}

TEST(BroadcastProcess, the_keyed_side_cannot_change_the_map) {
  RulesHarness harness(apply_rules(1));
  harness.first().push(-1);
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().message,
            "user function of 'rules' threw an exception: the broadcast state 'rules' can only be "
            "changed by on_element2, for records of the broadcast stream: other records are not "
            "the same in all subtasks");
}

TEST(BroadcastProcess, the_broadcast_side_has_no_keyed_state) {
  RulesHarness harness(apply_rules(1));
  harness.second().push({"bad", -1});
  ASSERT_FALSE(harness.status());
  EXPECT_NE(harness.status().error().message.find("it belongs to a key"), std::string::npos);
}

TEST(BroadcastProcess, needs_a_stream_that_goes_to_all_subtasks) {
  RulesHarness harness([](Stream<int> numbers, Stream<Rule> rules) {
    return numbers.key_by(itself).connect(rules).process("rules", Rules{});
  });
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().code, Errc::invalid_plan);
  EXPECT_NE(harness.status().error().message.find("connect with .broadcast()"), std::string::npos);
}

TEST(BroadcastProcess, works_without_a_key_too) {
  struct Limits {
    BroadcastState<std::string, int> limits{};
    void on_element1(const int& number, Context<std::string>& ctx) {
      const int* limit = limits.get("max");
      if (limit != nullptr && number > *limit) ctx.emit("over " + std::to_string(*limit));
      if (number < 0) limits.clear();
    }
    void on_element2(const Rule& rule, Context<std::string>&) { limits.put(rule.name, rule.limit); }
  };
  const auto describe = [](Stream<int> numbers, Stream<Rule> rules) {
    return numbers.connect(rules.broadcast()).process("limits", Limits{});
  };
  RulesHarness first(describe);
  first.second().push({"max", 5});
  RulesHarness second(describe, {.restored = first.snapshot()});
  second.first().push(7);
  EXPECT_EQ(second.take_values(), (Texts{"over 5"}));
  second.first().push(-1);
  EXPECT_FALSE(second.status());
}

// Counts per key what comes within 100 ms of each other.
struct Bursts {
  ValueState<int> count{ttl(100ms)};
  ListState<int> recent{};
  MapState<int, int> by_size{};
  ReducingState<int, std::plus<>> sum{};
  AggregatingState<Count> number{};
  void on_element(const int& value, TextContext& ctx) {
    ++count.update();
    recent.add(value);
    by_size.put(static_cast<int>(recent.get().size()), value);
    sum.add(value);
    number.add(value);
    ctx.emit(std::to_string(count.value_or(0)) + " of " + std::to_string(recent.get().size()) +
             " by " + std::to_string(by_size.entries().size()) + " sum " +
             std::to_string(*sum.get()) + " number " + std::to_string(*number.get()));
  }
};

TEST(Restore, every_kind_of_state_survives_and_expires_as_without_it) {
  const auto describe = [](Stream<int> in) { return in.key_by(itself).process("b", Bursts{}); };
  StreamHarness<int, std::string> first(describe);
  first.push(1);
  first.advance_processing_time(60ms);
  first.push(1);
  first.push(2);
  EXPECT_EQ(first.take_values(), (Texts{"1 of 1 by 1 sum 1 number 1", "2 of 2 by 2 sum 2 number 2",
                                        "1 of 1 by 1 sum 2 number 1"}));
  const JobSnapshot snapshot = first.snapshot();
  StreamHarness<int, std::string> soon(describe, {.processing_time = {159}, .restored = snapshot});
  soon.push(1);
  EXPECT_EQ(soon.take_values(), (Texts{"3 of 3 by 3 sum 3 number 3"}));
  StreamHarness<int, std::string> late(describe, {.processing_time = {160}, .restored = snapshot});
  late.push(1);
  EXPECT_EQ(late.take_values(), (Texts{"1 of 3 by 3 sum 3 number 3"}));
}

// What a step says to the state of the same one with other settings.
template <class Before, class After>
std::string said_to_change(Before before, After after) {
  using Harness = StreamHarness<Item, Sum64>;
  const auto describe = [](auto windowed) {
    return [windowed](Stream<Item> in) {
      return windowed(in.key_by(&Item::key)).sum("sum", &Item::value);
    };
  };
  Harness first(describe(before));
  first.push({"a", 1}, EventTime{1000});
  Harness second(describe(after), {.restored = first.snapshot()});
  if (second.status()) return "";
  EXPECT_EQ(second.status().error().code, Errc::state_mismatch);
  return second.status().error().message;
}

TEST(Restore, of_windows_that_are_kept_in_another_way_names_the_settings_that_decide_it) {
  const auto plain = [](auto keyed) { return keyed.window(Tumbling::of(3s)); };
  const auto patient = [](auto keyed) {
    return keyed.window(Tumbling::of(3s)).allowed_lateness(1s);
  };
  const auto sliding = [](auto keyed) { return keyed.window(Sliding::of(3s, 1s)); };
  const auto counted = [](auto keyed) {
    return keyed.window(Tumbling::of(3s)).trigger(CountTrigger{5});
  };
  const std::string what_decides =
      "how they are kept follows from the windows, allowed_lateness, the trigger, the evictor and "
      "the aggregate or function (also from whether that can merge): leave those as they were, or "
      "give the step another name";
  EXPECT_EQ(said_to_change(plain, patient),
            "what is restored of 'sum' is of windows that were kept in another way ('windows'): " +
                what_decides);
  EXPECT_EQ(said_to_change(patient, plain),
            "what is restored of 'sum' is of windows that were kept in another way ('open "
            "windows'): " +
                what_decides);
  EXPECT_EQ(said_to_change(sliding, plain),
            "what is restored of 'sum' is of windows that were kept in another way ('slices', "
            "'window pattern'): " +
                what_decides);
  const std::string other_trigger = said_to_change(patient, counted);
  EXPECT_NE(other_trigger.find("but what is restored is windows of"), std::string::npos);
  EXPECT_NE(other_trigger.find(what_decides), std::string::npos) << other_trigger;
  EXPECT_EQ(said_to_change(patient, patient), "");
}

TEST(Restore, of_another_type_says_what_it_was) {
  struct Number {
    ValueState<int> seen{};
    void on_element(const int&, TextContext&) { ++seen.update(); }
  };
  struct Text {
    ValueState<std::string> seen{};
    void on_element(const int&, TextContext&) { seen.set("x"); }
  };
  struct Nothing {
    void on_element(const int&, TextContext&) {}
  };
  using Harness = StreamHarness<int, std::string>;
  Harness first([](Stream<int> in) { return in.key_by(itself).process("step", Number{}); });
  first.push(1);
  Harness other([](Stream<int> in) { return in.key_by(itself).process("step", Text{}); },
                {.restored = first.snapshot()});
  ASSERT_FALSE(other.status());
  EXPECT_EQ(other.status().error(),
            (Error{Errc::state_mismatch,
                   "the state 'seen' of 'step' is a value per key of key int32, value string, but "
                   "what is restored is a value per key of key int32, value int32: keep its type, "
                   "or give the new state another name"}));
  Harness none([](Stream<int> in) { return in.key_by(itself).process("step", Nothing{}); },
               {.restored = first.snapshot()});
  ASSERT_FALSE(none.status());
  EXPECT_EQ(none.status().error().code, Errc::state_mismatch);
}

}  // namespace
}  // namespace weir
