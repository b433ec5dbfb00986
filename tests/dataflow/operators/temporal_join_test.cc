#include "dataflow/operators/temporal_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"
#include "tests/dataflow/operators/snapshot_groups.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Order {
  std::string key;
  std::string value;
};
struct Version {
  std::string key;
  std::string value;
};
using Texts = std::vector<std::string>;
using Harness = TwoInputHarness<Order, Change<Version>, std::string>;

Stream<std::string> inner(Stream<Order> orders, Stream<Change<Version>> versions) {
  return orders.key_by(&Order::key)
      .temporal_join(versions.changelog(std::identity{}).key_by(&Version::key))
      .process("join", [](const Order& o, const Version& v) { return o.value + " " + v.value; });
}
Stream<std::string> left(Stream<Order> orders, Stream<Change<Version>> versions) {
  return orders.key_by(&Order::key)
      .temporal_left_join(versions.changelog(std::identity{}).key_by(&Version::key))
      .process("join", [](const Order& o, const Version* v) {
        return o.value + " " + (v == nullptr ? "null" : v->value);
      });
}

Change<Version> change(RowKind kind, std::string key, std::string value) {
  return {kind, {std::move(key), std::move(value)}};
}

// The records and watermarks of both variants; what comes out at each watermark is given. The last ones of both inputs come one after the
// other, and that of before on the second lies between.
template <class Describe>
void expect_versions_valid_at_the_time(Describe describe, const std::vector<Texts>& outputs) {
  HarnessScript<Harness> script(describe);
  script.watermark(1)
      .expect({"WM 1"})
      .first(Order{"k1", "1a1"}, 1)
      .second(change(RowKind::insert, "k1", "1a2"), 2)
      .watermark(2)
      .expect(outputs.at(0))
      .first(Order{"k1", "1a1"}, 1)
      .first(Order{"k1", "1a3"}, 3)
      .second(change(RowKind::insert, "k2", "2a4"), 4)
      .watermark(5)
      .expect(outputs.at(1))
      .first(Order{"k2", "2a3"}, 6)
      .second(change(RowKind::update_before, "k2", "2a4"), 7)
      .second(change(RowKind::update_after, "k2", "2a5"), 7)
      .expect({})
      .first_watermark(8)
      .second_watermark(9)
      .expect(outputs.at(2))
      .first(Order{"k2", "5a11"}, 9)
      .first(Order{"k2", "5a12"}, 11)
      .second(change(RowKind::remove, "k2", "2a5"), 9)
      .second(change(RowKind::insert, "k2", "2a6"), 10)
      .watermark(13)
      .expect(outputs.at(3))
      .run();
}

TEST(TemporalJoin, joins_with_the_version_that_was_valid_at_the_time_before_the_watermark) {
  expect_versions_valid_at_the_time(
      inner,
      {{"WM 2"}, {"1a3 1a2@3", "WM 5"}, {"2a3 2a4@6", "WM 8"}, {"WM 9", "5a12 2a6@11", "WM 13"}});
}

TEST(TemporalJoin, a_left_join_has_the_records_without_version_too) {
  expect_versions_valid_at_the_time(left, {{"1a1 null@1", "WM 2"},
                                           {"1a1 null@1", "1a3 1a2@3", "WM 5"},
                                           {"2a3 2a4@6", "WM 8"},
                                           {"5a11 null@9", "WM 9", "5a12 2a6@11", "WM 13"}});
}

TEST(TemporalJoin, the_order_in_which_records_come_says_nothing_before_the_watermark) {
  HarnessScript<Harness> script(inner);
  script.second(change(RowKind::insert, "k", "c"), 30)
      .first(Order{"k", "3"}, 35)
      .first(Order{"k", "1"}, 15)
      .second(change(RowKind::insert, "k", "a"), 10)
      .first(Order{"k", "2"}, 20)
      .second(change(RowKind::insert, "k", "b"), 20)
      .watermark(34)
      .expect({"1 a@15", "2 b@20", "WM 34"})
      .watermark(35)
      .expect({"3 c@35", "WM 35"})
      .run();
}

TEST(TemporalJoin, a_late_record_is_joined_as_long_as_the_version_of_its_time_is_known) {
  HarnessScript<Harness> script(left);
  script.second(change(RowKind::insert, "k", "a"), 10)
      .second(change(RowKind::update_after, "k", "b"), 20)
      .watermark(30)
      .expect({"WM 30"})
      .first(Order{"k", "known"}, 25)
      .first(Order{"k", "gone"}, 15)
      .first(Order{"other", "none"}, 15)
      .watermark(31)
      .expect({"known b@25", "none null@15", "WM 31"})
      .run();
}

TEST(TemporalJoin, late_records_that_can_not_be_joined_rightly_are_counted) {
  Harness harness(left);
  harness.second().push(change(RowKind::insert, "k", "a"), EventTime{10});
  harness.second().push(change(RowKind::update_after, "k", "b"), EventTime{20});
  harness.watermark(EventTime{30});
  harness.first().push({"k", "gone"}, EventTime{15});
  EXPECT_EQ(harness.late_records_dropped(), 1U);
  harness.second().push(change(RowKind::update_after, "k", "older"), EventTime{12});
  EXPECT_EQ(harness.late_records_dropped(), 2U) << "no record that follows can ask for it";
  EXPECT_EQ(harness.counter("late versions taken"), 0);
}

TEST(TemporalJoin, a_late_version_counts_for_what_has_not_been_put_out) {
  Harness harness(inner);
  harness.second().push(change(RowKind::insert, "k", "a"), EventTime{10});
  harness.first().push({"k", "1"}, EventTime{25});
  harness.watermark(EventTime{30});
  EXPECT_THAT(harness.take_values(), ElementsAre("1 a"));
  harness.second().push(change(RowKind::update_after, "k", "b"), EventTime{20});
  harness.first().push({"k", "2"}, EventTime{31});
  harness.watermark(EventTime{40});
  EXPECT_THAT(harness.take_values(), ElementsAre("2 b"));
  EXPECT_EQ(harness.counter("late versions taken"), 1);
  EXPECT_EQ(harness.late_records_dropped(), 0U);
}

TEST(TemporalJoin, keeps_the_version_that_is_valid_and_those_to_come) {
  Harness harness(inner);
  const auto push = [&](const std::string& value, std::int64_t ms) {
    harness.second().push(change(RowKind::update_after, "k", value), EventTime{ms});
  };
  push("a", 10);
  const std::size_t one = bytes_kept(harness.snapshot());
  for (int ms = 11; ms <= 30; ++ms) push("b", ms);
  EXPECT_GT(bytes_kept(harness.snapshot()), 2 * one);
  harness.watermark(EventTime{29});
  push("c", 40);
  harness.watermark(EventTime{30});
  push("d", 50);
  harness.watermark(EventTime{50});
  EXPECT_EQ(bytes_kept(harness.snapshot()), one);
  harness.second().push(change(RowKind::remove, "k", "d"), EventTime{60});
  harness.watermark(EventTime{59});
  EXPECT_GT(bytes_kept(harness.snapshot()), 0U);
  harness.watermark(EventTime{60});
  EXPECT_EQ(bytes_kept(harness.snapshot()), 0U) << "a row that is removed leaves nothing";
}

TEST(TemporalJoin, a_time_to_live_forgets_keys_that_are_not_used) {
  const auto describe = [](Stream<Order> orders, Stream<Change<Version>> versions) {
    return orders.key_by(&Order::key)
        .temporal_left_join(versions.changelog(std::identity{}).key_by(&Version::key).state_ttl(1h))
        .process("join", [](const Order& o, const Version* v) {
          return o.value + " " + (v == nullptr ? "null" : v->value);
        });
  };
  HarnessScript<Harness> script(describe);
  script.second(change(RowKind::insert, "used", "a"), 10)
      .second(change(RowKind::insert, "unused", "b"), 10)
      .processing_time(3'000'000)
      .first(Order{"used", "1"}, 20)
      .watermark(20)
      .expect({"1 a@20", "WM 20"})
      .processing_time(3'600'000)
      .first(Order{"used", "2"}, 30)
      .first(Order{"unused", "3"}, 30)
      .watermark(30)
      .expect({"2 a@30", "3 null@30", "WM 30"})
      .run();
}

TEST(TemporalJoin, a_record_without_time_is_an_error_that_says_what_to_do) {
  Harness harness(inner);
  harness.second().push(change(RowKind::insert, "k", "a"));
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(harness.status().error().message,
              HasSubstr("'join' received a record without event time: put .event_time(…) on both "
                        "streams before the temporal join"));
}

TEST(TemporalJoin, many_records_of_one_watermark_come_in_batches) {
  constexpr int count = 50'000;
  Harness harness(inner);
  harness.second().push(change(RowKind::insert, "k", "a"), EventTime{0});
  for (int n = 0; n < count; ++n)
    harness.first().push({n % 2 == 0 ? "k" : "none", std::to_string(n)}, EventTime{n});
  harness.watermark(EventTime{count});
  ASSERT_TRUE(harness.status());
  const Texts values = harness.take_values();
  ASSERT_EQ(values.size(), count / 2);
  for (int n = 0; n < count / 2; ++n)
    ASSERT_EQ(values[static_cast<std::size_t>(n)], std::to_string(2 * n) + " a");
}

TEST(TemporalJoin, what_has_the_last_time_comes_with_the_last_watermark) {
  Harness harness(inner);
  harness.second().push(change(RowKind::insert, "k", "a"), EventTime::max());
  harness.first().push({"k", "1"}, EventTime::max());
  harness.end_input();
  EXPECT_THAT(harness.take_values(), ElementsAre("1 a"));
}

// All that has come, and a search through it for each record.
class Model {
 public:
  void order(const Order& order, std::int64_t ms) { waiting_.emplace(ms, order); }
  void version(const Change<Version>& version, std::int64_t ms) {
    versions_[version.row.key][ms] =
        adds_row(version.kind) ? std::optional(version.row.value) : std::nullopt;
  }
  Texts watermark(std::int64_t ms) {
    Texts texts;
    while (!waiting_.empty() && waiting_.begin()->first <= ms) {
      const auto& [at, order] = *waiting_.begin();
      std::optional<std::string> valid;
      for (const auto& [from, value] : versions_[order.key]) {
        if (from <= at) valid = value;
      }
      texts.push_back(order.value + " " + valid.value_or("null"));
      waiting_.erase(waiting_.begin());
    }
    std::ranges::sort(texts);
    return texts;
  }

 private:
  std::multimap<std::int64_t, Order> waiting_;
  std::map<std::string, std::map<std::int64_t, std::optional<std::string>>> versions_;
};

TEST(TemporalJoin, does_what_a_search_through_all_versions_does) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    auto harness = std::make_unique<Harness>(left);
    Model model;
    std::int64_t watermark = 0;
    const std::uint64_t keys = 1 + random.below(5);
    for (int step = 0; step < 60; ++step) {
      const std::string key = "k" + std::to_string(random.below(keys));
      const std::int64_t at = watermark + 1 + static_cast<std::int64_t>(random.below(12));
      switch (random.below(8)) {
        case 0:
        case 1:
        case 2: {
          const Order order{key, std::to_string(step)};
          harness->first().push(order, EventTime{at});
          model.order(order, at);
          break;
        }
        case 3:
        case 4:
        case 5: {
          const auto version =
              change(static_cast<RowKind>(random.below(4)), key, "v" + std::to_string(step));
          harness->second().push(version, EventTime{at});
          model.version(version, at);
          break;
        }
        case 6:
          watermark += static_cast<std::int64_t>(random.below(10));
          harness->watermark(EventTime{watermark});
          break;
        default:
          harness =
              std::make_unique<Harness>(left, HarnessOptions{.restored = harness->snapshot()});
          harness->watermark(EventTime{watermark});
      }
      Texts texts = harness->take_values();
      std::ranges::sort(texts);
      ASSERT_EQ(texts, model.watermark(watermark)) << "step " << step;
      ASSERT_EQ(harness->late_records_dropped(), 0U);
    }
  }
}

}  // namespace
}  // namespace weir
