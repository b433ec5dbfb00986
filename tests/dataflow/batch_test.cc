#include "dataflow/batch.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

constexpr KeyTag tag{7}, other_tag{8};

std::shared_ptr<Batch<std::string>> texts(std::vector<std::string> values) {
  auto batch = std::make_shared<Batch<std::string>>();
  batch->values = std::move(values);
  return batch;
}

std::shared_ptr<Batch<std::string>> random_batch(Random& random) {
  auto batch = std::make_shared<Batch<std::string>>();
  const std::size_t size = random.below(20);
  for (std::size_t i = 0; i < size; ++i)
    batch->values.push_back(std::string(random.below(50), 'x') + std::to_string(i));
  if (random.below(2) == 0) {
    for (std::size_t i = 0; i < size; ++i)
      batch->times.push_back({static_cast<std::int64_t>(random())});
  }
  if (size > 0 && random.below(2) == 0) {
    for (std::size_t i = 0; i < size; ++i) batch->hashes.push_back(random());
    batch->key_tag = tag;
  }
  if (random.below(2) == 0) {
    for (std::size_t i = 0; i < size; ++i)
      batch->kinds.push_back(static_cast<RowKind>(random.below(4)));
  }
  return batch;
}

void expect_same(const AnyBatch& a, const AnyBatch& b) {
  EXPECT_EQ(static_cast<const Batch<std::string>&>(a).values,
            static_cast<const Batch<std::string>&>(b).values);
  EXPECT_EQ(a.times, b.times);
  EXPECT_EQ(a.hashes, b.hashes);
  EXPECT_EQ(a.kinds, b.kinds);
  EXPECT_EQ(a.key_tag, b.key_tag);
}

TEST(Batch, is_changed_in_place_by_its_only_holder_and_copied_by_others) {
  BatchPtr mine = texts({"a"});
  const AnyBatch* const original = mine.get();
  EXPECT_EQ(&writable(mine), original);
  const BatchPtr theirs = mine;
  EXPECT_FALSE(is_unique(mine));
  batch_cast<std::string>(writable(mine)).values[0] = "changed";
  EXPECT_NE(mine.get(), original);
  EXPECT_EQ(batch_cast<std::string>(*theirs).values[0], "a");
  EXPECT_TRUE(is_unique(theirs));
}

TEST(Batch, encodes_and_decodes_with_all_its_columns) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto batch = random_batch(random);
    Bytes bytes;
    ByteWriter writer(bytes);
    batch->encode(writer);
    ByteReader reader(bytes);
    const BatchPtr decoded = batch->type().make();
    ASSERT_TRUE(decoded->decode(reader));
    EXPECT_TRUE(reader.at_end());
    expect_same(*decoded, *batch);
  }
}

TEST(Batch, decoding_replaces_what_was_there) {
  const auto batch = texts({"new"});
  Bytes bytes;
  ByteWriter writer(bytes);
  batch->encode(writer);
  const auto target = texts({"old", "older"});
  target->times = {{1}, {2}};
  ByteReader reader(bytes);
  ASSERT_TRUE(target->decode(reader));
  expect_same(*target, *batch);
}

TEST(Batch, damaged_bytes_are_an_error) {
  Random random(1);
  const auto batch = random_batch(random);
  Bytes bytes;
  ByteWriter writer(bytes);
  batch->encode(writer);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    ByteReader reader(std::span<const std::byte>(bytes).first(length));
    ASSERT_FALSE(batch->type().make()->decode(reader)) << length << " bytes";
  }
}

TEST(Batch, columns_that_do_not_fit_the_values_are_an_error) {
  const auto refused = [](const AnyBatch& batch) {
    Bytes bytes;
    ByteWriter writer(bytes);
    batch.encode(writer);
    ByteReader reader(bytes);
    const auto decoded = batch.type().make()->decode(reader);
    return !decoded && decoded.error().code == Errc::corrupt_data;
  };
  const auto short_times = texts({"a", "b"});
  short_times->times = {{1}};
  EXPECT_TRUE(refused(*short_times));
  const auto tag_alone = texts({"a"});
  tag_alone->key_tag = tag;
  EXPECT_TRUE(refused(*tag_alone));
  const auto hashes_alone = texts({"a"});
  hashes_alone->hashes = {1};
  EXPECT_TRUE(refused(*hashes_alone));
}

TEST(Batch, append_takes_rows_in_the_order_asked_for_with_their_columns) {
  const auto from = texts({"a", "b", "c"});
  from->times = {{1}, {2}, {3}};
  from->kinds = {RowKind::insert, RowKind::update_before, RowKind::update_after};
  const auto to = texts({});
  const std::vector<std::uint32_t> rows{2, 0};
  const std::vector<KeyHash> hashes{10, 11, 12};
  to->append(*from, rows, Take::copy, tag, hashes);
  EXPECT_EQ(to->values, (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(to->times, (std::vector<EventTime>{{3}, {1}}));
  EXPECT_EQ(to->kinds, (std::vector{RowKind::update_after, RowKind::insert}));
  EXPECT_EQ(to->hashes, (std::vector<KeyHash>{12, 10}));
  EXPECT_EQ(to->key_tag, tag);
  EXPECT_EQ(from->values.front(), "a");
}

TEST(Batch, append_fills_columns_that_one_side_lacks) {
  const auto timed = texts({"t"});
  timed->times = {{1}};
  const auto kinds = texts({"k"});
  kinds->kinds = {RowKind::remove};
  const auto to = texts({"first"});
  to->append_range(*timed, 0, 1, Take::copy);
  to->append_range(*kinds, 0, 1, Take::copy);
  const std::vector<std::uint32_t> rows{0};
  to->append(*timed, rows, Take::move);
  EXPECT_EQ(to->values, (std::vector<std::string>{"first", "t", "k", "t"}));
  EXPECT_EQ(to->times, (std::vector<EventTime>{no_timestamp, {1}, no_timestamp, {1}}));
  EXPECT_EQ(to->kinds,
            (std::vector{RowKind::insert, RowKind::insert, RowKind::remove, RowKind::insert}));
}

TEST(Batch, hashes_of_different_edges_do_not_mix) {
  const auto hashed = [](KeyTag for_tag) {
    const auto batch = texts({"x"});
    batch->hashes = {5};
    batch->key_tag = for_tag;
    return batch;
  };
  const auto same = hashed(tag);
  same->append_range(*hashed(tag), 0, 1, Take::copy);
  EXPECT_EQ(same->hashes, (std::vector<KeyHash>{5, 5}));
  const auto mixed = hashed(tag);
  mixed->append_range(*hashed(other_tag), 0, 1, Take::copy);
  mixed->append_range(*hashed(tag), 0, 1, Take::copy);
  EXPECT_TRUE(mixed->hashes.empty());
  EXPECT_EQ(mixed->key_tag, KeyTag{});
}

TEST(Batch, clear_drops_everything_and_keeps_the_memory) {
  Random random(3);
  const auto batch = texts(std::vector<std::string>(100, "x"));
  batch->hashes.resize(100);
  batch->key_tag = tag;
  batch->clear();
  expect_same(*batch, *texts({}));
  EXPECT_GE(batch->values.capacity(), 100U);
}

TEST(Batch, bytes_count_values_heap_and_columns) {
  const auto batch = texts({std::string(1000, 'x')});
  const std::size_t bare = batch->bytes();
  EXPECT_GE(bare, 1000 + sizeof(std::string));
  batch->times = {{1}};
  batch->hashes = {1};
  EXPECT_EQ(batch->bytes(), bare + 16);
  Batch<int> numbers;
  numbers.values.resize(10);
  EXPECT_EQ(numbers.bytes(), 40U);
}

TEST(Batch, is_cut_where_asked_or_at_its_end) {
  const auto batch = texts({"a", "b", "c"});
  EXPECT_EQ(batch->split_point(0, 2), 2U);
  EXPECT_EQ(batch->split_point(2, 2), 3U);
  EXPECT_EQ(batch->split_point(0, 3), 3U);
}

TEST(Batch, is_not_cut_between_the_two_rows_of_an_update) {
  const auto batch = texts({"a", "b", "c", "d"});
  batch->kinds = {RowKind::insert, RowKind::update_before, RowKind::update_after,
                  RowKind::update_after};
  EXPECT_EQ(batch->split_point(0, 1), 1U);
  EXPECT_EQ(batch->split_point(0, 2), 3U);
  EXPECT_EQ(batch->split_point(1, 1), 3U);
  EXPECT_EQ(batch->split_point(0, 3), 3U);
  EXPECT_EQ(batch->split_point(2, 2), 4U);
}

TEST(Batch, of_bools_is_as_those_of_other_types) {
  const auto batch = std::make_shared<Batch<bool>>();
  batch->values = {true, false, true};
  batch->times = {{1}, {2}, {3}};
  bool& first = batch->values[0];
  first = false;
  Batch<bool> others;
  others.append_range(*batch, 1, 3, Take::move);
  const std::vector<std::uint32_t> rows{2, 0};
  others.append(*batch, rows, Take::copy);
  EXPECT_EQ(others.values, (BoolVector{false, true, true, false}));
  Bytes bytes;
  ByteWriter writer(bytes);
  others.encode(writer);
  ByteReader reader(bytes);
  Batch<bool> decoded;
  ASSERT_TRUE(decoded.decode(reader));
  EXPECT_EQ(decoded.values, others.values);
  EXPECT_EQ(decoded.times, others.times);
  EXPECT_EQ(decoded.value_bytes(), 4U);
}

TEST(BatchDeathTest, casting_to_another_type_is_a_bug) {
  const auto batch = texts({});
  EXPECT_DEATH((void)batch_cast<int>(*batch), "check failed");
}

}  // namespace
}  // namespace weir
