#include "dataflow/operators/interval_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"
#include "tests/dataflow/operators/snapshot_groups.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

struct Left {
  std::string key;
  int n = 0;
};
struct Right {
  std::string key;
  int n = 0;
};
struct Pair {
  int left = 0;
  int right = 0;
  friend bool operator==(const Pair&, const Pair&) = default;
  friend void PrintTo(const Pair& pair, std::ostream* out) {
    *out << '(' << pair.left << ',' << pair.right << ')';
  }
};
std::string text_of(const Pair& pair) {
  return '(' + std::to_string(pair.left) + ',' + std::to_string(pair.right) + ')';
}
using Pairs = std::vector<Pair>;
using Texts = std::vector<std::string>;
using Harness = TwoInputHarness<Left, Right, Pair>;

const auto pair_of = [](const Left& l, const Right& r) { return Pair{l.n, r.n}; };

auto joined(Duration lower, Duration upper) {
  return [lower, upper](Stream<Left> left, Stream<Right> right) {
    return left.key_by(&Left::key)
        .interval_join(right.key_by(&Right::key))
        .between(lower, upper)
        .process("join", pair_of);
  };
}

// Times 1 to 4 on both sides, of one key; n is the time. Pairs come with the later of their records, and with its time.
template <class Describe>
void expect_pairs_of_four(Describe describe, Texts pairs) {
  HarnessScript<Harness> side_by_side(describe);
  for (int n = 1; n <= 4; ++n) side_by_side.first(Left{"a", n}, n).second(Right{"a", n}, n);
  side_by_side.expect(pairs).run();
  HarnessScript<Harness> left_first(describe);
  for (int n = 1; n <= 4; ++n) left_first.first(Left{"a", n}, n);
  left_first.expect({});
  for (int n = 1; n <= 4; ++n) left_first.second(Right{"a", n}, n);
  left_first.expect(pairs).run();
}

TEST(IntervalJoin, bounds_belong_to_the_interval) {
  expect_pairs_of_four(joined(-1ms, 1ms), {"(1,1)@1", "(1,2)@2", "(2,1)@2", "(2,2)@2", "(2,3)@3",
                                           "(3,2)@3", "(3,3)@3", "(3,4)@4", "(4,3)@4", "(4,4)@4"});
  expect_pairs_of_four(joined(1ms, 2ms), {"(1,2)@2", "(1,3)@3", "(2,3)@3", "(2,4)@4", "(3,4)@4"});
}

TEST(IntervalJoin, bounds_can_be_left_out) {
  const auto without_bounds = [](Duration lower, Duration upper) {
    return [=](Stream<Left> left, Stream<Right> right) {
      return left.key_by(&Left::key)
          .interval_join(right.key_by(&Right::key))
          .between(lower, upper)
          .lower_bound_exclusive()
          .upper_bound_exclusive()
          .process("join", pair_of);
    };
  };
  expect_pairs_of_four(without_bounds(-1ms, 1ms), {"(1,1)@1", "(2,2)@2", "(3,3)@3", "(4,4)@4"});
  expect_pairs_of_four(without_bounds(1ms, 3ms), {"(1,3)@3", "(2,4)@4"});
  expect_pairs_of_four(without_bounds(-3ms, -1ms), {"(3,1)@3", "(4,2)@4"});
}

// The times that the function has seen, in the row.
struct TimedPair {
  int left = 0;
  int right = 0;
  EventTime left_timestamp{};
  EventTime right_timestamp{};
  EventTime timestamp{};
};
std::string text_of(const TimedPair& pair) {
  return text_of(Pair{pair.left, pair.right}) + ' ' + std::to_string(pair.left_timestamp.ms) + ' ' +
         std::to_string(pair.right_timestamp.ms) + ' ' + std::to_string(pair.timestamp.ms);
}

TEST(IntervalJoin, a_function_may_ask_for_the_times_of_both_records_and_of_the_row) {
  using TimedHarness = TwoInputHarness<Left, Right, TimedPair>;
  HarnessScript<TimedHarness> script([](Stream<Left> left, Stream<Right> right) {
    return left.key_by(&Left::key)
        .interval_join(right.key_by(&Right::key))
        .between(-10ms, 10ms)
        .process("join", [](const Left& l, const Right& r, const IntervalJoinContext& context) {
          return TimedPair{l.n, r.n, context.left_timestamp, context.right_timestamp,
                           context.timestamp};
        });
  });
  script.first(Left{"a", 1}, 5)
      .second(Right{"a", 2}, 8)
      .expect({"(1,2) 5 8 8@8"})
      .second(Right{"a", 3}, 2)
      .expect({"(1,3) 5 2 5@5"})
      .first(Left{"a", 4}, 7)
      .expect({"(4,2) 7 8 8@8", "(4,3) 7 2 7@7"})
      .run();
}

TEST(IntervalJoin, other_keys_do_not_join) {
  Harness harness(joined(-1h, 1h));
  harness.first().push({"a", 1}, EventTime{1});
  harness.second().push({"b", 2}, EventTime{1});
  EXPECT_THAT(harness.take_values(), IsEmpty());
}

TEST(IntervalJoin, a_pair_has_the_later_time_whichever_side_it_comes_from) {
  Harness harness(joined(-10ms, 10ms));
  harness.first().push({"a", 1}, EventTime{5});
  harness.second().push({"a", 2}, EventTime{8});
  harness.second().push({"a", 3}, EventTime{2});
  std::vector<std::int64_t> times;
  for (const auto& output : harness.take_outputs()) {
    if (const auto* record = std::get_if<Record<Pair>>(&output)) times.push_back(record->time.ms);
  }
  EXPECT_THAT(times, ElementsAre(8, 5));
}

TEST(IntervalJoin, a_record_without_time_is_an_error_that_says_what_to_do) {
  Harness harness(joined(-1ms, 1ms));
  harness.first().push({"a", 1});
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(harness.status().error().message,
              HasSubstr("'join' received a record without event time: put .event_time(…)"));
}

TEST(IntervalJoin, after_a_restore_only_new_pairs_come) {
  HarnessScript<Harness> script(joined(-1ms, 1ms));
  for (int n = 1; n <= 3; ++n) script.first(Left{"a", n}, n).second(Right{"a", n}, n);
  script.expect({"(1,1)@1", "(1,2)@2", "(2,1)@2", "(2,2)@2", "(2,3)@3", "(3,2)@3", "(3,3)@3"})
      .first(Left{"a", 4}, 4)
      .expect({"(4,3)@4"})
      .second(Right{"a", 4}, 4)
      .expect({"(3,4)@4", "(4,4)@4"})
      .run();
}

TEST(IntervalJoin, records_behind_the_watermark_are_late_and_those_at_it_are_not) {
  Harness harness(joined(-5ms, 5ms));
  harness.first().push({"a", 1}, EventTime{10});
  harness.watermark(EventTime{10});
  harness.second().push({"a", 2}, EventTime{9});
  EXPECT_EQ(harness.late_records_dropped(), 1U);
  EXPECT_THAT(harness.take_values(), IsEmpty());
  harness.second().push({"a", 3}, EventTime{10});
  EXPECT_EQ(harness.take_values(), (Pairs{{1, 3}}));
}

TEST(IntervalJoin, keeps_a_record_until_no_partner_can_come) {
  Harness harness(joined(-2ms, 5ms));
  harness.first().push({"a", 1}, EventTime{10});   // until 15
  harness.second().push({"b", 2}, EventTime{10});  // until 12
  harness.watermark(EventTime{11});
  harness.second().push({"a", 3}, EventTime{15});  // until 17
  harness.first().push({"b", 4}, EventTime{12});   // until 17
  EXPECT_THAT(harness.take_values(), UnorderedElementsAreArray(Pairs{{1, 3}, {4, 2}}));
  harness.watermark(EventTime{16});
  EXPECT_GT(bytes_kept(harness.snapshot()), 0U);
  harness.watermark(EventTime{17 + 5});
  EXPECT_EQ(bytes_kept(harness.snapshot()), 0U) << "nothing stays";
}

// Of what is useless some is still there, which must not be seen: what comes out would depend on when it is swept.
TEST(IntervalJoin, a_record_at_the_watermark_finds_no_partner_whose_time_is_over) {
  Harness harness(joined(-2ms, 5ms));
  for (int n = 0; n < 200; ++n) harness.first().push({std::to_string(n), n}, EventTime{10});
  for (const std::int64_t ms : {13, 14}) harness.watermark(EventTime{ms});
  harness.second().push({"7", 1}, EventTime{15});
  EXPECT_THAT(harness.take_values(), ElementsAre(Pair{7, 1}));
  harness.watermark(EventTime{15});
  EXPECT_GT(bytes_kept(harness.snapshot()), 1000U) << "the test would show nothing";
  for (int n = 0; n < 200; ++n) harness.second().push({std::to_string(n), n}, EventTime{15});
  EXPECT_THAT(harness.take_values(), IsEmpty());
  EXPECT_EQ(harness.late_records_dropped(), 0U);
}

TEST(IntervalJoin, what_is_over_goes_while_no_records_come) {
  Harness harness(joined(-2ms, 5ms));
  for (int n = 0; n < 2000; ++n) {
    harness.first().push({std::to_string(n), n}, EventTime{10});
    if (n % 2 == 0) harness.first().push({std::to_string(n), n}, EventTime{12});
  }
  std::size_t before = bytes_kept(harness.snapshot());
  for (std::int64_t ms = 11; ms <= 15; ++ms) harness.watermark(EventTime{ms});
  for (std::int64_t ms = 16; ms <= 22; ++ms) {
    harness.watermark(EventTime{ms});
    const std::size_t now = bytes_kept(harness.snapshot());
    EXPECT_LT(now, before) << "at " << ms;
    before = now;
    if (now == 0) break;
  }
  EXPECT_EQ(before, 0U);
}

TEST(IntervalJoin, a_record_with_many_partners_gives_them_all_in_batches) {
  constexpr int partners = 50'000;
  Harness harness(joined(-1h, 1h));
  for (int n = 0; n < partners; ++n) harness.first().push({"a", n}, EventTime{n});
  harness.second().push({"a", 7}, EventTime{1000});
  harness.second().push({"a", 8}, EventTime{1000});
  ASSERT_TRUE(harness.status());
  std::vector<int> seen(partners);
  for (const Pair& pair : harness.take_values()) ++seen.at(static_cast<std::size_t>(pair.left));
  EXPECT_THAT(seen, testing::Each(2));
}

TEST(IntervalJoin, a_lower_bound_above_the_upper_one_is_a_mistake_of_the_plan) {
  const Harness harness(joined(2ms, 1ms));
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(
      harness.status().error().message,
      HasSubstr("an interval join is between 2 and 1 ms: the lower bound must not be above"));
}

}  // namespace
}  // namespace weir
