#include "dataflow/operators/tumbling_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

struct Item {
  std::string key;
  std::int64_t value = 1;
};
using Sum64 = Windowed<std::string, std::int64_t>;
using Harness = StreamHarness<Item, Sum64>;

Harness sums(Duration size) {
  return Harness([size](Stream<Item> in) {
    return in.key_by(&Item::key).window(Tumbling::of(size)).sum("sum", &Item::value);
  });
}

// What has come out, as "key value@time", the records of one firing sorted; and "WM time".
std::vector<std::string> take(Harness& harness) {
  EXPECT_TRUE(harness.status());
  std::vector<std::string> texts;
  std::size_t firing = 0;
  for (const auto& output : harness.take_outputs()) {
    if (const auto* record = std::get_if<Record<Sum64>>(&output)) {
      texts.push_back(record->value.key + " " + std::to_string(record->value.value) + "@" +
                      std::to_string(record->time.ms));
      continue;
    }
    std::sort(texts.begin() + static_cast<std::ptrdiff_t>(firing), texts.end());
    texts.push_back("WM " + std::to_string(std::get<Watermark>(output).time.ms));
    firing = texts.size();
  }
  return texts;
}
using Texts = std::vector<std::string>;

TEST(TumblingWindow, fires_when_the_watermark_reaches_its_last_millisecond) {
  auto harness = sums(3s);
  for (const auto& [key, time] : {std::pair{"two", 3999},
                                  {"two", 3000},
                                  {"one", 20},
                                  {"one", 0},
                                  {"one", 999},
                                  {"two", 1998},
                                  {"two", 1999},
                                  {"two", 1000}}) {
    harness.push({key, 1}, EventTime{time});
  }
  harness.watermark(EventTime{999});
  harness.watermark(EventTime{1999});
  EXPECT_EQ(take(harness), (Texts{"WM 999", "WM 1999"}));
  harness.watermark(EventTime{2999});
  EXPECT_EQ(take(harness), (Texts{"one 3@2999", "two 3@2999", "WM 2999"}));
  harness.watermark(EventTime{3999});
  harness.watermark(EventTime{4999});
  EXPECT_EQ(take(harness), (Texts{"WM 3999", "WM 4999"}));
  harness.watermark(EventTime{5999});
  EXPECT_EQ(take(harness), (Texts{"two 2@5999", "WM 5999"}));
  harness.watermark(EventTime{7999});
  EXPECT_EQ(take(harness), (Texts{"WM 7999"}));
}

struct JoinTexts {
  using Accumulator = std::string;
  void add(Accumulator& all, std::int64_t value) const { all += std::to_string(value) + " "; }
  [[nodiscard]] std::string result(const Accumulator& all) const { return all; }
};

TEST(TumblingWindow, follows_watermarks_of_records_out_of_order) {
  HarnessScript<StreamHarness<std::int64_t, std::string>>([](Stream<std::int64_t> in) {
    return in.event_time([](std::int64_t ms) { return EventTime{ms}; }, bounded(2s))
        .key_by([](std::int64_t) { return 0; })
        .window(Tumbling::of(5s))
        .aggregate("contents", JoinTexts{}, [](int, Window window, const std::string& all) {
          return all + "from " + std::to_string(window.start.ms);
        });
  })
      .push(std::int64_t{1000})
      .push(std::int64_t{4000})
      .push(std::int64_t{6999})
      .expect({"WM -1001", "WM 1999", "WM 4998"})
      .push(std::int64_t{7000})
      .expect({"1000 4000 from 0@4999", "WM 4999"})
      .push(std::int64_t{12'000})
      .expect({"6999 7000 from 5000@9999", "WM 9999"})
      .run();
}

TEST(TumblingWindow, counts_and_drops_records_that_come_after_it_has_fired) {
  auto harness = sums(2s);
  harness.push({"k", 1}, EventTime{1000});
  harness.watermark(EventTime{1985});
  harness.push({"k", 1}, EventTime{1980});
  harness.watermark(EventTime{1999});
  EXPECT_EQ(take(harness), (Texts{"WM 1985", "k 2@1999", "WM 1999"}));
  harness.push({"k", 1}, EventTime{1998});
  EXPECT_EQ(harness.late_records_dropped(), 1U);
  harness.push({"k", 1}, EventTime{2001});
  harness.watermark(EventTime{2999});
  harness.watermark(EventTime{3999});
  EXPECT_EQ(take(harness), (Texts{"WM 2999", "k 1@3999", "WM 3999"}));
  EXPECT_EQ(harness.late_records_dropped(), 1U);
}

TEST(TumblingWindow, a_record_is_late_from_the_watermark_of_the_last_millisecond_on) {
  auto harness = sums(1s);
  harness.watermark(EventTime{998});
  harness.push({"k", 1}, EventTime{500});
  EXPECT_EQ(harness.late_records_dropped(), 0U);
  harness.watermark(EventTime{999});
  harness.push({"k", 1}, EventTime{500});
  EXPECT_EQ(harness.late_records_dropped(), 1U);
  EXPECT_EQ(take(harness), (Texts{"WM 998", "k 1@999", "WM 999"}));
}

TEST(TumblingWindow, does_not_fire_without_records) {
  auto harness = sums(2s);
  harness.push({"k", 1}, EventTime{1000});
  for (const std::int64_t ms : {1599, 1999, 2000, 5000}) harness.watermark(EventTime{ms});
  EXPECT_EQ(take(harness), (Texts{"WM 1599", "k 1@1999", "WM 1999", "WM 2000", "WM 5000"}));
}

TEST(TumblingWindow, results_reach_the_next_window_before_the_watermark_that_fired_them) {
  StreamHarness<Item, Item> harness([](Stream<Item> in) {
    return in.key_by(&Item::key)
        .window(Tumbling::of(5s))
        .aggregate("sum", Sum<std::int64_t Item::*, std::int64_t>{&Item::value},
                   [](const std::string& key, Window, std::int64_t value) {
                     return Item{key, value};
                   })
        .key_by([](const Item&) { return 0; })
        .window(Tumbling::of(5s))
        .reduce("top", [](const Item& a, const Item& b) { return a.value >= b.value ? a : b; });
  });
  harness.push({"a", 1}, EventTime{100});
  harness.push({"b", 5}, EventTime{200});
  harness.push({"a", 2}, EventTime{4000});
  harness.watermark(EventTime{4999});
  const auto outputs = harness.take_outputs();
  ASSERT_EQ(outputs.size(), 2U);
  const auto& top = std::get<Record<Item>>(outputs[0]);
  EXPECT_EQ(top.value.key, "b");
  EXPECT_EQ(top.value.value, 5);
  EXPECT_EQ(top.time, EventTime{4999});
  EXPECT_EQ(std::get<Watermark>(outputs[1]), Watermark{EventTime{4999}});
}

TEST(TumblingWindow, works_at_the_ends_of_time) {
  auto harness = sums(1s);
  const EventTime last_but_little = EventTime::max() - 1750ms;
  harness.push({"first", 1}, EventTime::min() + 1ms);
  harness.push({"late", 1}, last_but_little);
  harness.push({"last", 1}, EventTime::max());
  harness.push({"last", 1}, EventTime::max() - 1ms);
  EXPECT_TRUE(take(harness).empty());
  harness.watermark(EventTime::max() - 1500ms);
  EXPECT_EQ(take(harness).size(), 2U);  // the first window and the watermark
  const Window window = Tumbling::of(1s).window_of(last_but_little);
  harness.watermark(window.max_time());
  EXPECT_EQ(take(harness), (Texts{"late 1@" + std::to_string(window.max_time().ms),
                                  "WM " + std::to_string(window.max_time().ms)}));
  harness.push({"last", 1}, EventTime::max());
  harness.end_input();
  EXPECT_EQ(take(harness), (Texts{"last 3@9223372036854775807", "WM 9223372036854775807"}));
  EXPECT_EQ(harness.late_records_dropped(), 0U);
  EXPECT_TRUE(harness.finished());
}

TEST(TumblingWindow, end_of_input_fires_what_is_open_in_the_order_of_time) {
  auto harness = sums(1s);
  harness.push({"k", 1}, EventTime{5500});
  harness.push({"k", 1}, EventTime{500});
  harness.end_input();
  const auto values = harness.take_values();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_LT(values[0].window_start, values[1].window_start);
}

TEST(TumblingWindow, more_keys_than_a_batch_holds_come_out_once) {
  auto harness = sums(1s);
  std::vector<Record<Item>> records;
  constexpr int keys = 3 * static_cast<int>(limits::batch_rows_max) + 5;
  for (int key = 0; key < keys; ++key)
    records.push_back({{std::to_string(key), key}, EventTime{key % 2000}});
  harness.push_batch(records);
  harness.push_batch(records);
  harness.watermark(EventTime{5000});
  auto values = harness.take_values();
  ASSERT_EQ(values.size(), static_cast<std::size_t>(keys));
  std::ranges::sort(values, {}, &Sum64::value);
  for (int key = 0; key < keys; ++key)
    EXPECT_EQ(values[static_cast<std::size_t>(key)].value, 2 * key);
}

TEST(TumblingWindow, needs_records_with_event_time) {
  auto harness = sums(1s);
  harness.push({"k", 1});
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().message,
            "'sum' received a record without event time: put .event_time(…) before the window");
  auto mixed = sums(1s);
  mixed.push_batch({{{"k", 1}, EventTime{5}}, {{"k", 1}, no_timestamp}});
  EXPECT_FALSE(mixed.status());
}

// Against sums kept in a sorted list, over random records and watermarks.
TEST(TumblingWindow, gives_each_record_to_its_window_or_counts_it_as_late) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    auto harness = sums(100ms);
    std::vector<std::tuple<std::int64_t, std::string, std::int64_t>>
        expected;  // start, key, value of each record in time
    std::uint64_t late = 0;
    std::int64_t watermark = -1;
    for (int step = 0; step < 300; ++step) {
      if (random.below(10) == 0) {
        watermark += static_cast<std::int64_t>(random.below(150));
        harness.watermark(EventTime{watermark});
      }
      const auto time =
          std::max<std::int64_t>(0, watermark - 150 + static_cast<std::int64_t>(random.below(400)));
      const std::int64_t start = time - time % 100;
      const std::string key = std::to_string(random.below(5));
      harness.push({key, 1}, EventTime{time});
      if (start + 99 <= watermark) {
        ++late;
      } else {
        expected.emplace_back(start, key, 1);
      }
    }
    harness.end_input();
    ASSERT_TRUE(harness.status());
    EXPECT_EQ(harness.late_records_dropped(), late);
    std::vector<std::tuple<std::int64_t, std::string, std::int64_t>> actual;
    for (const Sum64& sum : harness.take_values()) {
      for (std::int64_t i = 0; i < sum.value; ++i)
        actual.emplace_back(sum.window_start.ms, sum.key, 1);
    }
    std::ranges::sort(expected);
    std::ranges::sort(actual);
    EXPECT_EQ(actual, expected);
  }
}

}  // namespace
}  // namespace weir
