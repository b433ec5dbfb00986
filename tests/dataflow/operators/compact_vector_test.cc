#include "dataflow/operators/compact_vector.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

// Owns memory, and cannot be copied.
using Number = std::unique_ptr<int>;

template <class T>
std::vector<int> numbers(const CompactVector<T>& vector) {
  std::vector<int> all;
  for (const T& number : vector) all.push_back(*number);
  return all;
}

TEST(CompactVector, is_as_large_as_a_pointer) {
  EXPECT_EQ(sizeof(CompactVector<std::string>), sizeof(void*));
}

TEST(CompactVector, does_what_a_vector_does) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    const std::uint64_t long_most = 1 + random.below(60);
    CompactVector<Number> vector;
    std::vector<int> model;
    for (int step = 0; step < 1000; ++step) {
      const std::uint64_t what = random.below(5);
      if (model.empty() || (what < 2 && model.size() < long_most)) {
        const std::size_t at = random.below(2) == 0 ? model.size() : random.below(model.size() + 1);
        EXPECT_EQ(*vector.insert(vector.begin() + at, std::make_unique<int>(step)), step);
        model.insert(model.begin() + static_cast<std::ptrdiff_t>(at), step);
      } else if (what == 2) {
        ASSERT_EQ(*vector.take_front(), model.front());
        model.erase(model.begin());
      } else if (what == 3) {
        const std::size_t at = random.below(model.size());
        vector.erase(vector.begin() + at);
        model.erase(model.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        CompactVector<Number> moved(std::move(vector));
        vector = std::move(moved);
      }
      ASSERT_EQ(numbers(vector), model);
      ASSERT_EQ(vector.size(), model.size());
      ASSERT_EQ(vector.empty(), model.empty());
      if (!model.empty()) {
        ASSERT_EQ(*vector.back(), model.back());
      }
    }
  }
}

TEST(CompactVector, a_copy_is_another_one) {
  CompactVector<std::string> vector;
  for (const char* text : {"a", "b", "c"}) vector.insert(vector.end(), text);
  const CompactVector<std::string> copy = vector;
  vector[1] = "changed";
  (void)vector.take_front();
  EXPECT_EQ(std::vector<std::string>(copy.begin(), copy.end()),
            (std::vector<std::string>{"a", "b", "c"}));
}

TEST(CompactVector, elements_are_where_their_type_wants_them) {
  struct alignas(64) Line {
    int n = 0;
  };
  CompactVector<Line> lines;
  for (int n = 0; n < 10; ++n) {
    lines.insert(lines.begin(), {n});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines.begin()) % 64, 0U);
  }
  EXPECT_EQ(lines.back().n, 0);
}

TEST(CompactVector, as_a_queue_it_keeps_room_for_no_more_than_twice_what_is_in_it) {
  CompactVector<std::uint64_t> queue;
  for (std::uint64_t n = 0; n < 100'000; ++n) {
    queue.insert(queue.end(), n);
    if (queue.size() > 10) {
      EXPECT_EQ(queue.take_front(), n - 10);
    }
  }
  EXPECT_LE(heap_bytes(queue), 16 + 22 * sizeof(std::uint64_t));
  while (!queue.empty()) (void)queue.take_front();
  EXPECT_EQ(heap_bytes(queue), 0U);
}

// Throws when it has been moved so often; how many there are is counted.
class Fragile {
 public:
  explicit Fragile(int number) : number_(number) { ++alive; }
  Fragile(const Fragile&) = delete;
  Fragile(Fragile&& other) noexcept(false) : number_(other.number_) {
    if (--moves_left == 0) throw std::runtime_error("moved");
    ++alive;
  }
  Fragile& operator=(const Fragile&) = delete;
  Fragile& operator=(Fragile&& other) noexcept(false) {
    if (--moves_left == 0) throw std::runtime_error("moved");
    number_ = other.number_;
    return *this;
  }
  ~Fragile() { --alive; }
  [[nodiscard]] const int& operator*() const { return number_; }

  static inline int alive = 0;
  static inline int moves_left = 0;

 private:
  int number_;
};

TEST(CompactVector, leaks_nothing_when_a_move_throws) {
  for (int moves = 1; moves < 60; ++moves) {
    {
      CompactVector<Fragile> vector;
      Fragile::moves_left = moves;
      try {
        for (int n = 0; n < 8; ++n)
          vector.insert(n % 2 == 0 ? vector.end() : vector.begin(), Fragile(n));
        vector.erase(vector.begin() + 3);
        for (int n = 0; n < 4; ++n) (void)vector.take_front();
        for (int n = 0; n < 6; ++n) vector.insert(vector.begin() + 1, Fragile(n));
      } catch (const std::runtime_error&) {
      }
    }
    ASSERT_EQ(Fragile::alive, 0) << "after " << moves << " moves";
  }
}

}  // namespace
}  // namespace weir
