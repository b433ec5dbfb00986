#include "state/frozen_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/random.h"
#include "state/keyed_table.h"

namespace weir {
namespace {

template <class K, class V>
class PlainEncoder final : public EntryEncoder<K, V> {
 public:
  void encode(ByteWriter& writer, const K& key, const V& value) const override {
    weir::encode(writer, key);
    weir::encode(writer, value);
  }
};

template <class K, class V>
std::shared_ptr<const EntryEncoder<K, V>> plain() {
  return std::make_shared<const PlainEncoder<K, V>>();
}

template <class K, class V>
std::shared_ptr<FrozenTable<K, V>> frozen_of(FlatTable<K, V>& table) {
  return table.freeze(plain<K, V>(), FreezePools());
}

// Each key once, or the test fails.
template <class K, class V>
std::map<K, V> decoded(const Bytes& bytes) {
  std::map<K, V> entries;
  ByteReader reader(bytes);
  while (!reader.at_end()) {
    auto key = decode<K>(reader);
    auto value = decode<V>(reader);
    if (!key || !value) {
      ADD_FAILURE() << "the snapshot does not decode";
      return entries;
    }
    EXPECT_TRUE(entries.emplace(*std::move(key), *std::move(value)).second) << "written twice";
  }
  return entries;
}

template <class K, class V>
std::map<K, V> written(FrozenTable<K, V>& frozen) {
  Bytes bytes;
  ByteWriter writer(bytes);
  frozen.write(writer);
  return decoded<K, V>(bytes);
}

using Model = std::map<std::uint64_t, std::string>;
using Table = FlatTable<std::uint64_t, std::string>;

std::string& at(Table& table, std::uint64_t key) {
  return table.find_or_insert(hash_of(key), key);
}

Table table_of(std::uint64_t keys) {
  Table table;
  for (std::uint64_t key = 0; key < keys; ++key) at(table, key) = std::to_string(key);
  return table;
}

Model model_of(std::uint64_t keys) {
  Model model;
  for (std::uint64_t key = 0; key < keys; ++key) model[key] = std::to_string(key);
  return model;
}

TEST(FrozenTable, is_what_the_table_was_whatever_happens_to_that) {
  const std::vector<std::pair<std::string, void (*)(Table&)>> changes{
      {"nothing", [](Table&) {}},
      {"updates",
       [](Table& table) {
         for (std::uint64_t key = 0; key < 300; key += 3) at(table, key) = "new";
       }},
      {"changes in place", [](Table& table) { *table.find(hash_of(std::uint64_t{7}), 7) = "new"; }},
      {"insertions",
       [](Table& table) {
         for (std::uint64_t key = 1000; key < 1010; ++key) at(table, key) = "new";
       }},
      {"growth",
       [](Table& table) {
         for (std::uint64_t key = 1000; key < 5000; ++key) at(table, key) = "new";
       }},
      {"erasures",
       [](Table& table) {
         for (std::uint64_t key = 0; key < 250; ++key) table.erase(hash_of(key), key);
       }},
      {"a round of changes and erasures",
       [](Table& table) {
         table.change_or_erase(
             0, table.slot_count(), [](const std::string& value) { return value.size() < 3; },
             [](std::string& value) { return (value += "new").size() == 4; });
       }},
      {"clear",
       [](Table& table) {
         table.clear();
         at(table, 1) = "new";
       }},
      {"its end", [](Table& table) { table = Table(); }},
      {"a move",
       [](Table& table) {
         Table moved = std::move(table);
         at(moved, 5) = "new";
       }},
      {"another freeze",
       [](Table& table) {
         at(table, 5) = "new";
         frozen_of(table)->give_up();
         at(table, 6) = "newer";
       }},
  };
  for (const auto& [what, change] : changes) {
    SCOPED_TRACE(what);
    Table table = table_of(300);
    const auto frozen = frozen_of(table);
    change(table);
    EXPECT_EQ(written(*frozen), model_of(300));
  }
}

TEST(FrozenTable, of_an_empty_table_is_none) {
  Table table = table_of(10);
  table.clear();
  EXPECT_EQ(frozen_of(table), nullptr);
}

TEST(FrozenTable, a_second_freeze_has_what_changed_since_the_first) {
  Table table = table_of(300);
  const auto first = frozen_of(table);
  at(table, 7) = "new";
  const auto second = frozen_of(table);
  at(table, 7) = "newer";
  Model expected = model_of(300);
  EXPECT_EQ(written(*first), expected);
  expected[7] = "new";
  EXPECT_EQ(written(*second), expected);
}

TEST(FrozenTable, reading_saves_nothing) {
  Table table = table_of(300);
  const auto frozen = frozen_of(table);
  const std::uint64_t key = 7;
  EXPECT_EQ(*std::as_const(table).find(hash_of(key), key), "7");
  EXPECT_FALSE(frozen->is_over());
  EXPECT_EQ(frozen.use_count(), 2);
}

TEST(FrozenTable, costs_a_change_one_entry_and_only_once) {
  struct CountingEncoder final : EntryEncoder<std::uint64_t, std::string> {
    void encode(ByteWriter&, const std::uint64_t&, const std::string&) const override { ++calls; }
    mutable int calls = 0;
  };
  const auto encoder = std::make_shared<const CountingEncoder>();
  Table table = table_of(300);
  const auto frozen = table.freeze(encoder, FreezePools());
  for (int i = 0; i < 3; ++i) at(table, 7) = "new";
  EXPECT_EQ(encoder->calls, 1);
  at(table, 1000) = "was not there";
  EXPECT_EQ(encoder->calls, 1);
  Bytes bytes;
  ByteWriter writer(bytes);
  frozen->write(writer);
  EXPECT_EQ(encoder->calls, 300);
}

TEST(FrozenTable, leaves_a_table_whose_entries_are_plain_bytes_free_to_grow) {
  FlatTable<std::uint64_t, std::uint64_t> table;
  std::map<std::uint64_t, std::uint64_t> expected;
  for (std::uint64_t key = 0; key < 300; ++key)
    table.find_or_insert(hash_of(key), key) = expected[key] = key;
  const auto frozen = frozen_of(table);
  for (std::uint64_t key = 290; key < 5000; ++key) table.find_or_insert(hash_of(key), key) = 7;
  EXPECT_EQ((written<std::uint64_t, std::uint64_t>(*frozen)), expected);
}

TEST(FrozenTable, that_was_given_up_is_let_go_with_the_next_change) {
  Table table = table_of(300);
  auto frozen = frozen_of(table);
  const std::weak_ptr<void> left = frozen;
  frozen->give_up();
  frozen.reset();
  EXPECT_FALSE(left.expired());
  at(table, 7) = "new";
  EXPECT_TRUE(left.expired());
}

TEST(FrozenTable,
     lets_the_memory_of_what_was_saved_go_when_it_is_written_though_nothing_changes_any_more) {
  FlatTable<std::uint64_t, std::uint64_t> table;
  for (std::uint64_t key = 0; key < 20'000; ++key) table.find_or_insert(hash_of(key), key) = key;
  FreezePools pools;
  const std::weak_ptr<ChunkPool> saved = pools.saved;
  const auto frozen = table.freeze(plain<std::uint64_t, std::uint64_t>(), std::exchange(pools, {}));
  for (std::uint64_t key = 0; key < 20'000; ++key) table.find_or_insert(hash_of(key), key) = 7;
  EXPECT_FALSE(saved.expired());
  EXPECT_EQ((written<std::uint64_t, std::uint64_t>(*frozen)).size(), 20'000U);
  EXPECT_TRUE(saved.expired());
}

TEST(FrozenTable, keeps_a_dropped_tables_memory_no_longer_than_it_is_needed) {
  const auto value = std::make_shared<int>(7);
  struct NothingEncoder final : EntryEncoder<int, std::shared_ptr<int>> {
    void encode(ByteWriter&, const int&, const std::shared_ptr<int>&) const override {}
  };
  FlatTable<int, std::shared_ptr<int>> table;
  for (int key = 0; key < 100; ++key) table.find_or_insert(hash_of(key), key) = value;
  auto frozen = table.freeze(std::make_shared<const NothingEncoder>(), FreezePools());
  table.clear();
  EXPECT_EQ(value.use_count(), 101);
  frozen.reset();
  EXPECT_EQ(value.use_count(), 1);
}

// One thread changes, the other writes; a third kind of step freezes again or drops the table.
void write_while_the_owner_goes_on(std::uint64_t seed, std::uint32_t max_parallelism) {
  SCOPED_TRACE(testing::Message() << "seed " << seed << ", max parallelism " << max_parallelism);
  Random random(seed);
  const KeyGroupSlice slice{key_group_range_of({0}, 1, max_parallelism), max_parallelism};
  using Keyed = KeyedTable<std::uint64_t, std::string>;
  auto table = std::make_unique<Keyed>(slice);
  Model model;
  const std::uint64_t key_count = 200 + random.below(20'000);
  const auto change = [&] {
    const std::uint64_t key = random.below(key_count);
    const KeyHash hash = hash_of(key);
    switch (random.below(6)) {
      case 0:
        ASSERT_EQ(table->erase(hash, key), model.erase(key) == 1);
        break;
      case 1:
        if (std::string* found = table->find(hash, key)) *found = model[key] = "changed in place";
        break;
      case 2: {
        const std::string* found = std::as_const(*table).find(hash, key);
        ASSERT_EQ(found != nullptr, model.contains(key));
        break;
      }
      default:
        table->find_or_insert(hash, key) = model[key] =
            "a text that owns its memory, of step " + std::to_string(random.below(1000));
    }
  };
  for (std::uint64_t i = random.below(2 * key_count); i-- > 0;) change();
  for (int round = 0; round < 4; ++round) {
    const Model expected = model;
    std::optional frozen(table->freeze(plain<std::uint64_t, std::string>()));
    Bytes bytes;
    const std::uint32_t groups_to_write =
        random.below(4) > 0 ? max_parallelism
                            : static_cast<std::uint32_t>(random.below(max_parallelism));
    std::thread writer([&] {
      ByteWriter out(bytes);
      for (std::uint32_t group = 0; group < groups_to_write; ++group)
        frozen->write_group({group}, out);
      frozen.reset();
    });
    for (std::uint64_t i = random.below(2 * key_count); i-- > 0;) change();
    if (random.below(3) == 0) {
      random.below(2) == 0 ? table->clear() : void(table = std::make_unique<Keyed>(slice));
      model.clear();
      for (std::uint64_t i = random.below(key_count); i-- > 0;) change();
    }
    writer.join();
    const auto entries = decoded<std::uint64_t, std::string>(bytes);
    if (groups_to_write == max_parallelism) {
      ASSERT_EQ(entries, expected);
    } else {
      for (const auto& entry : entries) ASSERT_EQ(expected.at(entry.first), entry.second);
    }
  }
  ASSERT_EQ(table->size(), model.size());
}

TEST(FrozenTable, is_written_by_a_thread_while_another_changes_the_table) {
  const std::uint64_t seed = fresh_seed();
  for (std::uint64_t i = 0; i < 12; ++i) {
    write_while_the_owner_goes_on(seed + i, i % 3 == 0 ? 1024 : i % 3 == 1 ? 1 : 128);
  }
}

// Small tables are marked with locked operations, large ones without until the writer comes: the owner is busy at that moment.
TEST(FrozenTable, has_each_entry_once_when_the_writer_comes_while_the_owner_is_busy) {
  const std::uint64_t seed = fresh_seed();
  for (std::uint64_t i = 0; i < 40; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << seed + i);
    Random random(seed + i);
    const std::uint64_t key_count = i % 2 == 0 ? 1000 : 20'000;
    FlatTable<std::uint64_t, std::uint64_t> table;
    std::map<std::uint64_t, std::uint64_t> expected;
    for (std::uint64_t key = 0; key < key_count; ++key)
      expected[key] = table.find_or_insert(hash_of(key), key) = random.below(1000);
    const auto frozen = frozen_of(table);
    Bytes bytes;
    std::atomic<bool> is_written{false};
    std::atomic<std::uint64_t> changes{0};
    std::thread writer([&] {
      for (const std::uint64_t begin = key_count / 10;
           changes.load(std::memory_order_relaxed) < begin;)
        std::this_thread::yield();
      ByteWriter out(bytes);
      frozen->write(out);
      is_written = true;
    });
    while (!is_written) {
      const std::uint64_t key = random.below(key_count);
      ++table.find_or_insert(hash_of(key), key);
      changes.fetch_add(1, std::memory_order_relaxed);
    }
    writer.join();
    ASSERT_EQ((decoded<std::uint64_t, std::uint64_t>(bytes)), expected);
  }
}

TEST(FrozenGroups, a_group_has_its_keys_whether_tables_hold_one_or_many) {
  for (const std::uint32_t max_parallelism : {1U, 100U, 128U, 1000U, 32'768U}) {
    SCOPED_TRACE(max_parallelism);
    const KeyGroupSlice slice{key_group_range_of({1}, 3, std::max(3U, max_parallelism)),
                              std::max(3U, max_parallelism)};
    KeyedTable<std::uint64_t, std::uint64_t> table(slice);
    for (std::uint64_t key = 0; key < 5000; ++key) {
      if (table.owns(hash_of(key))) table.find_or_insert(hash_of(key), key) = key;
    }
    auto frozen = table.freeze(plain<std::uint64_t, std::uint64_t>());
    std::size_t seen = 0;
    for (std::uint32_t i = 0; i < slice.range.count; ++i) {
      const KeyGroup group{slice.range.first.value + i};
      Bytes bytes;
      ByteWriter writer(bytes);
      frozen.write_group(group, writer);
      for (const auto& [key, value] : decoded<std::uint64_t, std::uint64_t>(bytes)) {
        ASSERT_EQ(key_group_of(hash_of(key), slice.max_parallelism), group);
        ++seen;
      }
    }
    EXPECT_EQ(seen, table.size());
  }
}

}  // namespace
}  // namespace weir
