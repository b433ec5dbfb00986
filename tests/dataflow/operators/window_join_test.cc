// Joins by key and window, and co_group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "dataflow/harness.h"
#include "dataflow/window/evictors/count_evictor.h"
#include "dataflow/window/session.h"
#include "dataflow/window/sliding.h"
#include "dataflow/window/triggers/count_trigger.h"
#include "dataflow/window/triggers/purging.h"
#include "tests/dataflow/operators/harness_script.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

struct Number {
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
using Harness = TwoInputHarness<Number, Number, Pair>;

Stream<Pair> joined(Stream<Number> left, Stream<Number> right) {
  return left.key_by(&Number::key)
      .join(right.key_by(&Number::key))
      .window(Tumbling::of(2ms))
      .process("join", [](const Number& l, const Number& r) {
        return Pair{l.n, r.n};
      });
}

struct Sizes {
  int left = 0;
  int right = 0;
  friend bool operator==(const Sizes&, const Sizes&) = default;
  friend void PrintTo(const Sizes& sizes, std::ostream* out) {
    *out << sizes.left << '/' << sizes.right;
  }
};
std::string text_of(const Sizes& sizes) {
  return std::to_string(sizes.left) + '/' + std::to_string(sizes.right);
}

struct CountSides {
  void on_window(const std::vector<Number>& left, const std::vector<Number>& right,
                 WindowContext<std::string, Sizes>& ctx) {
    ctx.emit({static_cast<int>(left.size()), static_cast<int>(right.size())});
  }
};

// Left 0 to 7, right 0, 1, 3 and 4.
template <class Script>
Script& push_eight_and_four(Script& script) {
  for (int n = 0; n < 8; ++n) script.first(Number{"a", n}, n);
  for (const int n : {0, 1, 3, 4}) script.second(Number{"a", n}, n);
  return script;
}

TEST(WindowJoin, gives_all_pairs_of_a_window_with_its_last_millisecond) {
  HarnessScript<Harness> windows(joined);
  push_eight_and_four(windows)
      .expect({})
      .watermark(1)
      .expect({"(0,0)@1", "(0,1)@1", "(1,0)@1", "(1,1)@1", "WM 1"})
      .watermark(3)
      .expect({"(2,3)@3", "(3,3)@3", "WM 3"})
      .watermark(5)
      .expect({"(4,4)@5", "(5,4)@5", "WM 5"})
      .watermark(7)
      .expect({"WM 7"})
      .run();
  HarnessScript<Harness> at_once(joined);
  push_eight_and_four(at_once)
      .watermark(7)
      .expect({"(0,0)@1", "(0,1)@1", "(1,0)@1", "(1,1)@1", "(2,3)@3", "(3,3)@3", "(4,4)@5",
               "(5,4)@5", "WM 7"})
      .run();
}

TEST(CoGroup, is_called_also_when_a_side_is_empty) {
  HarnessScript<TwoInputHarness<Number, Number, Sizes>> sizes(
      [](Stream<Number> left, Stream<Number> right) {
        return left.key_by(&Number::key)
            .co_group(right.key_by(&Number::key))
            .window(Tumbling::of(2ms))
            .process("sizes", CountSides{});
      });
  push_eight_and_four(sizes)
      .watermark(7)
      .expect({"2/2@1", "2/1@3", "2/1@5", "2/0@7", "WM 7"})
      .run();
}

// More pairs in a window than a batch holds.
constexpr int side_size = 200;
constexpr std::size_t pair_count = std::size_t{side_size} * side_size;
static_assert(pair_count > 3 * Output<Pair>::rows_max);

template <class AnyHarness>
void push_many(AnyHarness& harness, const std::string& key, std::int64_t at) {
  std::vector<Record<Number>> side;
  for (int n = 0; n < side_size; ++n) side.push_back({{key, n}, EventTime{at}});
  harness.first().push_batch(side);
  harness.second().push_batch(std::move(side));
}
// Whether they are all pairs of `times` windows, each once.
testing::AssertionResult are_all(const Pairs& pairs, std::size_t times) {
  std::vector<std::size_t> seen(pair_count);
  for (const Pair& pair : pairs)
    ++seen[static_cast<std::size_t>(pair.left * side_size + pair.right)];
  for (std::size_t i = 0; i < pair_count; ++i) {
    if (seen[i] != times) return testing::AssertionFailure() << "pair " << i << " came " << seen[i];
  }
  return testing::AssertionSuccess();
}

struct CountingPairs {
  std::size_t* made = nullptr;
  Pair operator()(const Number& l, const Number& r) {
    ++*made;
    return {l.n, r.n};
  }
};

TEST(WindowJoin, makes_no_more_pairs_at_once_than_a_batch_holds) {
  std::size_t made = 0;
  std::size_t made_at_first = 0;
  Harness harness([&](Stream<Number> left, Stream<Number> right) {
    return left.key_by(&Number::key)
        .join(right.key_by(&Number::key))
        .window(Tumbling::of(2ms))
        .process("join", CountingPairs{&made})
        .map([&](const Pair& pair) {
          if (made_at_first == 0) made_at_first = made;
          return pair;
        });
  });
  push_many(harness, "a", 0);
  push_many(harness, "b", 1);
  push_many(harness, "a", 2);
  harness.watermark(EventTime{1});
  EXPECT_TRUE(are_all(harness.take_values(), 2));
  EXPECT_EQ(made_at_first, Output<Pair>::rows_max);
  harness.watermark(EventTime{3});
  EXPECT_TRUE(are_all(harness.take_values(), 1));
  EXPECT_EQ(made, 3 * pair_count);
}

// Each record of the right fires: the last alone more than a batch holds.
TEST(WindowJoin, goes_on_with_the_windows_of_a_record_that_has_filled_the_output) {
  Harness harness([](Stream<Number> left, Stream<Number> right) {
    return left.key_by(&Number::key)
        .join(right.key_by(&Number::key))
        .window(Sliding::of(4ms, 1ms))
        .trigger(purging(CountTrigger{2 * side_size}))
        .process("join", [](const Number& l, const Number& r) {
          return Pair{l.n, r.n};
        });
  });
  push_many(harness, "a", 10);
  EXPECT_TRUE(are_all(harness.take_values(), 4));
  push_many(harness, "a", 10);
  EXPECT_TRUE(are_all(harness.take_values(), 4)) << "each window began anew";
  harness.watermark(EventTime{20});
  EXPECT_THAT(harness.take_values(), IsEmpty());
}

TEST(WindowJoin, goes_on_with_windows_of_processing_time_and_evictors) {
  Harness harness([](Stream<Number> left, Stream<Number> right) {
    return left.key_by(&Number::key)
        .join(right.key_by(&Number::key))
        .window(Tumbling::of(10ms).in_processing_time())
        .evictor(CountEvictor{2 * side_size})
        .process("join", [](const Number& l, const Number& r) {
          return Pair{l.n, r.n};
        });
  });
  push_many(harness, "a", 0);
  push_many(harness, "a", 0);
  push_many(harness, "b", 0);
  harness.advance_processing_time(10ms);
  EXPECT_TRUE(are_all(harness.take_values(), 2));
  harness.advance_processing_time(10ms);
  EXPECT_THAT(harness.take_values(), IsEmpty());
}

struct Remembers {
  ValueState<int> windows{};
  WindowState<int> firings{};
  SideOutput<std::string> lonely{};
  void on_window(const std::vector<Number>& left, const std::vector<Number>& right,
                 WindowContext<std::string, Sizes>& ctx) {
    if (left.empty() || right.empty()) lonely.push(ctx.key());
    ctx.emit({++windows.update(), ++firings.update()});
  }
};

TEST(CoGroup, may_have_state_and_side_outputs) {
  TwoInputHarness<Number, Number, Sizes> harness([](Stream<Number> left, Stream<Number> right) {
    return left.key_by(&Number::key)
        .co_group(right.key_by(&Number::key))
        .window(Tumbling::of(2ms))
        .allowed_lateness(10ms)
        .process("remembers", Remembers{});
  });
  harness.first().push({"a", 1}, EventTime{0});
  harness.second().push({"a", 1}, EventTime{1});
  harness.first().push({"a", 1}, EventTime{2});
  harness.watermark(EventTime{3});
  EXPECT_THAT(harness.take_values(), ElementsAre(Sizes{1, 1}, Sizes{2, 1}));
  harness.first().push({"a", 1}, EventTime{1});
  EXPECT_THAT(harness.take_values(), ElementsAre(Sizes{3, 2}));
  EXPECT_THAT(harness.take_side(&Remembers::lonely), ElementsAre("a"));
}

TEST(WindowJoin, goes_on_after_a_restore_at_any_point) {
  for (int restored = 0; restored <= 12; ++restored) {
    SCOPED_TRACE(testing::Message() << "restored before step " << restored);
    auto harness = std::make_unique<Harness>(joined);
    Pairs pairs;
    for (int step = 0; step < 12; ++step) {
      if (step == restored) {
        for (const Pair& pair : harness->take_values()) pairs.push_back(pair);
        harness =
            std::make_unique<Harness>(joined, HarnessOptions{.restored = harness->snapshot()});
      }
      const int n = step / 3;
      if (step % 3 == 0) harness->first().push({"a", n}, EventTime{n});
      if (step % 3 == 1) harness->second().push({"a", 10 + n}, EventTime{n});
      if (step % 3 == 2) harness->watermark(EventTime{n});
    }
    for (const Pair& pair : harness->take_values()) pairs.push_back(pair);
    EXPECT_THAT(pairs,
                UnorderedElementsAreArray(
                    Pairs{{0, 10}, {0, 11}, {1, 10}, {1, 11}, {2, 12}, {2, 13}, {3, 12}, {3, 13}}));
  }
}

TEST(WindowJoin, a_job_may_have_several) {
  Harness harness([](Stream<Number> left, Stream<Number> right) {
    const auto turned = right.key_by(&Number::key)
                            .join(left.key_by(&Number::key))
                            .window(Tumbling::of(2ms))
                            .process("the other way round", [](const Number& l, const Number& r) {
                              return Pair{l.n, r.n};
                            });
    return joined(left, right).union_with(turned).map([](const Pair& pair) { return pair; });
  });
  ASSERT_TRUE(harness.status()) << harness.status().error().message;
  harness.first().push({"a", 1}, EventTime{0});
  harness.second().push({"a", 2}, EventTime{1});
  harness.watermark(EventTime{1});
  EXPECT_THAT(harness.take_values(), UnorderedElementsAre(Pair{1, 2}, Pair{2, 1}));
}

TEST(WindowJoin, its_function_may_capture) {
  Harness harness([](Stream<Number> left, Stream<Number> right) {
    const auto offset = std::make_shared<int>(10);
    const int& factor = *offset;
    return left.key_by(&Number::key)
        .join(right.key_by(&Number::key))
        .window(Tumbling::of(2ms))
        .process("join", [offset, &factor](const Number& l, const Number& r) {
          return Pair{l.n + *offset, r.n * factor};
        });
  });
  harness.first().push({"a", 1}, EventTime{0});
  harness.second().push({"a", 2}, EventTime{1});
  harness.watermark(EventTime{1});
  EXPECT_THAT(harness.take_values(), ElementsAre(Pair{11, 20}));
}

TEST(WindowJoin, takes_what_windows_take) {
  Harness harness([](Stream<Number> left, Stream<Number> right) {
    return left.key_by(&Number::key)
        .join(right.key_by(&Number::key))
        .window(Session::with_gap(5ms))
        .allowed_lateness(10ms)
        .process("join", [](const Number& l, const Number& r) {
          return Pair{l.n, r.n};
        });
  });
  harness.first().push({"a", 1}, EventTime{0});
  harness.second().push({"a", 2}, EventTime{3});
  harness.watermark(EventTime{7});
  EXPECT_THAT(harness.take_values(), ElementsAre(Pair{1, 2}));
  harness.second().push({"a", 3}, EventTime{2});
  EXPECT_THAT(harness.take_values(), UnorderedElementsAre(Pair{1, 2}, Pair{1, 3}))
      << "a late one fires again";
}

}  // namespace
}  // namespace weir
