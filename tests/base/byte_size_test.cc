#include "base/byte_size.h"

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "base/time.h"

namespace weir {
namespace {

struct Flat {
  int number;
  EventTime at;
};
struct Visit {
  std::string address;
  int status;
  std::optional<std::string> region;
};
// Owns memory that nothing here can see.
class Buffer {
 public:
  explicit Buffer(std::size_t size) : bytes_(new char[size]), size_(size) {}
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

const std::string long_text(100, 'x');
constexpr std::size_t long_text_bytes = 101;

}  // namespace

template <>
struct HeapBytes<Buffer> {
  static constexpr bool has_heap = true;
  static std::size_t bytes(const Buffer& buffer) { return buffer.size(); }
};

namespace {

TEST(ByteSize, types_without_memory_of_their_own_are_known_when_compiling) {
  static_assert(!has_heap<int> && !has_heap<Flat> && !has_heap<std::string_view>);
  static_assert(!has_heap<std::pair<int, Flat>> && !has_heap<std::optional<Flat>>);
  static_assert(!has_heap<std::variant<int, Flat>> && !has_heap<std::array<Flat, 9>>);
  static_assert(has_heap<Visit> && has_heap<std::vector<int>> && has_heap<std::optional<Visit>>);
  static_assert(heap_bytes(Flat{}) == 0);
}

TEST(ByteSize, short_strings_own_nothing) {
  EXPECT_EQ(heap_bytes(std::string{}), 0u);
  EXPECT_EQ(heap_bytes(std::string(15, 'x')), 0u);
  EXPECT_EQ(heap_bytes(std::string(16, 'x')), 17u);
  EXPECT_EQ(heap_bytes(long_text), long_text_bytes);
}

TEST(ByteSize, vectors_count_their_capacity_and_what_is_inside) {
  std::vector<int> numbers;
  EXPECT_EQ(heap_bytes(numbers), 0u);
  numbers.reserve(10);
  EXPECT_EQ(heap_bytes(numbers), 10 * sizeof(int));
  const std::vector<std::string> texts(2, long_text);
  EXPECT_EQ(heap_bytes(texts), 2 * sizeof(std::string) + 2 * long_text_bytes);
  EXPECT_EQ(heap_bytes(std::vector<bool>(64)), 8u);
}

TEST(ByteSize, structs_sum_their_fields) {
  EXPECT_EQ(heap_bytes(Visit{long_text, 200, long_text}), 2 * long_text_bytes);
  EXPECT_EQ(heap_bytes(Visit{"short", 200, std::nullopt}), 0u);
  EXPECT_EQ(heap_bytes(std::pair{long_text, 1}), long_text_bytes);
  EXPECT_EQ(heap_bytes(std::tuple{1, long_text, long_text}), 2 * long_text_bytes);
  EXPECT_EQ(heap_bytes(std::array{long_text, long_text}), 2 * long_text_bytes);
  EXPECT_EQ((heap_bytes(std::variant<int, std::string>{long_text})), long_text_bytes);
  EXPECT_EQ((heap_bytes(std::variant<int, std::string>{1})), 0u);
}

TEST(ByteSize, nodes_are_counted_with_their_links) {
  EXPECT_EQ(heap_bytes(std::map<int, int>{}), 0u);
  EXPECT_EQ(heap_bytes(std::map<int, int>{{1, 1}, {2, 2}}), 2 * (8u + 32u));
  EXPECT_EQ(heap_bytes(std::set<std::string>{long_text}),
            sizeof(std::string) + 32 + long_text_bytes);
  EXPECT_EQ(heap_bytes(std::unordered_set<int>{}), 0u);
  const std::unordered_map<int, std::string> table{{1, long_text}};
  EXPECT_EQ(heap_bytes(table), sizeof(std::pair<int, std::string>) + 16 +
                                   table.bucket_count() * sizeof(void*) + long_text_bytes);
}

TEST(ByteSize, a_deque_holds_at_least_its_elements) {
  const std::deque<std::string> deque(100, long_text);
  EXPECT_GE(heap_bytes(deque), 100 * (sizeof(std::string) + long_text_bytes));
}

TEST(ByteSize, a_class_says_what_it_owns) {
  EXPECT_EQ(heap_bytes(Buffer{77}), 77u);
  static_assert(has_heap<std::pair<int, Buffer>>);
}

}  // namespace
}  // namespace weir
