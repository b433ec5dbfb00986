#include "state/keyed_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/random.h"

namespace weir {
namespace {

constexpr std::uint32_t max_parallelism = 128;

KeyGroupSlice slice_of(SubtaskIndex subtask, std::uint32_t parallelism) {
  return {key_group_range_of(subtask, parallelism, max_parallelism), max_parallelism};
}

TEST(KeyedTable, owns_the_keys_of_its_groups_and_no_others) {
  for (std::uint32_t parallelism : {1U, 3U, 128U}) {
    for (int key = 0; key < 200; ++key) {
      int owners = 0;
      for (std::uint32_t i = 0; i < parallelism; ++i) {
        const KeyedTable<int, int> table(slice_of({i}, parallelism));
        owners += table.owns(hash_of(key)) ? 1 : 0;
      }
      ASSERT_EQ(owners, 1) << "key " << key << " of " << parallelism;
    }
  }
}

TEST(KeyedTable, does_what_a_map_does) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    KeyedTable<std::uint64_t, std::uint64_t> table(slice_of({1}, 3));
    std::map<std::uint64_t, std::uint64_t> model;
    for (int step = 0; step < 5000; ++step) {
      const std::uint64_t key = random.below(2000);
      const KeyHash hash = hash_of(key);
      if (!table.owns(hash)) continue;
      if (random.below(3) > 0) {
        table.find_or_insert(hash, key) += static_cast<std::uint64_t>(step);
        model[key] += static_cast<std::uint64_t>(step);
      } else {
        ASSERT_EQ(table.erase(hash, key), model.erase(key) == 1);
      }
      ASSERT_EQ(table.find(hash, key) != nullptr, model.contains(key));
    }
    ASSERT_EQ(table.size(), model.size());
    std::map<std::uint64_t, std::uint64_t> walked;
    TableCursor cursor;
    EXPECT_TRUE(table.walk(cursor, [&](std::uint64_t key, std::uint64_t value) {
      return walked.emplace(key, value).second;
    }));
    EXPECT_EQ(walked, model);
  }
}

TEST(KeyedTable, touches_the_values_of_keys_that_are_there) {
  KeyedTable<std::uint64_t, std::uint64_t> table(slice_of({0}, 1));
  std::vector<KeyHash> hashes;
  for (std::uint64_t key = 0; key < 100; ++key) hashes.push_back(hash_of(key));
  const auto touched = [&](std::size_t first) {
    std::vector<std::uint64_t> values;
    const std::size_t count = table.touch(
        hashes.size() - first, [&](std::size_t i) { return hashes[first + i]; },
        [&](std::uint64_t value) { values.push_back(value); });
    return std::pair(count, values);
  };
  EXPECT_TRUE(touched(0).second.empty());
  EXPECT_GT(touched(0).first, 1U);
  for (std::uint64_t key = 0; key < 100; ++key) table.find_or_insert(hashes[key], key) = key;
  for (std::size_t first = 0; first < 100;) {
    const auto [count, values] = touched(first);
    ASSERT_GT(count, 0U);
    ASSERT_EQ(values.size(), count);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], first + i);
    first += count;
  }
  EXPECT_EQ(table.touch(
                0, [](std::size_t) { return KeyHash{}; }, [](std::uint64_t) {}),
            0U);
}

TEST(KeyedTable, a_walk_goes_on_where_it_was_interrupted) {
  KeyedTable<int, int> table(slice_of({0}, 1));
  for (int key = 0; key < 1000; ++key) table.find_or_insert(hash_of(key), key) = 2 * key;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    std::map<int, int> walked;
    TableCursor cursor;
    bool all = false;
    while (!all) {
      std::uint64_t left = random.below(20);
      all = table.walk(cursor, [&](int key, int value) {
        EXPECT_TRUE(walked.emplace(key, value).second) << key << " was visited twice";
        return left-- > 0;
      });
    }
    EXPECT_EQ(walked.size(), 1000U);
  }
}

TEST(KeyedTable, a_round_changes_and_erases_what_it_is_asked_to) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    KeyedTable<std::uint64_t, std::uint64_t> table(
        slice_of({0}, 1 + static_cast<std::uint32_t>(random.below(64))));
    std::map<std::uint64_t, std::uint64_t> model;
    TableCursor cursor;
    for (int round = 0; round < 8; ++round) {
      for (std::uint64_t i = random.below(3000); i > 0; --i) {
        const std::uint64_t key = random.below(100'000);
        if (!table.owns(hash_of(key))) continue;
        table.find_or_insert(hash_of(key), key) = i;
        model[key] = i;
      }
      // What has been changed needs no second change: an entry may be looked at twice.
      const auto needs_change = [](const std::uint64_t& value) { return value % 4 == 0; };
      const auto change = [](std::uint64_t& value) {
        value += 2;
        return value % 3 != 0;
      };
      for (std::size_t left = table.slot_count(); left > 0;) {
        const std::size_t some = std::min<std::size_t>(left, 1 + random.below(200));
        table.change_or_erase(cursor, some, needs_change, change);
        left -= some;
      }
      for (auto at = model.begin(); at != model.end();) {
        const bool goes = needs_change(at->second) && !change(at->second);
        at = goes ? model.erase(at) : std::next(at);
      }
      ASSERT_EQ(table.size(), model.size());
      for (const auto& [key, value] : model) {
        const auto* found = std::as_const(table).find(hash_of(key), key);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(*found, value);
      }
    }
  }
}

TEST(KeyedTable, a_round_of_nothing_is_over_at_once) {
  KeyedTable<int, int> table(slice_of({0}, 1));
  TableCursor cursor;
  table.change_or_erase(
      cursor, 0, [](int) { return true; }, [](int&) { return false; });
  EXPECT_EQ(table.slot_count(), 0U);
}

TEST(KeyedTable, entries_of_a_group_are_visited_together) {
  KeyedTable<int, int> table(slice_of({0}, 1));
  for (int key = 0; key < 1000; ++key) table.find_or_insert(hash_of(key), key);
  TableCursor cursor;
  KeyGroup last{0};
  EXPECT_TRUE(table.walk(cursor, [&](int key, int) {
    const KeyGroup group = key_group_of(hash_of(key), max_parallelism);
    EXPECT_GE(group, last);
    last = group;
    return true;
  }));
}

TEST(KeyedTable, a_walk_over_nothing_is_complete) {
  KeyedTable<int, int> table(slice_of({0}, 1));
  TableCursor cursor;
  EXPECT_TRUE(table.walk(cursor, [](int, int) { return false; }));
}

TEST(KeyedTable, clear_drops_all_groups) {
  KeyedTable<int, int> table(slice_of({0}, 1));
  for (int key = 0; key < 100; ++key) table.find_or_insert(hash_of(key), key) = key;
  const std::size_t bytes = table.bytes();
  table.clear();
  EXPECT_EQ(table.size(), 0U);
  EXPECT_EQ(table.bytes(), bytes);
  EXPECT_EQ(table.find_or_insert(hash_of(5), 5), 0);
}

}  // namespace
}  // namespace weir
