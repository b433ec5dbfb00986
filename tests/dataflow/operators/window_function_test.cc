// What the user's functions of windows get, keep and put out.
#include "dataflow/api/window_function.h"

#include <gtest/gtest.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "dataflow/window/session.h"
#include "dataflow/window/sliding.h"
#include "dataflow/window/triggers/event_time_trigger.h"
#include "tests/dataflow/operators/window_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

// Everything that a function of all elements can see.
struct Describe {
  std::string prefix;
  ValueState<int> windows{};
  WindowState<int> firings{};
  SideOutput<std::string> single{};
  void on_window(std::span<const Item> items, WindowContext<std::string, std::string>& ctx) {
    std::string text = prefix + ctx.key() + " " + std::to_string(ctx.window().start.ms) + ":";
    for (const Item& item : items) text += " " + std::to_string(item.value);
    if (firings.get() == nullptr) ++windows.update();
    ++firings.update();
    text += " firing " + std::to_string(firings.value_or(0)) + " of window " +
            std::to_string(windows.value_or(0));
    EXPECT_EQ(ctx.timestamp(), ctx.window().max_time());
    if (items.size() == 1) single.push(ctx.key());
    ctx.emit(text);
  }
};

TEST(WindowFunction, sees_all_elements_and_has_state_of_its_key_and_window) {
  WindowScript<std::string>([](Stream<Item> in) {
    return in.key_by(&Item::key)
        .window(Tumbling::of(1s))
        .allowed_lateness(1s)
        .process("describe", Describe{.prefix = "> "});
  })
      .push("a", 1, 500)
      .push("a", 2, 100)
      .push("b", 4, 999)
      .push("a", 8, 1000)
      .watermark(999)
      .expect({"> a 0: 1 2 firing 1 of window 1", "> b 0: 4 firing 1 of window 1"})
      .push("a", 16, 500)
      .expect({"> a 0: 1 2 16 firing 2 of window 1"})
      .watermark(1999)
      .expect({"> a 1000: 8 firing 1 of window 2"})
      .push("a", 32, 1000)
      .expect({"> a 1000: 8 32 firing 2 of window 2"})
      .run();
}

TEST(WindowFunction, has_side_outputs_with_the_time_of_the_window) {
  StreamHarness<Item, std::string> harness([](Stream<Item> in) {
    return in.key_by(&Item::key).window(Sliding::of(2s, 1s)).process("describe", Describe{});
  });
  harness.push({"a", 1}, EventTime{500});
  harness.push({"a", 1}, EventTime{1500});
  harness.watermark(EventTime{2999});
  EXPECT_EQ(harness.take_side(&Describe::single), (Texts{"a", "a"}));
  EXPECT_EQ(harness.take_values().size(), 3U);
}

TEST(WindowFunction, side_outputs_and_late_records_are_different_outputs) {
  StreamHarness<Item, std::string> harness([](Stream<Item> in) {
    auto described = in.key_by(&Item::key).window(Tumbling::of(1s)).process("describe", Describe{});
    auto late = described.late();
    return described.union_with(described.side(&Describe::single))
        .union_with(late.map([](const Item& item) { return "late " + item.key; }));
  });
  harness.push({"a", 1}, EventTime{500});
  harness.watermark(EventTime{999});
  harness.push({"b", 1}, EventTime{500});
  auto values = harness.take_values();
  std::ranges::sort(values);
  EXPECT_EQ(values, (Texts{"a", "a 0: 1 firing 1 of window 1", "late b"}));
  EXPECT_EQ(harness.late_records_dropped(), 0U);
}

// Behind an aggregate.
struct Share {
  ValueState<std::int64_t> before{};
  void on_window(const std::int64_t& sum, WindowContext<std::string, std::string>& ctx) {
    ctx.emit(ctx.key() + " " + std::to_string(sum) + " after " +
             std::to_string(before.value_or(0)));
    before.set(sum);
  }
};

TEST(WindowFunction, gets_the_result_of_an_aggregate_before_it) {
  WindowScript<std::string>([](Stream<Item> in) {
    return in.key_by(&Item::key)
        .window(Session::with_gap(1s))
        .aggregate("share", Sum<std::int64_t Item::*, std::int64_t>{&Item::value}, Share{});
  })
      .push("a", 1, 0)
      .push("a", 2, 500)
      .push("a", 4, 3000)
      .watermark(1499)
      .expect({"a 3 after 0"})
      .watermark(3999)
      .expect({"a 4 after 3"})
      .run();
}

TEST(WindowFunction, sees_an_empty_window_if_all_was_evicted) {
  struct Nobody {
    void evict(WindowElements<Item>& items, const Window&) const {
      items.erase_if([](const Item& item, EventTime time) { return item.value == time.ms; });
    }
  };
  WindowScript<std::string>([](Stream<Item> in) {
    return in.key_by(&Item::key)
        .window(Tumbling::of(1s))
        .evictor(Nobody{})
        .process("describe", Describe{});
  })
      .push("a", 1, 1)
      .push("b", 1, 1)
      .push("b", 1, 2)
      .watermark(999)
      .expect({"a 0: firing 1 of window 1", "b 0: 1 firing 1 of window 1"})
      .run();
}

struct All {
  void on_window(std::span<const Item> items, AllWindowContext<std::string>& ctx) {
    ctx.emit(std::to_string(items.size()) + " until " + std::to_string(ctx.window().end.ms));
  }
};

TEST(WindowAll, has_the_records_of_all_keys) {
  WindowScript<std::string>(
      [](Stream<Item> in) { return in.window_all(Tumbling::of(1s)).process("all", All{}); })
      .push("a", 1, 0)
      .push("b", 1, 999)
      .push("c", 1, 1000)
      .watermark(1999)
      .expect({"2 until 1000", "1 until 2000"})
      .run();
  StreamHarness<Item, AllWindowed<std::int64_t>> harness(
      [](Stream<Item> in) { return in.window_all(Tumbling::of(1s)).sum("sum", &Item::value); });
  harness.push({"a", 1}, EventTime{0});
  harness.push({"b", 2}, EventTime{999});
  harness.watermark(EventTime{999});
  EXPECT_EQ(harness.take_values(),
            (std::vector<AllWindowed<std::int64_t>>{{EventTime{0}, EventTime{1000}, 3}}));
}

TEST(Window, more_firings_than_a_batch_holds_come_out_once) {
  StreamHarness<Item, Sum64> harness([](Stream<Item> in) {
    return in.key_by(&Item::key).window(Session::with_gap(1s)).sum("sum", &Item::value);
  });
  std::vector<Record<Item>> records;
  constexpr int keys = 3 * static_cast<int>(limits::batch_rows_max) + 5;
  for (int key = 0; key < keys; ++key)
    records.push_back({{std::to_string(key), key}, EventTime{key % 5000}});
  harness.push_batch(records);
  harness.push_batch(records);
  harness.watermark(EventTime{10'000});
  auto values = harness.take_values();
  ASSERT_EQ(values.size(), static_cast<std::size_t>(keys));
  for (std::size_t i = 1; i < values.size(); ++i)
    ASSERT_LE(values[i - 1].window_end, values[i].window_end);
  for (const Sum64& sum : values) ASSERT_EQ(sum.value, 2 * std::stoll(sum.key));
  EXPECT_TRUE(harness.status());
}

TEST(Window, open_windows_go_to_the_new_subtasks_of_their_keys) {
  const auto sessions = [](std::uint32_t parallelism) {
    return [parallelism](Stream<Item> in) {
      auto sums = in.key_by(&Item::key).window(Session::with_gap(1s)).sum("sum", &Item::value);
      return sums.parallelism(parallelism).max_parallelism(16);
    };
  };
  JobSnapshot state;
  for (const std::uint32_t parallelism : {1U, 3U, 2U, 16U}) {
    StreamHarness<Item, Sum64> harness(sessions(parallelism), {.restored = std::move(state)});
    for (int key = 0; key < 100; ++key) harness.push({std::to_string(key), 1}, EventTime{key});
    ASSERT_TRUE(harness.status());
    state = harness.snapshot();
  }
  StreamHarness<Item, Sum64> harness(sessions(5), {.restored = std::move(state)});
  harness.watermark(EventTime{5000});
  const auto values = harness.take_values();
  ASSERT_EQ(values.size(), 100U);
  for (const Sum64& sum : values) EXPECT_EQ(sum.value, 4);
}

}  // namespace
}  // namespace weir
