// ListState, MapState, ReducingState and AggregatingState.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "state/aggregating_state.h"
#include "state/list_state.h"
#include "state/map_state.h"
#include "state/reducing_state.h"
#include "tests/state/bound_states.h"

namespace weir {
namespace {

using List = ListState<int>;
using Map = MapState<std::string, int>;
using Sum = ReducingState<int, std::plus<>>;

struct Mean {
  struct Accumulator {
    double sum = 0;
    int count = 0;
  };
  void add(Accumulator& acc, int value) const {
    acc.sum += value;
    ++acc.count;
  }
  [[nodiscard]] double result(const Accumulator& acc) const { return acc.sum / acc.count; }
};
using Average = AggregatingState<Mean>;

std::map<std::string, int> entries(const Map& map) {
  const auto copies = map.entries();
  return {copies.begin(), copies.end()};
}

std::size_t written_groups(const RestoredState& snapshot) {
  return snapshot.keyed.at(0).groups.size();
}

TEST(ListState, keeps_the_order_in_which_items_of_its_key_were_added) {
  BoundState<List> bound;
  bound.of("a").add(3);
  bound.of("b").add(9);
  bound.of("a").add_all({1, 2});
  EXPECT_EQ(bound.of("a").get(), (std::vector<int>{3, 1, 2}));
  EXPECT_EQ(bound.of("b").get(), (std::vector<int>{9}));
  EXPECT_TRUE(bound.of("c").get().empty());
  bound.of("a").update({7});
  EXPECT_EQ(bound.of("a").get(), (std::vector<int>{7}));
}

TEST(ListState, an_empty_list_is_no_state) {
  BoundState<List> bound;
  bound.of("a").add_all({});
  EXPECT_EQ(written_groups(bound.snapshot()), 0U);
  bound.of("a").add(1);
  bound.of("a").update({});
  bound.of("b").add(1);
  bound.of("b").clear();
  EXPECT_EQ(written_groups(bound.snapshot()), 0U);
}

TEST(ListState, is_restored_for_each_key) {
  BoundState<List> bound;
  bound.of("a").add_all({3, 1});
  bound.of("b").add(2);
  BoundState<List> restored({}, bound.snapshot());
  EXPECT_EQ(restored.of("a").get(), (std::vector<int>{3, 1}));
  EXPECT_EQ(restored.of("b").get(), (std::vector<int>{2}));
}

TEST(MapState, does_what_a_map_per_key_does) {
  BoundState<Map> bound;
  EXPECT_TRUE(bound.of("a").is_empty());
  bound.of("a").put("x", 1);
  bound.of("a").put("y", 2);
  bound.of("a").put("x", 3);
  bound.of("b").put("x", 4);
  EXPECT_EQ(*bound.of("a").get("x"), 3);
  EXPECT_EQ(bound.of("a").get("z"), nullptr);
  EXPECT_TRUE(bound.of("a").contains("y"));
  EXPECT_FALSE(bound.of("b").contains("y"));
  EXPECT_EQ(entries(bound.of("a")), (std::map<std::string, int>{{"x", 3}, {"y", 2}}));
  bound.of("a").remove("x");
  bound.of("a").remove("no such");
  EXPECT_EQ(entries(bound.of("a")), (std::map<std::string, int>{{"y", 2}}));
  bound.of("a").clear();
  EXPECT_TRUE(bound.of("a").is_empty());
  EXPECT_EQ(*bound.of("b").get("x"), 4);
}

TEST(MapState, without_entries_is_no_state) {
  BoundState<Map> bound;
  bound.of("a").put("x", 1);
  bound.of("a").remove("x");
  EXPECT_TRUE(bound.of("a").is_empty());
  EXPECT_EQ(written_groups(bound.snapshot()), 0U);
}

TEST(MapState, is_restored_for_each_key) {
  BoundState<Map> bound;
  bound.of("a").put("x", 1);
  bound.of("a").put("y", 2);
  bound.of("b").put("x", 3);
  BoundState<Map> restored({}, bound.snapshot());
  EXPECT_EQ(entries(restored.of("a")), (std::map<std::string, int>{{"x", 1}, {"y", 2}}));
  EXPECT_EQ(entries(restored.of("b")), (std::map<std::string, int>{{"x", 3}}));
}

TEST(ReducingState, folds_the_values_of_a_key) {
  BoundState<Sum> bound;
  EXPECT_EQ(bound.of("a").get(), nullptr);
  bound.of("a").add(5);
  bound.of("a").add(2);
  bound.of("b").add(1);
  BoundState<Sum> restored({}, bound.snapshot());
  restored.of("a").add(1);
  EXPECT_EQ(*restored.of("a").get(), 8);
  EXPECT_EQ(*restored.of("b").get(), 1);
  restored.of("a").clear();
  EXPECT_EQ(restored.of("a").get(), nullptr);
}

TEST(AggregatingState, keeps_the_accumulator_and_gives_the_result) {
  BoundState<Average> bound;
  EXPECT_FALSE(bound.of("a").get());
  bound.of("a").add(1);
  bound.of("a").add(4);
  BoundState<Average> restored({}, bound.snapshot());
  EXPECT_EQ(restored.of("a").get(), 2.5);
  restored.of("a").add(4);
  EXPECT_EQ(restored.of("a").get(), 3.0);
  EXPECT_FALSE(restored.of("b").get());
  restored.of("a").clear();
  EXPECT_FALSE(restored.of("a").get());
}

}  // namespace
}  // namespace weir
