#include "dataflow/runtime/exchange_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/limits.h"
#include "base/random.h"
#include "dataflow/operators/keyed.h"
#include "state/key_groups.h"
#include "tests/dataflow/runtime/recording_transport.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

constexpr std::uint32_t max_parallelism = 128;
constexpr std::uint64_t wide = std::uint64_t{1} << 40;  // a window that never fills
constexpr auto same = [](int x) { return x; };

std::shared_ptr<const KeyHasher> hasher(KeyTag tag = {1}) {
  return std::make_shared<SelectorHasher<int, decltype(same)>>(same, tag);
}

class Choose final : public CustomPartitioner {
 public:
  explicit Choose(std::uint32_t (*f)(int, std::uint32_t)) : f_(f) {}
  void choose(const AnyBatch& batch, std::uint32_t count,
              std::vector<std::uint32_t>& targets) const override {
    targets.clear();
    for (const int value : static_cast<const Batch<int>&>(batch).values)
      targets.push_back(f_(value, count));
  }

 private:
  std::uint32_t (*f_)(int, std::uint32_t);
};

std::vector<int> numbers(int begin, int end) {
  std::vector<int> values(static_cast<std::size_t>(end - begin));
  std::iota(values.begin(), values.end(), begin);
  return values;
}

// A writer with the channels behind it.
class Exchange {
 public:
  Exchange(ExchangeSpec spec, std::size_t consumers, std::uint64_t window = wide,
           std::uint64_t seed = 1)
      : transports_(consumers) {
    std::vector<ChannelSender*> channels;
    for (RecordingTransport& transport : transports_) {
      senders_.push_back(std::make_unique<ChannelSender>(transport, window));
      channels.push_back(senders_.back().get());
    }
    writer_ = std::make_unique<ExchangeWriter>(std::move(spec), channels, pool_, seed);
  }

  [[nodiscard]] ExchangeWriter& writer() { return *writer_; }
  // Requires room.
  void write(std::vector<int> values) { ASSERT_TRUE(writer_->write(batch_of(std::move(values)))); }
  // Ends the input, so that everything has left.
  void end() {
    writer_->broadcast(EndOfInput{});
    for (bool more = true; more;) {
      ASSERT_TRUE(writer_->advance());
      more = false;
      for (std::size_t i = 0; i < transports_.size(); ++i) more |= consume(i);
    }
    ASSERT_TRUE(writer_->drained());
  }
  bool consume(std::size_t consumer) {
    return transports_[consumer].consume_one(*senders_[consumer]);
  }

  [[nodiscard]] std::size_t consumers() const { return transports_.size(); }
  [[nodiscard]] const RecordingTransport& at(std::size_t consumer) const {
    return transports_[consumer];
  }
  [[nodiscard]] std::vector<int> values(std::size_t consumer) const {
    return transports_[consumer].values<int>();
  }
  [[nodiscard]] std::vector<int> all_values_sorted() const {
    std::vector<int> all;
    for (std::size_t i = 0; i < transports_.size(); ++i) {
      const auto some = values(i);
      all.insert(all.end(), some.begin(), some.end());
    }
    std::ranges::sort(all);
    return all;
  }

 private:
  std::vector<RecordingTransport> transports_;
  std::vector<std::unique_ptr<ChannelSender>> senders_;
  BatchPool pool_;
  std::unique_ptr<ExchangeWriter> writer_;
};

ExchangeSpec hash_spec() {
  return {.partitioning = Partitioning::hash,
          .key_hasher = hasher(),
          .custom = nullptr,
          .max_parallelism = max_parallelism,
          .consumer_name = "count"};
}

ExchangeSpec spec_of(Partitioning partitioning) {
  ExchangeSpec spec = hash_spec();
  spec.partitioning = partitioning;
  return spec;
}

TEST(ExchangeWriter, forward_keeps_the_order) {
  Exchange exchange(spec_of(Partitioning::forward), 1);
  for (int i = 0; i < 10; ++i) exchange.write(numbers(i * 100, i * 100 + 100));
  exchange.end();
  EXPECT_EQ(exchange.values(0), numbers(0, 1000));
}

TEST(ExchangeWriter, hash_sends_a_key_to_the_subtask_that_owns_its_group) {
  for (const std::uint32_t consumers : {1U, 3U, 128U}) {
    Exchange exchange(hash_spec(), consumers);
    for (int round = 0; round < 3; ++round) exchange.write(numbers(0, 1000));
    exchange.end();
    EXPECT_EQ(exchange.all_values_sorted().size(), 3000U);
    for (std::uint32_t consumer = 0; consumer < consumers; ++consumer) {
      for (const int value : exchange.values(consumer)) {
        const KeyGroup group = key_group_of(hash_of(value), max_parallelism);
        ASSERT_EQ(subtask_of(group, consumers, max_parallelism), SubtaskIndex{consumer});
        ASSERT_TRUE(key_group_range_of({consumer}, consumers, max_parallelism).contains(group));
      }
    }
  }
}

TEST(ExchangeWriter, hashes_travel_with_the_records) {
  Exchange exchange(hash_spec(), 3);
  exchange.write(numbers(0, 100));
  exchange.end();
  for (std::size_t consumer = 0; consumer < 3; ++consumer) {
    for (const BatchPtr& batch : exchange.at(consumer).batches()) {
      EXPECT_EQ(batch->key_tag, KeyTag{1});
      const auto& values = batch_cast<int>(*batch).values;
      ASSERT_EQ(batch->hashes.size(), values.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        EXPECT_EQ(batch->hashes[i], hash_of(values[i]));
    }
  }
}

TEST(ExchangeWriter, hashes_of_the_same_edge_are_used_and_of_another_replaced) {
  for (const std::uint32_t tag : {1U, 2U}) {
    Exchange exchange(hash_spec(), 2);
    const auto batch = batch_of(numbers(0, 100));
    batch->key_tag = {tag};
    batch->hashes.assign(100, 0);  // all in group 0
    ASSERT_TRUE(exchange.writer().write(batch));
    exchange.end();
    EXPECT_EQ(exchange.values(1).empty(), tag == 1);
  }
}

TEST(ExchangeWriter, rebalance_and_rescale_take_turns) {
  for (const Partitioning partitioning : {Partitioning::rebalance, Partitioning::rescale}) {
    Exchange exchange(spec_of(partitioning), 4);
    for (int i = 0; i < 100; ++i) exchange.write(numbers(i * 10, i * 10 + 10));
    exchange.end();
    EXPECT_EQ(exchange.all_values_sorted(), numbers(0, 1000));
    for (std::size_t consumer = 0; consumer < 4; ++consumer)
      EXPECT_EQ(exchange.values(consumer).size(), 250U);
  }
}

TEST(ExchangeWriter, producers_begin_their_turns_at_different_consumers) {
  std::set<std::size_t> first;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Exchange exchange(spec_of(Partitioning::rebalance), 4, wide, seed);
    exchange.write({1});
    exchange.end();
    for (std::size_t consumer = 0; consumer < 4; ++consumer) {
      if (!exchange.values(consumer).empty()) first.insert(consumer);
    }
  }
  EXPECT_EQ(first.size(), 4U);
}

TEST(ExchangeWriter, broadcast_shares_one_batch_among_all) {
  Exchange exchange(spec_of(Partitioning::broadcast), 3);
  exchange.write(numbers(0, 10));
  exchange.end();
  for (std::size_t consumer = 0; consumer < 3; ++consumer) {
    EXPECT_EQ(exchange.values(consumer), numbers(0, 10));
    EXPECT_EQ(exchange.at(consumer).batches().front(), exchange.at(0).batches().front());
  }
}

TEST(ExchangeWriter, global_sends_everything_to_the_first) {
  Exchange exchange(spec_of(Partitioning::global), 3);
  exchange.write(numbers(0, 10));
  exchange.end();
  EXPECT_EQ(exchange.values(0), numbers(0, 10));
  EXPECT_TRUE(exchange.values(1).empty());
}

// Chi-square with 7 degrees of freedom: 24.3 is exceeded once in a thousand.
TEST(ExchangeWriter, shuffle_is_uniform) {
  Exchange exchange(spec_of(Partitioning::shuffle), 8);
  constexpr int count = 80'000;
  for (int i = 0; i < count; i += 1000) exchange.write(numbers(i, i + 1000));
  exchange.end();
  EXPECT_EQ(exchange.all_values_sorted(), numbers(0, count));
  double chi_square = 0;
  for (std::size_t consumer = 0; consumer < 8; ++consumer) {
    const double difference = static_cast<double>(exchange.values(consumer).size()) - count / 8.0;
    chi_square += difference * difference / (count / 8.0);
  }
  EXPECT_LT(chi_square, 24.3);
}

TEST(ExchangeWriter, custom_sends_where_the_function_says) {
  ExchangeSpec spec = spec_of(Partitioning::custom);
  spec.custom = std::make_shared<Choose>(
      [](int value, std::uint32_t count) { return static_cast<std::uint32_t>(value) % count; });
  Exchange exchange(spec, 3);
  exchange.write(numbers(0, 9));
  exchange.end();
  EXPECT_EQ(exchange.values(1), (std::vector{1, 4, 7}));
}

TEST(ExchangeWriter, a_custom_target_that_does_not_exist_is_an_error) {
  ExchangeSpec spec = spec_of(Partitioning::custom);
  spec.custom = std::make_shared<Choose>([](int, std::uint32_t count) { return count; });
  Exchange exchange(spec, 3);
  const auto written = exchange.writer().write(batch_of(std::vector{1}));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::user_code);
  EXPECT_EQ(written.error().message,
            "partitioner before 'count' chose none of the 3 subtasks; return a number from 0 to "
            "the count "
            "given, exclusive");
}

TEST(ExchangeWriter, a_big_batch_is_cut) {
  constexpr int count = 5 * static_cast<int>(limits::batch_rows_max) + 1;
  for (const auto partitioning :
       {Partitioning::hash, Partitioning::broadcast, Partitioning::forward}) {
    Exchange exchange(spec_of(partitioning), partitioning == Partitioning::forward ? 1 : 2);
    exchange.write(numbers(0, count));
    exchange.end();
    for (std::size_t consumer = 0; consumer < exchange.consumers(); ++consumer) {
      for (const BatchPtr& batch : exchange.at(consumer).batches())
        EXPECT_LE(batch->size(), 2 * limits::batch_rows_max);
    }
    EXPECT_EQ(
        exchange.all_values_sorted().size(),
        static_cast<std::size_t>(partitioning == Partitioning::broadcast ? 2 * count : count));
  }
}

TEST(ExchangeWriter, a_batch_that_others_hold_is_copied) {
  Exchange exchange(spec_of(Partitioning::rebalance), 2);
  const auto shared = batch_of(numbers(0, 10));
  ASSERT_TRUE(exchange.writer().write(shared));
  exchange.end();
  EXPECT_EQ(shared->values, numbers(0, 10));
  EXPECT_EQ(exchange.all_values_sorted(), numbers(0, 10));
}

TEST(ExchangeWriter, small_batches_leave_at_once_to_a_receiver_that_is_idle) {
  Exchange exchange(spec_of(Partitioning::rebalance), 2);
  exchange.write({1, 2});
  EXPECT_EQ(exchange.all_values_sorted().size(), 0U);
  exchange.writer().flush_to_idle_receivers();
  EXPECT_EQ(exchange.all_values_sorted().size(), 2U);
  exchange.write({3, 4});
  exchange.writer().flush_to_idle_receivers();
  EXPECT_EQ(exchange.all_values_sorted().size(),
            2U);  // both are busy: the next batch grows meanwhile
  EXPECT_FALSE(exchange.writer().drained());
  exchange.consume(0);
  exchange.writer().flush_to_idle_receivers();
  EXPECT_EQ(exchange.all_values_sorted().size(), 3U);
}

TEST(ExchangeWriter, small_batches_are_merged_while_the_receiver_is_busy) {
  Exchange exchange(spec_of(Partitioning::forward), 1);
  for (int i = 0; i < 100; ++i) exchange.write({i});
  exchange.end();
  EXPECT_EQ(exchange.values(0), numbers(0, 100));
  EXPECT_EQ(exchange.at(0).batch_count(), 2U);
}

TEST(ExchangeWriter, a_batch_waits_while_any_channel_lacks_credit) {
  Exchange exchange(hash_spec(), 2, 1);
  exchange.write(numbers(0, 20'000));  // the first full batch of a consumer overdraws its channel
  EXPECT_FALSE(exchange.writer().has_room());
  EXPECT_FALSE(exchange.writer().drained());
  exchange.end();
  EXPECT_EQ(exchange.all_values_sorted(), numbers(0, 20'000));
}

TEST(ExchangeWriter, rows_keep_their_kinds_however_they_are_divided) {
  for (const Partitioning partitioning :
       {Partitioning::forward, Partitioning::hash, Partitioning::rebalance, Partitioning::shuffle,
        Partitioning::broadcast, Partitioning::global}) {
    SCOPED_TRACE(name_of(partitioning));
    const std::size_t consumers = partitioning == Partitioning::forward ? 1 : 3;
    Exchange exchange(spec_of(partitioning), consumers);
    for (int begin = 0; begin < 20'000; begin += 5'000) {
      const auto batch = batch_of(numbers(begin, begin + 5'000));
      for (int i = begin; i < begin + 5'000; ++i)
        batch->kinds.push_back(static_cast<RowKind>(i / 3 % 4));
      ASSERT_TRUE(exchange.writer().write(batch));
      for (std::size_t consumer = 0; consumer < consumers; ++consumer) exchange.consume(consumer);
    }
    exchange.end();
    std::size_t seen = 0;
    for (std::size_t consumer = 0; consumer < consumers; ++consumer) {
      for (const Element& element : exchange.at(consumer).elements()) {
        const auto* any = std::get_if<BatchPtr>(&element);
        if (any == nullptr) continue;
        const auto& batch = batch_cast<int>(**any);
        ASSERT_EQ(batch.kinds.size(), batch.size());
        for (std::size_t row = 0; row < batch.size(); ++row, ++seen)
          ASSERT_EQ(batch.kinds[row], static_cast<RowKind>(batch.values[row] / 3 % 4));
      }
    }
    EXPECT_EQ(seen, partitioning == Partitioning::broadcast ? 60'000U : 20'000U);
  }
}

// Whatever the credit: nothing is lost or doubled, channels keep the order, and a watermark comes
// after all that was written before it and before all that was written after it.
TEST(ExchangeWriter, nothing_is_lost_and_watermarks_keep_their_place_over_random_credit) {
  constexpr Partitioning kinds[] = {
      Partitioning::forward, Partitioning::hash,    Partitioning::rebalance, Partitioning::rescale,
      Partitioning::global,  Partitioning::shuffle, Partitioning::broadcast};
  for (std::uint64_t seed = 0; seed < 210 / seeds_divisor; ++seed) {
    Random random(seed);
    const Partitioning partitioning = kinds[seed % std::size(kinds)];
    const std::size_t consumers = partitioning == Partitioning::forward ? 1 : 1 + random.below(4);
    SCOPED_TRACE(testing::Message()
                 << "seed " << seed << ", " << name_of(partitioning) << " to " << consumers);
    Exchange exchange(spec_of(partitioning), consumers, 1 + random.below(20'000), seed);
    int next = 0;
    for (int step = 0; step < 400; ++step) {
      if (random.below(3) == 0) exchange.consume(random.below(consumers));
      ASSERT_TRUE(exchange.writer().advance());
      if (random.below(4) == 0) exchange.writer().flush_to_idle_receivers();
      if (random.below(10) == 0) exchange.writer().broadcast(Watermark{EventTime{next}});
      if (!exchange.writer().has_room()) continue;
      const int size = static_cast<int>(1 + random.below(random.below(20) == 0 ? 10'000 : 300));
      exchange.write(numbers(next, next + size));
      next += size;
    }
    exchange.end();
    const std::size_t copies = partitioning == Partitioning::broadcast ? consumers : 1;
    const auto all = exchange.all_values_sorted();
    ASSERT_EQ(all.size(), copies * static_cast<std::size_t>(next));
    for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int>(i / copies));
    for (std::size_t consumer = 0; consumer < consumers; ++consumer) {
      int last = -1;
      std::int64_t watermark = 0;
      for (const Element& element : exchange.at(consumer).elements()) {
        if (const auto* batch = std::get_if<BatchPtr>(&element)) {
          for (const int value : batch_cast<int>(**batch).values) {
            ASSERT_GT(value, last);
            ASSERT_GE(value, watermark);
            last = value;
          }
        } else if (const auto* mark = std::get_if<Watermark>(&element)) {
          ASSERT_LT(last, mark->time.ms);
          watermark = mark->time.ms;
        }
      }
      ASSERT_TRUE(std::holds_alternative<EndOfInput>(exchange.at(consumer).elements().back()));
    }
  }
}

}  // namespace
}  // namespace weir
