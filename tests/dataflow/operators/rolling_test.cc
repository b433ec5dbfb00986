#include "dataflow/operators/rolling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "dataflow/harness.h"

namespace weir {
namespace {

struct Sale {
  std::string shop;
  int amount = 0;
  friend bool operator==(const Sale&, const Sale&) = default;
};
using Row = Keyed<std::string, int>;

// Runs these sales through a step on the stream keyed by shop.
template <class Out, class Step>
std::vector<Out> run(Step step) {
  StreamHarness<Sale, Out> harness(
      [step](Stream<Sale> in) { return step(in.key_by(&Sale::shop)); });
  for (const auto& sale : std::vector<Sale>{{"a", 3}, {"b", 1}, {"a", 1}, {"a", 5}})
    harness.push(sale);
  harness.end_input();
  EXPECT_TRUE(harness.status());
  return harness.take_values();
}

// An overflow of a signed integer would not be a constant.
TEST(Rolling, sums_of_integers_wrap_and_come_back) {
  constexpr auto wrapped = [] {
    const Sum<int Sale::*, int> sum{&Sale::amount};
    int total = std::numeric_limits<int>::max();
    sum.add(total, Sale{.shop = {}, .amount = 2});
    sum.merge(total, std::numeric_limits<int>::min());
    return total;
  };
  static_assert(wrapped() == 1);
  constexpr auto taken_back = [] {
    const Sum<int Sale::*, int> sum{&Sale::amount};
    int total = std::numeric_limits<int>::min() + 1;
    sum.retract(total, 2);
    return total;
  };
  static_assert(taken_back() == std::numeric_limits<int>::max());
}

TEST(Rolling, every_record_updates_the_value_of_its_key) {
  EXPECT_EQ((run<Row>([](auto sales) { return sales.sum("sum", &Sale::amount); })),
            (std::vector<Row>{{"a", 3}, {"b", 1}, {"a", 4}, {"a", 9}}));
  EXPECT_EQ((run<Row>([](auto sales) { return sales.min("min", &Sale::amount); })),
            (std::vector<Row>{{"a", 3}, {"b", 1}, {"a", 1}, {"a", 1}}));
  EXPECT_EQ((run<Row>([](auto sales) { return sales.max("max", &Sale::amount); })),
            (std::vector<Row>{{"a", 3}, {"b", 1}, {"a", 3}, {"a", 5}}));
  using Counts = Keyed<std::string, std::int64_t>;
  EXPECT_EQ((run<Counts>([](auto sales) { return sales.count("count"); })),
            (std::vector<Counts>{{"a", 1}, {"b", 1}, {"a", 2}, {"a", 3}}));
}

TEST(Rolling, reduce_folds_the_records_themselves) {
  const auto larger = [](const Sale& x, const Sale& y) { return x.amount > y.amount ? x : y; };
  EXPECT_EQ((run<Sale>([larger](auto sales) { return sales.reduce("largest", larger); })),
            (std::vector<Sale>{{"a", 3}, {"b", 1}, {"a", 3}, {"a", 5}}));
}

TEST(Rolling, at_end_gives_the_last_value_of_each_key) {
  auto rows = run<Row>([](auto sales) { return sales.sum("sum", &Sale::amount).at_end(); });
  std::ranges::sort(rows, {}, &Row::key);
  EXPECT_EQ(rows, (std::vector<Row>{{"a", 9}, {"b", 1}}));
}

TEST(Rolling, at_end_gives_more_keys_than_a_batch_holds) {
  StreamHarness<int, Keyed<int, std::int64_t>> harness(
      [](Stream<int> in) { return in.key_by([](int x) { return x; }).count("count").at_end(); });
  std::vector<Record<int>> records;
  for (int i = 0; i < 20'000; ++i) records.push_back({i % 10'000});
  harness.push_batch(records);
  harness.end_input();
  const auto rows = harness.take_values();
  EXPECT_EQ(rows.size(), 10'000U);
  EXPECT_TRUE(std::ranges::all_of(rows, [](const auto& row) { return row.value == 2; }));
}

TEST(Rolling, results_carry_the_time_of_their_record) {
  StreamHarness<Sale, Row> harness(
      [](Stream<Sale> in) { return in.key_by(&Sale::shop).sum("sum", &Sale::amount); });
  harness.push({"a", 3}, EventTime{7});
  EXPECT_EQ(harness.take_outputs().front(), Emitted<Row>(Record<Row>{{"a", 3}, EventTime{7}}));
}

TEST(Keyed, a_key_function_that_changes_its_mind_is_an_error) {
  StreamHarness<int, Keyed<int, std::int64_t>> harness([](Stream<int> in) {
    return in.key_by([calls = std::make_shared<int>(0)](int) { return ++*calls; }).count("count");
  });
  harness.push(1);
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().code, Errc::user_code);
  EXPECT_EQ(harness.status().error().message,
            "the key function of 'count' gave two different keys for the same record: a key must "
            "depend on nothing "
            "but the record (no random numbers, clocks or counters)");
}

TEST(Keyed, what_a_key_function_throws_is_an_error_of_the_keyed_step) {
  for (const bool moves : {true, false}) {
    StreamHarness<int, Keyed<int, std::int64_t>> harness([moves](Stream<int> in) {
      const auto key = [](int x) { return x == 0 ? throw std::domain_error("no key for 0") : x; };
      const auto mapped = in.map([](int x) { return x; });
      return (moves ? mapped.key_by(key) : mapped.reinterpret_as_keyed(key)).count("count");
    });
    harness.push_batch({{1}, {0}});
    ASSERT_FALSE(harness.status());
    EXPECT_EQ(harness.status().error().message,
              "user function of 'count' threw an exception: no key for 0");
  }
}

TEST(Keyed, a_stream_that_is_not_partitioned_as_declared_is_an_error) {
  StreamHarness<int, Keyed<int, std::int64_t>> harness([](Stream<int> in) {
    return in.rebalance()
        .map([](int x) { return x; })
        .parallelism(2)
        .reinterpret_as_keyed([](int x) { return x; })
        .count("count")
        .parallelism(2);
  });
  for (int i = 0; i < 10; ++i) harness.push(i);
  ASSERT_FALSE(harness.status());
  EXPECT_EQ(harness.status().error().message,
            "'count' received records of keys that belong to another subtask: reinterpret_as_keyed "
            "needs a stream that "
            "is already partitioned by this key");
}

TEST(Keyed, a_stream_that_stays_partitioned_may_be_keyed_again_without_moving) {
  StreamHarness<int, Keyed<int, std::int64_t>> harness([](Stream<int> in) {
    const auto key = [](int x) { return x % 7; };
    return in.key_by(key)
        .reduce("last", [](int, int x) { return x; })
        .parallelism(3)
        .reinterpret_as_keyed(key)
        .count("count")
        .parallelism(3);
  });
  for (int i = 0; i < 70; ++i) harness.push(i);
  harness.end_input();
  EXPECT_TRUE(harness.status());
  EXPECT_EQ(harness.take_values().size(), 70U);
}

}  // namespace
}  // namespace weir
