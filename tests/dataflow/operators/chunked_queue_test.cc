#include "dataflow/operators/chunked_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

// Owns memory.
class Number {
 public:
  Number() = default;
  explicit Number(int value) : value_(std::make_unique<int>(value)) {}
  [[nodiscard]] int value() const { return *value_; }

 private:
  std::unique_ptr<int> value_;
};

using Queue = ChunkedQueue<Number>;

std::vector<int> numbers(const Queue& queue) {
  std::vector<int> all;
  auto visit = [&](const Number& entry) {
    all.push_back(entry.value());
    return true;
  };
  EXPECT_TRUE(queue.visit(visit));
  return all;
}

TEST(ChunkedQueue, yields_what_was_put_in_in_that_order) {
  Queue::Memory memory;
  Queue queue;
  EXPECT_TRUE(queue.empty());
  for (int i = 0; i < 500; ++i) queue.push(Number(i), memory);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(queue.front().value(), i);
    ASSERT_EQ(queue.take_front(memory).value(), i);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(ChunkedQueue, a_visit_ends_where_it_wants_to) {
  Queue::Memory memory;
  Queue queue;
  for (int i = 0; i < 500; ++i) queue.push(Number(i), memory);
  int visited = 0;
  auto visit = [&](const Number&) { return ++visited < 300; };
  EXPECT_FALSE(queue.visit(visit));
  EXPECT_EQ(visited, 300);
}

TEST(ChunkedQueue, what_is_appended_comes_behind_what_was_there) {
  Queue::Memory memory;
  Queue first, second, none;
  for (int i = 0; i < 3; ++i) first.push(Number(i), memory);
  for (int i = 3; i < 6; ++i) second.push(Number(i), memory);
  first.append(std::move(second));
  first.append(std::move(none));
  first.push(Number(6), memory);
  EXPECT_EQ(numbers(first), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  Queue third;
  third.append(std::move(first));
  EXPECT_EQ(numbers(third).size(), 7U);
}

TEST(ChunkedQueue, random_queues_that_share_memory_are_as_deques) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Queue::Memory memory;
    std::vector<Queue> queues(4);
    std::vector<std::deque<int>> expected(4);
    for (int i = 0; i < 3000; ++i) {
      const std::size_t at = random.below(4);
      const auto what = random.below(100);
      // Grows and shrinks in turns.
      if (what < (i / 500 % 2 == 0 ? 70U : 30U)) {
        queues[at].push(Number(i), memory);
        expected[at].push_back(i);
      } else if (what < 98) {
        ASSERT_EQ(queues[at].empty(), expected[at].empty());
        if (expected[at].empty()) continue;
        ASSERT_EQ(queues[at].take_front(memory).value(), expected[at].front());
        expected[at].pop_front();
      } else {
        const std::size_t to = (at + 1) % 4;
        queues[to].append(std::move(queues[at]));
        queues[at] = {};
        expected[to].insert(expected[to].end(), expected[at].begin(), expected[at].end());
        expected[at].clear();
      }
    }
    for (std::size_t at = 0; at < 4; ++at)
      EXPECT_EQ(numbers(queues[at]), std::vector<int>(expected[at].begin(), expected[at].end()));
  }
}

}  // namespace
}  // namespace weir
