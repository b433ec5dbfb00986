#include "state/redistribution.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/codec.h"
#include "state/broadcast_state.h"
#include "state/operator_list_state.h"
#include "tests/state/bound_states.h"

namespace weir {
namespace {

using Items = std::vector<std::string>;

// What each instance has of a list of this kind, after a restore with another parallelism.
std::vector<Items> redealt(ListRedistribution redistribution, const std::vector<Items>& lists,
                           std::uint32_t parallelism) {
  std::vector<RestoredState> old;
  for (const Items& items : lists) {
    StateBackend backend({});
    OperatorListState<std::string> list(redistribution);
    EXPECT_TRUE(list.bind(backend, "list"));
    list.add_all(items);
    old.push_back(write_to_memory(backend.freeze()));
  }
  std::vector<Items> result;
  for (RestoredState& restored : redistribute(std::move(old), parallelism, 128)) {
    StateBackend backend({}, std::move(restored));
    OperatorListState<std::string> list(redistribution);
    EXPECT_TRUE(list.bind(backend, "list"));
    result.push_back(list.get());
  }
  return result;
}

const std::vector<Items> two_lists{{"a0", "a1", "a2"}, {"b0", "b1"}};

TEST(Redistribution, a_split_list_is_dealt_in_order_and_evenly) {
  EXPECT_EQ(redealt(ListRedistribution::split, two_lists, 3),
            (std::vector<Items>{{"a0", "a1"}, {"a2", "b0"}, {"b1"}}));
  EXPECT_EQ(redealt(ListRedistribution::split, two_lists, 1),
            (std::vector<Items>{{"a0", "a1", "a2", "b0", "b1"}}));
  EXPECT_EQ(redealt(ListRedistribution::split, {{"a"}}, 3), (std::vector<Items>{{"a"}, {}, {}}));
}

TEST(Redistribution, a_split_list_stays_where_it_is_if_the_parallelism_does) {
  EXPECT_EQ(redealt(ListRedistribution::split, two_lists, 2), two_lists);
}

TEST(Redistribution, a_union_list_goes_to_every_instance_as_a_whole) {
  const Items all{"a0", "a1", "a2", "b0", "b1"};
  EXPECT_EQ(redealt(ListRedistribution::union_of_all, two_lists, 3),
            (std::vector<Items>{all, all, all}));
}

// What each instance has of a broadcast map, of which only some of the old ones report a snapshot.
TEST(Redistribution, a_broadcast_map_comes_from_any_one_snapshot_that_has_it) {
  const std::map<std::string, int> expected{{"test1", 3}, {"test2", 3}, {"test3", 3}};
  for (const std::vector<bool>& reported :
       {std::vector{true, true}, std::vector{true, false}, std::vector{false, true}}) {
    std::vector<RestoredState> old;
    for (const bool has_it : reported) {
      StateBackend backend({});
      BroadcastState<std::string, int> map;
      const bool may_change = true;
      ASSERT_TRUE(map.bind(backend, "map", may_change));
      if (has_it) {
        for (const auto& [key, value] : expected) map.put(key, value);
      }
      old.push_back(write_to_memory(backend.freeze()));
    }
    for (RestoredState& restored : redistribute(std::move(old), 3, 128)) {
      StateBackend backend({}, std::move(restored));
      BroadcastState<std::string, int> map;
      const bool may_change = false;
      ASSERT_TRUE(map.bind(backend, "map", may_change));
      const auto entries = map.entries();
      EXPECT_EQ((std::map<std::string, int>(entries.begin(), entries.end())), expected);
    }
  }
}

TEST(Redistribution, every_key_finds_its_new_owner) {
  const auto slice_of = [](std::uint32_t subtask, std::uint32_t parallelism) {
    return KeyGroupSlice{key_group_range_of({subtask}, parallelism, 128), 128};
  };
  for (const auto& [before, after] : {std::pair{1U, 3U}, {3U, 2U}, {2U, 128U}}) {
    std::vector<RestoredState> old;
    for (std::uint32_t i = 0; i < before; ++i) {
      StateBackend backend(slice_of(i, before));
      auto table = *backend.keyed<int, int>("state", StateKind::value);
      for (int key = 0; key < 1000; ++key) {
        if (table->owns(hash_of(key))) table->find_or_insert(hash_of(key), key) = 2 * key;
      }
      old.push_back(write_to_memory(backend.freeze()));
    }
    auto redistributed = redistribute(std::move(old), after, 128);
    std::map<int, int> found;
    for (std::uint32_t i = 0; i < after; ++i) {
      StateBackend backend(slice_of(i, after), std::move(redistributed[i]));
      auto table = *backend.keyed<int, int>("state", StateKind::value);
      TableCursor cursor;
      (void)table->walk(cursor,
                        [&](int key, int value) { return found.emplace(key, value).second; });
    }
    ASSERT_EQ(found.size(), 1000U);
    for (const auto& [key, value] : found) EXPECT_EQ(value, 2 * key);
  }
}

}  // namespace
}  // namespace weir
