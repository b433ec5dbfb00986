#include "dataflow/operators/stateless.h"

#include <gtest/gtest.h>

#include <ranges>
#include <string>
#include <vector>

#include "dataflow/harness.h"

namespace weir {
namespace {

template <class T>
std::vector<Emitted<T>> emitted(std::vector<Record<T>> records) {
  return {records.begin(), records.end()};
}

TEST(Map, keeps_the_time_of_each_record_or_that_it_has_none) {
  StreamHarness<int, std::string> harness(
      [](Stream<int> in) { return in.map([](int x) { return std::to_string(x); }); });
  harness.push(1, EventTime{10});
  harness.push(2);
  harness.push_batch({{3, EventTime{30}}, {4}});
  EXPECT_EQ(harness.take_outputs(),
            emitted<std::string>({{"1", EventTime{10}}, {"2"}, {"3", EventTime{30}}, {"4"}}));
}

TEST(Map, takes_a_member_for_a_function) {
  struct Pair {
    int first;
    int second;
  };
  StreamHarness<Pair, int> harness([](Stream<Pair> in) { return in.map(&Pair::second); });
  harness.push({1, 2});
  EXPECT_EQ(harness.take_values(), std::vector{2});
}

TEST(Filter, keeps_what_the_predicate_accepts) {
  StreamHarness<int, int> harness(
      [](Stream<int> in) { return in.filter([](int x) { return x > 1; }); });
  harness.push_batch({{1, EventTime{10}}, {2, EventTime{20}}, {3, EventTime{30}}});
  EXPECT_EQ(harness.take_outputs(), emitted<int>({{2, EventTime{20}}, {3, EventTime{30}}}));
}

TEST(FlatMap, puts_out_any_number_of_records_with_the_time_of_theirs) {
  StreamHarness<int, int> harness(
      [](Stream<int> in) { return in.flat_map([](int n) { return std::views::iota(0, n); }); });
  harness.push(0);
  harness.push(3, EventTime{5});
  EXPECT_EQ(harness.take_outputs(),
            emitted<int>({{0, EventTime{5}}, {1, EventTime{5}}, {2, EventTime{5}}}));
}

TEST(FlatMap, may_return_a_view_of_its_record) {
  StreamHarness<std::string, char> harness([](Stream<std::string> in) {
    return in.flat_map([](const std::string& text) {
      return text | std::views::filter([](char c) { return c != ' '; });
    });
  });
  harness.push("a b c");
  EXPECT_EQ(harness.take_values(), (std::vector{'a', 'b', 'c'}));
}

TEST(FlatMap, goes_on_inside_a_record_that_fills_many_batches) {
  StreamHarness<int, int> harness(
      [](Stream<int> in) { return in.flat_map([](int n) { return std::views::iota(0, n); }); });
  harness.push_batch({{50'000}, {2}});
  const auto values = harness.take_values();
  ASSERT_EQ(values.size(), 50'002U);
  for (int i = 0; i < 50'000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(values.back(), 1);
}

TEST(FlatMap, may_take_a_collector) {
  StreamHarness<int, std::string> harness([](Stream<int> in) {
    return in.flat_map([](int n, Collector<std::string>& out) {
      for (int i = 0; i < n; ++i) out.collect(std::to_string(n));
    });
  });
  harness.push_batch({{2, EventTime{7}}, {0, EventTime{8}}, {1, EventTime{9}}});
  EXPECT_EQ(harness.take_outputs(),
            emitted<std::string>({{"2", EventTime{7}}, {"2", EventTime{7}}, {"1", EventTime{9}}}));
}

TEST(Stateless, consumers_of_one_stream_do_not_see_each_others_changes) {
  StreamHarness<std::string, std::string> harness([](Stream<std::string> in) {
    const auto kept = in.filter(
        [](const std::string&) { return true; });  // moves its records when they are its own
    const auto timed = in.event_time([](const std::string&) { return EventTime{5}; }, monotonous());
    const auto mapped = in.map([](const std::string& text) { return text + "!"; });
    return kept.union_with({timed, mapped});
  });
  harness.push("a text that does not fit into the string itself");
  harness.end_input();
  auto values = harness.take_values();
  std::ranges::sort(values);
  EXPECT_EQ(values, (std::vector<std::string>{"a text that does not fit into the string itself",
                                              "a text that does not fit into the string itself",
                                              "a text that does not fit into the string itself!"}));
}

}  // namespace
}  // namespace weir
