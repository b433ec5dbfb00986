#include "state/flat_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

// Long enough that strings own memory.
std::string key_of(std::uint64_t number) {
  return "a key of some length, number " + std::to_string(number);
}

// A walk from slot 0 sees every entry once.
template <class K, class V>
void expect_equal(const FlatTable<K, V>& table, const std::unordered_map<K, V>& model) {
  ASSERT_EQ(table.size(), model.size());
  std::size_t seen = 0;
  for (std::size_t i = table.next_used(0); i < table.slot_count(); i = table.next_used(i + 1)) {
    const auto found = model.find(table.key_at(i));
    ASSERT_NE(found, model.end());
    ASSERT_EQ(table.value_at(i), found->second);
    ++seen;
  }
  ASSERT_EQ(seen, model.size());
}

template <class K, class MakeKey>
void compare_with_a_map(std::uint64_t seed, std::uint64_t key_count, MakeKey make_key) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random(seed);
  FlatTable<K, std::string> table;
  std::unordered_map<K, std::string> model;
  for (int step = 0; step < 4000; ++step) {
    const K key = make_key(random.below(key_count));
    const KeyHash hash = hash_of(key);
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3:
        table.find_or_insert(hash, key) = model[key] = key_of(random.below(1000));
        break;
      case 4:
      case 5:
        ASSERT_EQ(table.erase(hash, key), model.erase(key) == 1);
        break;
      case 6: {
        const auto expected = model.find(key);
        const std::string* found = table.find(hash, key);
        ASSERT_EQ(found != nullptr, expected != model.end());
        if (found != nullptr) {
          ASSERT_EQ(*found, expected->second);
        }
        break;
      }
      default:
        if (random.below(200) > 0) break;
        table.clear();
        model.clear();
    }
  }
  expect_equal(table, model);
}

TEST(FlatTable, does_what_an_unordered_map_does) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    compare_with_a_map<std::string>(seed, 10 + seed * 40, key_of);
    compare_with_a_map<std::uint64_t>(seed, 10 + seed * 40,
                                      [](std::uint64_t number) { return number; });
  }
}

// Keys whose hashes share the low bits and the tag form one long run, which erasing must keep
// together.
TEST(FlatTable, colliding_keys_are_found_after_any_of_them_is_erased) {
  FlatTable<std::uint64_t, int> table;
  std::vector<std::uint64_t> colliding;
  for (std::uint64_t key = 0; colliding.size() < 12; ++key) {
    if ((hash_of(key) & 0x3fU) == 61)
      colliding.push_back(key);  // the run goes round the end of the table
  }
  for (std::size_t gone = 0; gone < colliding.size(); ++gone) {
    table.clear();
    for (std::size_t i = 0; i < colliding.size(); ++i) {
      table.find_or_insert(hash_of(colliding[i]), colliding[i]) = static_cast<int>(i);
    }
    ASSERT_TRUE(table.erase(hash_of(colliding[gone]), colliding[gone]));
    for (std::size_t i = 0; i < colliding.size(); ++i) {
      const int* found = table.find(hash_of(colliding[i]), colliding[i]);
      ASSERT_EQ(found != nullptr, i != gone);
      if (found != nullptr) {
        ASSERT_EQ(*found, static_cast<int>(i));
      }
    }
  }
}

TEST(FlatTable, an_empty_table_holds_no_memory_and_answers) {
  FlatTable<int, int> table;
  EXPECT_EQ(table.slot_count(), 0U);
  EXPECT_EQ(table.bytes(), 0U);
  EXPECT_EQ(table.find(hash_of(1), 1), nullptr);
  EXPECT_FALSE(table.erase(hash_of(1), 1));
  EXPECT_EQ(table.next_used(0), 0U);
  table.prefetch(hash_of(1));
  table.clear();
}

TEST(FlatTable, clear_keeps_the_memory_and_drops_the_values) {
  FlatTable<int, std::shared_ptr<int>> table;
  const auto value = std::make_shared<int>(7);
  for (int key = 0; key < 100; ++key) table.find_or_insert(hash_of(key), key) = value;
  EXPECT_EQ(value.use_count(), 101);
  const std::size_t slots = table.slot_count();
  table.clear();
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_EQ(table.slot_count(), slots);
  EXPECT_EQ(table.find(hash_of(5), 5), nullptr);
}

TEST(FlatTable, moving_leaves_an_empty_table) {
  FlatTable<int, int> from;
  from.find_or_insert(hash_of(1), 1) = 10;
  FlatTable<int, int> to(std::move(from));
  EXPECT_EQ(*to.find(hash_of(1), 1), 10);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): documented to be empty
  from.find_or_insert(hash_of(2), 2) = 20;
  to = std::move(from);
  EXPECT_EQ(to.find(hash_of(1), 1), nullptr);
  EXPECT_EQ(*to.find(hash_of(2), 2), 20);
}

TEST(FlatTable, at_most_three_quarters_of_the_slots_are_used) {
  FlatTable<int, int> table;
  for (int key = 0; key < 5000; ++key) {
    table.find_or_insert(hash_of(key), key) = key;
    ASSERT_LE(table.size() * 4, table.slot_count() * 3);
  }
}

TEST(FlatTable, bytes_count_what_keys_and_values_own) {
  FlatTable<std::string, std::string> table;
  const std::string key(1000, 'k');
  table.find_or_insert(hash_of(key), key) = std::string(5000, 'v');
  EXPECT_GE(table.bytes(), 6000U);
}

}  // namespace
}  // namespace weir
