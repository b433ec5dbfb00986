// The sources whose splits are indices: collection, sequence and generator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dataflow/connectors/collection.h"
#include "dataflow/connectors/generator.h"
#include "dataflow/connectors/sequence.h"
#include "tests/dataflow/connectors/reader_harness.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct IndexItself {
  std::uint64_t operator()(std::uint64_t index) const { return index; }
};
constexpr IndexItself index_itself;

static_assert(SourceDescription<Collection<std::string>>);
static_assert(SourceDescription<Sequence>);
static_assert(SourceDescription<Generator<IndexItself>>);

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(Collection, gives_each_reader_a_share_in_order) {
  const auto rows = read_with(collection(std::vector{1, 2, 3, 4, 5}), 2);
  EXPECT_THAT(*rows, ElementsAre(std::vector{1, 2, 3}, std::vector{4, 5}));
}

TEST(Collection, may_be_empty_or_smaller_than_the_number_of_readers) {
  EXPECT_THAT(*read_all(collection(std::vector<int>{})), IsEmpty());
  EXPECT_THAT(*read_with(collection(std::vector{7, 8}), 3),
              ElementsAre(std::vector{7}, std::vector{8}, std::vector<int>{}));
}

TEST(Collection, puts_out_no_more_than_a_batch_at_once) {
  const auto source = collection(numbers(1, 10'000));
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  EXPECT_EQ(harness.poll()->result, PollResult::more);
  EXPECT_EQ(harness.last_batch_rows(), Output<std::int64_t>::rows_max);
}

TEST(Collection, bounds_batches_of_large_records_by_their_bytes) {
  const auto source = collection(std::vector(10, std::string(100'000, 'x')));
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  ASSERT_TRUE(harness.poll());
  EXPECT_EQ(harness.last_batch_rows(), 3U);
  EXPECT_EQ(read_all(source)->size(), 10U);
}

TEST(Collection, resumes_from_a_snapshot) {
  const auto source = collection(numbers(1, 10'000));
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  ASSERT_TRUE(harness.poll());
  auto rows = harness.rows();
  const auto rest = read_splits(source, harness.reader().snapshot_splits());
  rows.insert(rows.end(), rest->begin(), rest->end());
  EXPECT_EQ(rows, numbers(1, 10'000));
}

TEST(Collection, says_which_split_it_reads) {
  const auto source = collection(numbers(1, 6));
  const auto splits = *splits_of(source, 2);
  ReaderHarness harness(source);
  for (const Split& split : splits) {
    harness.add({split});
    while (harness.poll()->result == PollResult::more) continue;
  }
  EXPECT_THAT(harness.split_log(), ElementsAre("begin 0..3", "3 of 0..3", "end 0..3", "begin 3..6",
                                               "3 of 3..6", "end 3..6"));
}

// After a restore with fewer readers: in the order of their indices they are one stream.
TEST(Generator, says_of_splits_that_it_merges_that_they_are_one) {
  const auto source = generator(index_itself, {.count = 6});
  ReaderHarness harness(source);
  harness.add(*splits_of(source, 2));
  while (harness.poll()->result == PollResult::more) continue;
  EXPECT_THAT(harness.rows(), ElementsAre(0, 1, 2, 3, 4, 5));
  const std::string both = "share 0 of 2 and 1 more";
  EXPECT_THAT(harness.split_log(), ElementsAre("begin " + both, "6 of " + both, "end " + both));
}

TEST(Collection, counts_what_it_reads) {
  const auto source = collection(numbers(1, 10));
  const auto enumerator = source.make_enumerator();
  ASSERT_TRUE(enumerator->open(1));
  EXPECT_EQ(enumerator->total_units(), 10U);
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  ASSERT_TRUE(harness.poll());
  EXPECT_EQ(harness.reader().read_units(), 10U);
}

TEST(ListedSplits, hands_out_splits_that_came_back_first) {
  const auto enumerator = collection(numbers(1, 10)).make_enumerator();
  ASSERT_TRUE(enumerator->open(2));
  const Split first = std::get<Split>(*enumerator->next(SubtaskIndex{0}));
  enumerator->add_back({first});
  EXPECT_EQ(std::get<Split>(*enumerator->next(SubtaskIndex{1})), first);
}

TEST(Sequence, has_both_ends) {
  EXPECT_EQ(*read_all(from_sequence(-3, 9'000)), numbers(-3, 9'000));
  EXPECT_THAT(*read_with(from_sequence(1, 3), 2), ElementsAre(numbers(1, 2), numbers(3, 3)));
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(*read_all(from_sequence(highest, highest)), ElementsAre(highest));
}

TEST(Sequence, refuses_ends_that_are_swapped_or_too_far_apart) {
  EXPECT_EQ(from_sequence(5, 3).check().error(),
            (Error{Errc::invalid_plan,
                   "from_sequence(5, 3): the last number is below the first; swap them"}));
  using Limits = std::numeric_limits<std::int64_t>;
  EXPECT_THAT(from_sequence(Limits::min(), Limits::max()).check().error().message,
              HasSubstr("more than 2^64 - 1 numbers"));
}

TEST(Generator, makes_each_index_once_however_many_readers) {
  for (const std::uint32_t readers : {1U, 2U, 3U, 7U}) {
    const auto rows = read_with(generator(index_itself, {.count = 10'000}), readers);
    std::vector<int> times_made(10'000);
    for (const auto& of_reader : *rows) {
      for (const std::uint64_t index : of_reader) ++times_made.at(index);
    }
    EXPECT_EQ(times_made, std::vector(10'000, 1)) << readers << " readers";
  }
}

TEST(Generator, without_a_count_has_no_end_and_resumes_where_it_was) {
  const auto source = generator(index_itself);
  EXPECT_FALSE(source.bounded());
  const auto splits = *splits_of(source, 2);
  ReaderHarness harness(source);
  ASSERT_TRUE(harness.reader().add_split(splits.at(1)));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(harness.poll()->result, PollResult::more);
  ReaderHarness resumed(source);
  resumed.add(harness.reader().snapshot_splits());
  ASSERT_TRUE(resumed.poll());
  EXPECT_EQ(harness.rows().front(), 1U);
  EXPECT_EQ(resumed.rows().front(), harness.rows().back() + 2);
}

// After a restore with fewer readers: read one after the other, all but the first would be late.
TEST(Generator, that_has_several_shares_goes_through_them_in_the_order_of_the_indices) {
  const auto source = generator(index_itself, {.count = 20'000});
  const auto splits = *splits_of(source, 3);
  ReaderHarness harness(source);
  harness.add({splits.at(2), splits.at(0)});
  for (int i = 0; i < 3; ++i) ASSERT_EQ(harness.poll()->result, PollResult::more);
  ReaderHarness resumed(source);
  resumed.add(harness.reader().snapshot_splits());
  while (resumed.poll()->result == PollResult::more) {
  }
  std::vector<std::uint64_t> all = harness.rows();
  all.insert(all.end(), resumed.rows().begin(), resumed.rows().end());
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    if (i % 3 != 1) expected.push_back(i);
  }
  EXPECT_EQ(all, expected);
}

TEST(Generator, yields_when_its_function_is_slow) {
  ManualClock clock;
  const auto source = generator(
      [&clock](std::uint64_t index) {
        clock.advance(1ms);
        return index;
      },
      {.count = 1'000});
  ReaderHarness harness(source, clock);
  harness.add(*splits_of(source));
  EXPECT_EQ(harness.poll()->result, PollResult::more);
  EXPECT_LE(harness.last_batch_rows(), 16U);
}

TEST(Generator, refuses_a_rate_that_never_comes) {
  EXPECT_EQ(generator(index_itself, {.records_per_second = 0}).check().error(),
            (Error{Errc::invalid_plan, "generator: records_per_second must be above 0; it is 0"}));
  EXPECT_FALSE(generator(index_itself, {.records_per_second = std::nan("")}).check());
}

TEST(Generator, describes_itself) {
  EXPECT_EQ(generator(index_itself).describe(), "generator");
  EXPECT_EQ(generator(index_itself, {.count = 5, .records_per_second = 0.5}).describe(),
            "generator of 5 at 0.5/s");
}

// Two readers of a source with a rate on a clock that a test moves.
class PacedGenerator : public testing::Test {
 protected:
  static constexpr double rate = 1'000;

  PacedGenerator() {
    const auto splits = *splits_of(source_, 2);
    EXPECT_TRUE(even_.reader().add_split(splits.at(0)));
    EXPECT_TRUE(odd_.reader().add_split(splits.at(1)));
  }

  ManualClock clock_;
  Generator<IndexItself> source_ = generator(index_itself, {.records_per_second = rate});
  ReaderHarness<decltype(source_)> even_{source_, clock_};
  ReaderHarness<decltype(source_)> odd_{source_, clock_};
};

TEST_F(PacedGenerator, readers_take_turns_at_the_rate_of_the_source) {
  for (int ms = 0; ms < 10; ++ms) {
    ASSERT_TRUE(even_.poll());
    ASSERT_TRUE(odd_.poll());
    clock_.advance(1ms);
  }
  EXPECT_THAT(even_.rows(), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(odd_.rows(), ElementsAre(1, 3, 5, 7, 9));
}

TEST_F(PacedGenerator, sleeps_until_the_next_record_is_due) {
  const auto poll = even_.poll();
  EXPECT_EQ(poll->result, PollResult::idle);
  EXPECT_EQ(poll->wake_at, ProcessingTime{2});
  EXPECT_THAT(even_.rows(), ElementsAre(0));
}

TEST_F(PacedGenerator, catches_up_after_being_held_up) {
  ASSERT_TRUE(even_.poll());
  clock_.advance(9ms);
  EXPECT_EQ(even_.poll()->wake_at, ProcessingTime{10});
  EXPECT_THAT(even_.rows(), ElementsAre(0, 2, 4, 6, 8));
}

TEST_F(PacedGenerator, does_not_make_up_for_the_time_it_was_not_running) {
  ASSERT_TRUE(even_.poll());
  clock_.advance(100ms);
  ASSERT_TRUE(even_.poll());
  const auto splits = even_.reader().snapshot_splits();
  clock_.advance(3'600'000ms);
  ReaderHarness resumed(source_, clock_);
  ASSERT_TRUE(resumed.reader().add_split(splits.front()));
  ASSERT_TRUE(resumed.poll());
  EXPECT_THAT(resumed.rows(), ElementsAre(102));
}

TEST_F(PacedGenerator, with_both_shares_keeps_the_rate_of_the_source) {
  clock_.advance(100ms);
  ASSERT_TRUE(even_.poll());
  ReaderHarness both(source_, clock_);
  both.add(odd_.reader().snapshot_splits());
  both.add(even_.reader().snapshot_splits());
  for (int ms = 0; ms < 5; ++ms) {
    ASSERT_TRUE(both.poll());
    clock_.advance(1ms);
  }
  EXPECT_THAT(both.rows(), ElementsAre(1, 2, 3, 4));
}

// Whatever the rate, if it is woken when it asks to be.
TEST(Generator, record_leaves_within_a_millisecond_of_its_due_time) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random{seed};
    ManualClock clock;
    clock.advance(std::chrono::nanoseconds{random.below(5'000'000)});
    const double rate = 0.5 + static_cast<double>(random.below(2'000'000)) / 100;
    const auto source = generator(index_itself, {.records_per_second = rate});
    ReaderHarness harness(source, clock);
    harness.add(*splits_of(source));
    const MonotonicTime start = clock.now();
    for (int step = 0; step < 50; ++step) {
      const auto poll = harness.poll();
      for (const std::uint64_t index : harness.rows()) {
        const std::chrono::duration<double> due{static_cast<double>(index) / rate};
        const std::chrono::duration<double> late = clock.now() - start - due;
        ASSERT_GE(late.count(), -1e-9);
        ASSERT_LE(late.count(), 1.001e-3);
      }
      harness.rows().clear();
      if (poll->result != PollResult::idle) continue;
      ASSERT_GT(poll->wake_at, clock.processing_time());
      const auto woken = MonotonicTime{std::chrono::milliseconds{poll->wake_at.ms}};
      clock.advance(woken - clock.now());
    }
  }
}

}  // namespace
}  // namespace weir
