// Joins by key and window, and co_group.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "dataflow/harness.h"
#include "dataflow/window/session.h"
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
