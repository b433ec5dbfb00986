// Sliding and cumulative windows against the general operator, which keeps an accumulator per window.
#include "dataflow/operators/sliced_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataflow/harness.h"
#include "dataflow/window/cumulative.h"
#include "dataflow/window/sliding.h"
#include "dataflow/window/triggers/event_time_trigger.h"
#include "state/redistribution.h"
#include "tests/dataflow/operators/snapshot_groups.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

struct Item {
  std::int64_t key = 0;
  std::int64_t value = 1;
  friend auto operator<=>(const Item&, const Item&) = default;
};
using SumOfItems = Sum<std::int64_t Item::*, std::int64_t>;

// All values, to see each record once; it can merge and not take back.
struct Values {
  using Accumulator = std::vector<std::int64_t>;
  void add(Accumulator& all, const Item& item) const { all.push_back(item.value); }
  void merge(Accumulator& into, const Accumulator& other) const {
    into.insert(into.end(), other.begin(), other.end());
  }
  [[nodiscard]] std::string result(Accumulator all) const {
    std::ranges::sort(all);
    std::string text;
    for (const std::int64_t value : all) text += std::to_string(value) + " ";
    return text;
  }
};
static_assert(RetractsAggregates<Count> && RetractsAggregates<SumOfItems>);
static_assert(!RetractsAggregates<Sum<double Item::*, double>> && !RetractsAggregates<Values>);

// One windowed step that is restored now and then.
template <class Agg>
class WindowedRun {
 public:
  using Row = Windowed<std::int64_t, AggregateResult<Agg>>;
  using Harness = StreamHarness<Item, Row>;
  using Rows = std::vector<std::tuple<EventTime, EventTime, std::int64_t, AggregateResult<Agg>>>;

  // `general`: with a trigger that makes no difference, so that the general operator runs it.
  template <class Windows>
  WindowedRun(const Windows& windows, bool general)
      : describe_([windows, general](Stream<Item> in, std::uint32_t parallelism) -> Stream<Row> {
          const auto windowed = in.key_by(&Item::key).window(windows);
          auto rows = general ? windowed.trigger(EventTimeTrigger{}).aggregate("rows", Agg{agg()})
                              : windowed.aggregate("rows", Agg{agg()});
          (void)rows.late();
          return rows.parallelism(parallelism).max_parallelism(16);
        }) {
    start(1, {});
  }

  void restore(std::uint32_t parallelism) { start(parallelism, harness_->snapshot()); }
  Harness& harness() { return *harness_; }

  [[nodiscard]] Rows take() {
    Rows rows;
    for (const Row& row : harness_->take_values())
      rows.emplace_back(row.window_start, row.window_end, row.key, row.value);
    std::ranges::sort(rows);
    return rows;
  }
  [[nodiscard]] std::vector<Item> take_late() {
    auto late = harness_->template take_late<Item>();
    std::ranges::sort(late);
    return late;
  }
  [[nodiscard]] std::size_t state_bytes() const {
    std::size_t total = 0;
    for_each_group(harness_->snapshot(), [&](const StateDescriptor& /*state*/, const Bytes& bytes) {
      total += bytes.size();
    });
    return total;
  }

 private:
  static auto agg() {
    if constexpr (std::is_same_v<Agg, SumOfItems>)
      return SumOfItems{&Item::value};
    else
      return Agg{};
  }
  void start(std::uint32_t parallelism, JobSnapshot restored) {
    harness_ = std::make_unique<Harness>(
        [&](Stream<Item> in) { return describe_(std::move(in), parallelism); },
        HarnessOptions{.restored = std::move(restored)});
  }

  std::function<Stream<Row>(Stream<Item>, std::uint32_t)> describe_;
  std::unique_ptr<Harness> harness_;
};

// The same random records, watermarks and restores into both.
template <class Agg, class Windows>
void compare(const Windows& windows, Random& random) {
  WindowedRun<Agg> sliced(windows, false);
  WindowedRun<Agg> general(windows, true);
  const EventTime beginnings[] = {EventTime{0}, EventTime{-95}, EventTime::min() + 30ms,
                                  EventTime::max() - 400ms};
  EventTime watermark = beginnings[random.below(4)];
  const std::uint64_t out_of_order = random.below(3) * 60;
  const auto steps = 10 + random.below(30);
  for (std::uint64_t step = 0; step < steps; ++step) {
    switch (random.below(8)) {
      case 0: {
        const auto parallelism = static_cast<std::uint32_t>(1 + random.below(3));
        sliced.restore(parallelism);
        general.restore(parallelism);
        break;
      }
      case 1:
      case 2:
      case 3: {
        const auto by = random.below(random.below(5) == 0 ? 200 : 30);
        watermark = watermark + Duration{static_cast<std::int64_t>(by)};
        sliced.harness().watermark(watermark);
        general.harness().watermark(watermark);
        break;
      }
      default: {
        std::vector<Record<Item>> records(1 + random.below(6));
        for (Record<Item>& record : records) {
          record.value = {static_cast<std::int64_t>(random.below(4)),
                          static_cast<std::int64_t>(random.below(1000))};
          const auto ahead = static_cast<std::int64_t>(random.below(60 + out_of_order)) -
                             static_cast<std::int64_t>(out_of_order);
          record.time = watermark + Duration{ahead};
          if (record.time == no_timestamp) record.time = no_timestamp + 1ms;
        }
        sliced.harness().push_batch(records);
        general.harness().push_batch(records);
      }
    }
    ASSERT_TRUE(sliced.harness().status()) << sliced.harness().status().error().message;
    ASSERT_EQ(sliced.take(), general.take()) << "step " << step << " watermark " << watermark.ms;
    ASSERT_EQ(sliced.take_late(), general.take_late()) << "step " << step;
  }
  sliced.harness().end_input();
  general.harness().end_input();
  ASSERT_EQ(sliced.take(), general.take()) << "at the end";
  ASSERT_EQ(sliced.state_bytes(), 0U);
}

template <class Agg>
void compare_all(std::uint64_t first_seed, std::uint64_t seeds) {
  for (std::uint64_t seed = first_seed; seed < first_seed + seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const auto up_to = [&](std::int64_t most) {
      return Duration{1 +
                      static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(most)))};
    };
    const Duration slide = up_to(20);
    const Duration offset = up_to(slide.count()) - 1ms;
    if (random.below(3) == 0) {
      compare<Agg>(Cumulative::of(slide * up_to(6).count(), slide, offset), random);
    } else {
      compare<Agg>(Sliding::of(up_to(80), slide, random.below(2) == 0 ? offset : -offset), random);
    }
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(SlicedWindow, sums_are_those_of_the_general_operator) {
  compare_all<SumOfItems>(0, 1500 / seeds_divisor);
}
TEST(SlicedWindow, merged_values_are_those_of_the_general_operator) {
  compare_all<Values>(10'000, 1500 / seeds_divisor);
}

// A day of event time, by the second.
template <class Agg, class Windows>
void keeps_its_size(const Windows& windows, Duration from, std::size_t bytes_max) {
  WindowedRun<Agg> run(windows, false);
  std::size_t rows = 0;
  for (Duration now{0}; now < Duration{24h}; now += 1min) {
    std::vector<Record<Item>> records;
    for (std::int64_t i = 0; i < 60; ++i)
      records.push_back({{i % 7, 1}, EventTime{now.count() + i * 1000}});
    run.harness().push_batch(std::move(records));
    run.harness().watermark(EventTime{now.count() + 59'000});
    rows += run.take().size();
    if (now < from || now % Duration{1h} != Duration{0}) continue;
    ASSERT_LE(run.state_bytes(), bytes_max);
  }
  EXPECT_GT(rows, 1000U);
  run.harness().end_input();
  EXPECT_EQ(run.state_bytes(), 0U);
}

TEST(SlicedWindow, state_does_not_grow_with_time) {
  // Ten slices, and the one that is open, of 7 keys.
  keeps_its_size<SumOfItems>(Sliding::of(10min, 1min), 20min, 11 * 7 * 60);
  keeps_its_size<Values>(Sliding::of(10min, 1min), 20min, 11 * 7 * 60 + 660 * 8);
  // What is complete of the day is in one table.
  keeps_its_size<SumOfItems>(Cumulative::of(Duration{24h}, 1min), 20min, 3 * 7 * 60);
}

TEST(SlicedWindow, more_keys_than_a_batch_holds_come_out_once_per_window) {
  WindowedRun<SumOfItems> run(Sliding::of(2s, 1s), false);
  constexpr std::int64_t keys = 2 * static_cast<std::int64_t>(limits::batch_rows_max) + 5;
  std::vector<Record<Item>> records;
  for (std::int64_t key = 0; key < keys; ++key) records.push_back({{key, key}, EventTime{500}});
  run.harness().push_batch(std::move(records));
  run.harness().end_input();
  const auto rows = run.take();
  ASSERT_EQ(rows.size(), 2 * static_cast<std::size_t>(keys));
  for (const auto& [start, end, key, value] : rows) ASSERT_EQ(value, key);
}

TEST(SlicedWindow, years_without_records_take_no_time) {
  WindowedRun<SumOfItems> run(Sliding::of(1s, 1ms), false);
  run.harness().push({1, 5}, EventTime{0});
  run.harness().watermark(EventTime{std::int64_t{1} << 60});
  EXPECT_EQ(run.take().size(), 1000U);
  run.harness().push({1, 5}, EventTime{std::int64_t{1} << 61});
  run.harness().end_input();
  EXPECT_EQ(run.take().size(), 1000U);
}

TEST(SlicedWindow, does_not_go_on_with_slices_of_other_windows) {
  const auto describe = [](Duration slide) {
    return [slide](Stream<Item> in) {
      return in.key_by(&Item::key).window(Sliding::of(10s, slide)).sum("sum", &Item::value);
    };
  };
  using Harness = StreamHarness<Item, Windowed<std::int64_t, std::int64_t>>;
  Harness before(describe(1s));
  before.push({1, 1}, EventTime{1500});
  Harness after(describe(2s), {.restored = before.snapshot()});
  ASSERT_FALSE(after.status());
  EXPECT_EQ(after.status().error().code, Errc::state_mismatch);
}

// What a step with the windows `before` leaves of a record at `at` does not go on with the windows `after`.
template <class Before, class After>
std::string mistake_of_change(const Before& before, const After& after, EventTime at) {
  const auto describe = [](const auto& windows) {
    return [windows](Stream<Item> in) {
      return in.key_by(&Item::key).window(windows).sum("sum", &Item::value);
    };
  };
  using Harness = StreamHarness<Item, Windowed<std::int64_t, std::int64_t>>;
  Harness first(describe(before));
  first.push({1, 1}, at);
  Harness second(describe(after), {.restored = first.snapshot()});
  second.watermark(EventTime::max() - 1ms);
  if (second.status()) return "";
  EXPECT_EQ(second.status().error().code, Errc::state_mismatch);
  return second.status().error().message;
}

TEST(SlicedWindow, does_not_go_on_where_a_slice_is_a_gap_now) {
  EXPECT_EQ(mistake_of_change(Sliding::of(5s, 10s), Sliding::of(5s, 10s, 5s), EventTime{1000}),
            "the state of 'sum' is of sliding windows of 5000 ms every 10000 ms, offset 0 ms, but "
            "the step has sliding windows of 5000 ms every 10000 ms, offset 5000 ms: give them as "
            "they were, or the step another name");
}

TEST(SlicedWindow, does_not_go_on_with_windows_of_another_size_or_kind_whose_slices_are_the_same) {
  EXPECT_NE(mistake_of_change(Sliding::of(1h, 5min), Sliding::of(2h, 5min), EventTime{0}), "");
  EXPECT_NE(mistake_of_change(Sliding::of(1h, 5min), Cumulative::of(1h, 5min), EventTime{0}), "");
  EXPECT_NE(mistake_of_change(Cumulative::of(1h, 5min), Cumulative::of(2h, 5min), EventTime{0}),
            "");
}

TEST(SlicedWindow, goes_on_with_an_offset_that_makes_the_same_windows) {
  EXPECT_EQ(mistake_of_change(Sliding::of(1h, 5min, 2min), Sliding::of(1h, 5min, -3min), {0}), "");
  EXPECT_EQ(
      mistake_of_change(Cumulative::of(1h, 5min, 2min), Cumulative::of(1h, 5min, -58min), {0}), "");
}

// The operator alone, as one of several instances and without time for more than one key a call.
template <class Agg, class Windows>
class Instance {
 public:
  using Row = Windowed<std::int64_t, AggregateResult<Agg>>;

  Instance(const Windows& windows, KeyGroupSlice keys, RestoredState restored = {})
      : op_(&Item::key, windows, Agg{}, Make{}), keys_(keys), state_(keys, std::move(restored)) {
    context_.keys = keys;
    context_.state = &state_;
    context_.metrics = &metrics_;
    EXPECT_TRUE(context_.reached.open(state_));
    context_.watermark = context_.reached.watermark();
    EXPECT_TRUE(op_.open(context_));
    ports_.push_back(std::make_unique<Output<Row>>());
  }

  // Those of its own keys.
  void push(const std::vector<Record<Item>>& records) {
    auto batch = std::make_shared<Batch<Item>>();
    for (const auto& [item, time] : records) {
      const KeyHash hash = hash_of(item.key);
      if (!keys_.range.contains(key_group_of(hash, keys_.max_parallelism))) continue;
      batch->values.push_back(item);
      batch->times.push_back(time);
      batch->hashes.push_back(hash);
    }
    const std::size_t rows = batch->size();
    if (rows == 0) return;
    Outputs out(ports_, no_time_);
    BatchPtr in = std::move(batch);
    EXPECT_TRUE(op_.process({0}, in, {0, rows}, out));
  }
  void watermark(EventTime time) {
    for (auto result = StepResult::yield; result != StepResult::done; ++calls_) {
      Outputs out(ports_, no_time_);
      result = *op_.on_watermark(time, out);
      take();
    }
    context_.reached.reach(time);
  }
  [[nodiscard]] RestoredState snapshot() {
    context_.reached.prepare_snapshot();
    return write_to_memory(state_.freeze());
  }

  [[nodiscard]] typename WindowedRun<Agg>::Rows take_rows() {
    std::ranges::sort(rows_);
    return std::exchange(rows_, {});
  }
  [[nodiscard]] std::size_t calls() const { return calls_; }
  [[nodiscard]] std::uint64_t late_records() const { return metrics_.late_records_dropped; }

 private:
  struct Make {
    Row operator()(std::int64_t key, Window window, AggregateResult<Agg> value) const {
      return {window.start, window.end, key, std::move(value)};
    }
  };

  void take() {
    const BatchPtr batch = ports_[0]->take();
    if (batch == nullptr) return;
    for (const Row& row : batch_cast<Row>(*batch).values)
      rows_.emplace_back(row.window_start, row.window_end, row.key, row.value);
  }

  SlicedWindowOperator<Item, std::int64_t Item::*, Windows, Agg, Row, Make> op_;
  KeyGroupSlice keys_;
  StateBackend state_;
  OperatorMetrics metrics_;
  OperatorContext context_;
  std::vector<std::unique_ptr<AnyOutput>> ports_;
  const StepBudget no_time_{system_clock(), std::chrono::nanoseconds{0}};
  typename WindowedRun<Agg>::Rows rows_;
  std::size_t calls_ = 0;
};

constexpr std::uint32_t key_groups = 16;
constexpr KeyGroupSlice all_keys{{{0}, key_groups}, key_groups};

template <class Agg, class Windows>
void stops_and_goes_on(const Windows& windows) {
  WindowedRun<Agg> at_once(windows, false);
  Instance<Agg, Windows> slowly(windows, all_keys);
  Random random(7);
  std::size_t rows = 0;
  for (std::int64_t step = 0; step < 60; ++step) {
    std::vector<Record<Item>> records;
    for (int i = 0; i < 5; ++i) {
      records.push_back({{static_cast<std::int64_t>(random.below(6)), step},
                         EventTime{step * 10 + static_cast<std::int64_t>(random.below(40))}});
    }
    slowly.push(records);
    slowly.watermark(EventTime{step * 10});
    at_once.harness().push_batch(std::move(records));
    at_once.harness().watermark(EventTime{step * 10});
    const auto expected = at_once.take();
    rows += expected.size();
    ASSERT_EQ(slowly.take_rows(), expected);
  }
  EXPECT_GT(slowly.calls(), rows);
}

TEST(SlicedWindow, goes_on_with_a_firing_where_it_stopped) {
  stops_and_goes_on<Count>(Sliding::of(100ms, 10ms));
  stops_and_goes_on<Values>(Sliding::of(95ms, 10ms));
  stops_and_goes_on<Count>(Cumulative::of(100ms, 10ms));
}

// Instances that are chained to what is before them have watermarks of their own, and begin again with the least.
template <class Agg, class Windows>
void fires_nothing_twice(const Windows& windows) {
  const KeyGroupSlice first_half{{{0}, key_groups / 2}, key_groups};
  const KeyGroupSlice second_half{{{key_groups / 2}, key_groups / 2}, key_groups};
  std::vector<Record<Item>> early;
  std::vector<Record<Item>> later;
  for (std::int64_t key = 0; key < 20; ++key) {
    for (std::int64_t ms = 0; ms < 100; ms += 7) early.push_back({{key, ms}, EventTime{ms}});
    for (std::int64_t ms = 60; ms < 160; ms += 7) later.push_back({{key, ms}, EventTime{ms}});
  }
  // The same keys in instances that stay.
  Instance<Agg, Windows> ahead(windows, first_half);
  Instance<Agg, Windows> behind(windows, second_half);
  ahead.push(early);
  behind.push(early);
  ahead.watermark(EventTime{75});
  behind.watermark(EventTime{40});
  (void)ahead.take_rows();
  (void)behind.take_rows();

  auto restored = redistribute({ahead.snapshot(), behind.snapshot()}, 1, key_groups);
  Instance<Agg, Windows> once(windows, all_keys, restored[0]);
  restored = redistribute({once.snapshot()}, 1, key_groups);
  Instance<Agg, Windows> both(windows, all_keys, restored[0]);
  for (const EventTime watermark : {EventTime{60}, EventTime{90}, EventTime::max()}) {
    if (watermark == EventTime{90}) {
      ahead.push(later);
      behind.push(later);
      both.push(later);
    }
    if (watermark > EventTime{75}) ahead.watermark(watermark);
    behind.watermark(watermark);
    both.watermark(watermark);
    auto expected = ahead.take_rows();
    std::ranges::copy(behind.take_rows(), std::back_inserter(expected));
    std::ranges::sort(expected);
    ASSERT_EQ(both.take_rows(), expected) << "watermark " << watermark.ms;
  }
  EXPECT_EQ(both.late_records(), ahead.late_records() + behind.late_records());
}

TEST(SlicedWindow, does_not_fire_twice_for_keys_that_were_ahead_of_the_others) {
  fires_nothing_twice<Count>(Sliding::of(40ms, 10ms));
  fires_nothing_twice<Values>(Sliding::of(40ms, 10ms));
  fires_nothing_twice<Count>(Cumulative::of(100ms, 10ms));
  fires_nothing_twice<Count>(Sliding::of(10ms, 15ms));
}

}  // namespace
}  // namespace weir
