#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace weir {
namespace {

enum class Colour : std::uint8_t { red, green };
enum class Signed : std::int8_t { minus = -1 };

struct Visit {
  std::string address;
  int status;
  std::optional<int> region;
};
struct Point {
  double x, y;
};
struct Empty {};

// A key class of its own: text that compares without regard to case.
class Caseless {
 public:
  explicit Caseless(std::string text) : text_(std::move(text)) {
    for (char& c : text_) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  [[nodiscard]] const std::string& folded() const { return text_; }

 private:
  std::string text_;
};

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

template <>
struct KeyTraits<Caseless> {
  static KeyHash hash(const Caseless& key) { return hash_of(key.folded()); }
  static bool equal(const Caseless& a, const Caseless& b) { return a.folded() == b.folded(); }
};

namespace {

// The vectors below are part of the savepoint format: they were computed apart from this code, from
// the description in hash.h and by xxHash 0.8.1. Never adapt them to a change.

TEST(Hash, integers_match_the_test_vectors) {
  EXPECT_EQ(hash_of(0), 0u);
  EXPECT_EQ(hash_of(1), 0x4179b061e0c0e0d0u);
  EXPECT_EQ(hash_of(-1), 0x448e29ced4103459u);
  EXPECT_EQ(hash_of(std::numeric_limits<std::int64_t>::min()), 0x72446bbcf6c799d7u);
}

TEST(Hash, integers_of_one_value_have_one_hash_whatever_their_width) {
  EXPECT_EQ(hash_of(std::uint8_t{1}), hash_of(std::int64_t{1}));
  EXPECT_EQ(hash_of(std::int8_t{-1}), hash_of(std::int64_t{-1}));
  EXPECT_EQ(hash_of(std::uint32_t{0xffffffff}), hash_of(std::int64_t{0xffffffff}));
  EXPECT_EQ(hash_of(true), hash_of(1));
  EXPECT_EQ(hash_of(Colour::green), hash_of(1));
  EXPECT_EQ(hash_of(Signed::minus), hash_of(-1));
}

TEST(Hash, times_and_ids_hash_as_their_number) {
  EXPECT_EQ(hash_of(EventTime{1431857103000}), 0xbe8f40323c3a8474u);
  EXPECT_EQ(hash_of(ProcessingTime{1}), hash_of(1));
  EXPECT_EQ(hash_of(CheckpointId{1}), hash_of(1));
  EXPECT_EQ(hash_of(std::chrono::milliseconds{-1}), hash_of(-1));
  EXPECT_EQ(hash_of(std::chrono::sys_seconds{std::chrono::seconds{1}}), hash_of(1));
}

TEST(Hash, strings_match_the_test_vectors) {
  EXPECT_EQ(hash_of(""), 0x2d06800538d394c2u);
  EXPECT_EQ(hash_of("a"), 0xe6c632b61e964e1fu);
  EXPECT_EQ(hash_of("weir"), 0x9831dc741817118u);
  EXPECT_EQ(hash_of(std::string(300, 'x')), 0xa5d1b4607dc83554u);
}

TEST(Hash, a_string_and_a_view_of_it_have_one_hash) {
  const std::string text = "weir";
  EXPECT_EQ(hash_of(text), hash_of(std::string_view{text}));
  EXPECT_EQ(hash_of(std::optional{text}), hash_of(std::optional{std::string_view{text}}));
}

TEST(Hash, floating_point_numbers_match_the_test_vectors) {
  EXPECT_EQ(hash_of(0.0), 0u);
  EXPECT_EQ(hash_of(1.5), 0x17af14cfd2582833u);
  EXPECT_EQ(hash_of(1.5F), 0x17af14cfd2582833u);
  EXPECT_EQ(hash_of(double{INFINITY}), 0x6ca125ea9ee95261u);
  EXPECT_EQ(hash_of(nan), 0x7f45b3e5de93871eu);
}

TEST(Hash, the_zeros_are_one_key_and_the_nans_are_one_key) {
  const double other_nan = std::bit_cast<double>(0xfff8000000000123u);
  EXPECT_EQ(hash_of(-0.0), hash_of(0.0));
  EXPECT_EQ(hash_of(-0.0F), hash_of(0.0));
  EXPECT_EQ(hash_of(other_nan), hash_of(nan));
  EXPECT_EQ(hash_of(std::numeric_limits<float>::quiet_NaN()), hash_of(nan));
  EXPECT_TRUE(keys_equal(-0.0, 0.0));
  EXPECT_TRUE(keys_equal(nan, other_nan));
  EXPECT_FALSE(keys_equal(nan, 0.0));
}

TEST(Hash, composites_match_the_test_vectors) {
  EXPECT_EQ(hash_of(std::pair{1, 2}), 0x9caf66bbb8dc2120u);
  EXPECT_EQ(hash_of(std::tuple{1, 2}), 0x9caf66bbb8dc2120u);
  EXPECT_EQ(hash_of(std::array{1, 2}), 0x9caf66bbb8dc2120u);
  EXPECT_EQ(hash_of(std::tuple<>{}), 0x9e3779b97f4a7c15u);
  EXPECT_EQ(hash_of(Empty{}), 0x9e3779b97f4a7c15u);
  EXPECT_EQ(hash_of(std::vector<int>{}), 0x4e17cf67001b3979u);
  EXPECT_EQ(hash_of(std::vector{1, 2, 3}), 0x81c732a154f02422u);
  EXPECT_EQ(hash_of(std::optional<int>{}), 0x9e3779b97f4a7c15u);
  EXPECT_EQ(hash_of(std::optional{7}), 0xc49ef2af949f540u);
  EXPECT_EQ((hash_of(std::variant<std::monostate, int>{7})), 0x1b568cb684a10019u);
  EXPECT_EQ((hash_of(std::variant<std::monostate, int>{})), 0x335b1da0f3639d7u);
}

TEST(Hash, a_struct_hashes_as_the_tuple_of_its_fields) {
  const Visit visit{"10.0.0.1", 404, 7};
  EXPECT_EQ(hash_of(visit), hash_of(std::tuple{visit.address, visit.status, visit.region}));
}

TEST(Hash, order_and_grouping_matter) {
  EXPECT_NE(hash_of(std::pair{1, 2}), hash_of(std::pair{2, 1}));
  using Lists = std::vector<std::vector<int>>;
  EXPECT_NE(hash_of(Lists{{1}, {}}), hash_of(Lists{{}, {1}}));
  EXPECT_NE(hash_of(std::pair{std::string{"a"}, std::string{"bc"}}),
            hash_of(std::pair{std::string{"ab"}, std::string{"c"}}));
}

TEST(Hash, keys_are_equal_field_by_field) {
  EXPECT_TRUE(keys_equal(Point{nan, -0.0}, Point{nan, 0.0}));
  EXPECT_FALSE(keys_equal(Point{nan, 1.0}, Point{nan, 0.0}));
  EXPECT_TRUE(keys_equal(Visit{"a", 1, {}}, Visit{"a", 1, {}}));
  EXPECT_FALSE(keys_equal(Visit{"a", 1, {}}, Visit{"a", 1, 0}));
  EXPECT_FALSE(keys_equal(Visit{"a", 1, {}}, Visit{"b", 1, {}}));
}

TEST(Hash, keys_are_equal_through_containers) {
  EXPECT_TRUE(keys_equal(std::vector{nan, 0.0}, std::vector{nan, -0.0}));
  EXPECT_FALSE(keys_equal(std::vector{1.0}, std::vector{1.0, 2.0}));
  EXPECT_TRUE(keys_equal(std::vector<bool>{true}, std::vector<bool>{true}));
  EXPECT_TRUE(keys_equal(std::array{nan}, std::array{nan}));
  EXPECT_TRUE(keys_equal(std::tuple{nan, 1}, std::tuple{nan, 1}));
  EXPECT_TRUE(keys_equal(std::optional{nan}, std::optional{nan}));
  EXPECT_FALSE(keys_equal(std::optional{nan}, std::optional<double>{}));
  using Choice = std::variant<int, double, int>;
  EXPECT_TRUE(keys_equal(Choice{nan}, Choice{nan}));
  EXPECT_FALSE(keys_equal(Choice{std::in_place_index<0>, 1}, Choice{std::in_place_index<2>, 1}));
}

TEST(Hash, a_class_brings_its_own_traits) {
  static_assert(Hashable<Caseless> && Hashable<std::vector<Caseless>>);
  EXPECT_EQ(hash_of(Caseless{"WEIR"}), hash_of("weir"));
  EXPECT_TRUE(keys_equal(std::pair{1, Caseless{"A"}}, std::pair{1, Caseless{"a"}}));
}

TEST(Hash, what_has_no_order_or_no_value_is_no_key) {
  static_assert(Hashable<Visit> && Hashable<std::vector<Point>> && Hashable<std::string_view>);
  static_assert(!Hashable<std::map<int, int>> && !Hashable<std::unordered_map<int, int>>);
  static_assert(!Hashable<std::set<int>> && !Hashable<std::unordered_set<int>>);
  static_assert(!Hashable<std::vector<std::set<int>>> && !Hashable<std::pair<int, int*>>);
  static_assert(!Hashable<int*> && !Hashable<long double>);
}

TEST(Hash, is_a_constant_for_constants) {
  static_assert(hash_of(1) == 0x4179b061e0c0e0d0u);
  static_assert(hash_of(std::pair{1, 2}) == 0x9caf66bbb8dc2120u);
}

// The low bits choose the slot, the high ones the key group: both must be even over small integers.
TEST(Hash, small_integers_spread_over_high_and_low_bits) {
  constexpr std::size_t bins = 128, per_bin = 100;
  std::array<std::size_t, bins> high{}, low{};
  for (std::uint64_t i = 0; i < bins * per_bin; ++i) {
    const KeyHash hash = hash_of(i);
    ++high[(hash >> 32) * bins >> 32];
    ++low[hash % bins];
  }
  for (std::size_t bin = 0; bin < bins; ++bin) {
    EXPECT_NEAR(static_cast<double>(high[bin]), per_bin, 50);
    EXPECT_NEAR(static_cast<double>(low[bin]), per_bin, 50);
  }
}

TEST(Hash, every_input_bit_changes_about_half_of_the_output_bits) {
  for (int bit = 0; bit < 64; ++bit) {
    int changed = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
      changed += std::popcount(mix64(i) ^ mix64(i ^ (std::uint64_t{1} << bit)));
    }
    EXPECT_NEAR(changed / 1000.0, 32, 4) << "bit " << bit;
  }
}

TEST(Hash, pairs_of_small_integers_do_not_collide) {
  std::set<KeyHash> seen;
  for (int a = 0; a < 300; ++a) {
    for (int b = 0; b < 300; ++b) seen.insert(hash_of(std::pair{a, b}));
  }
  EXPECT_EQ(seen.size(), 90'000u);
}

}  // namespace
}  // namespace weir
