#include "base/codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <limits>
#include <string>

#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"

namespace weir {
namespace coded {

enum class Colour : std::uint8_t { red, green = 200 };

struct Empty {
  friend bool operator==(const Empty&, const Empty&) = default;
};

struct Flat {
  std::int64_t id;
  float weight;
  Colour colour;
  std::array<std::uint8_t, 3> cells;
  friend bool operator==(const Flat&, const Flat&) = default;
};

struct Padded {
  char letter;
  std::int64_t number;
  friend bool operator==(const Padded&, const Padded&) = default;
};

struct Visit {
  std::string address;
  EventTime at;
  std::optional<std::string> region;
  std::vector<Padded> parts;
  friend bool operator==(const Visit&, const Visit&) = default;
};

struct Everything {
  Visit visit;
  std::map<std::string, std::vector<Flat>> by_name;
  std::unordered_map<int, std::string> by_number;
  std::variant<std::monostate, bool, Visit> choice;
  std::tuple<char, std::deque<std::string>, Empty> tuple;
  std::set<std::pair<int, int>> pairs;
  std::unordered_set<std::string> words;
  std::vector<bool> bits;
  std::vector<std::optional<double>> doubles;
  std::chrono::sys_time<std::chrono::microseconds> when;
  std::array<std::string, 2> names;
  friend bool operator==(const Everything&, const Everything&) = default;
};

// A class with a format of its own: an even number, stored halved.
class Even {
 public:
  Even() = default;
  explicit Even(int value) : value_(value) {}
  [[nodiscard]] int value() const { return value_; }
  friend bool operator==(const Even&, const Even&) = default;

 private:
  int value_ = 0;
};

// An aggregate whose author wants another format than its fields'.
struct Celsius {
  double degrees;
  friend bool operator==(const Celsius&, const Celsius&) = default;
};

struct Pointer {
  int* target;
};

}  // namespace coded

template <>
struct Codec<coded::Even> {
  static void encode(ByteWriter& writer, const coded::Even& even) {
    writer.scalar(static_cast<std::int8_t>(even.value() / 2));
  }
  static Result<coded::Even> decode(ByteReader& reader) {
    const auto half = reader.scalar<std::int8_t>();
    if (!reader.ok()) return reader.error();
    if (half < 0) return Error{Errc::corrupt_data, "expected an even number that is not negative"};
    return coded::Even{2 * half};
  }
};

template <>
struct Codec<coded::Celsius> {
  static void encode(ByteWriter& writer, const coded::Celsius& value) {
    writer.scalar(static_cast<std::int8_t>(value.degrees));
  }
  static Result<coded::Celsius> decode(ByteReader& reader) {
    return coded::Celsius{static_cast<double>(reader.scalar<std::int8_t>())};
  }
};

namespace {

using namespace std::chrono_literals;

Bytes raw(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

// Also: no strict prefix of the encoding decodes, for a decoder must not read past damage.
template <class T>
void expect_round_trip(const T& value) {
  const Bytes bytes = to_bytes(value);
  EXPECT_GE(bytes.size(), codec_detail::least_bytes<T>());
  const Result<T> back = from_bytes<T>(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, value);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const Result<T> part = from_bytes<T>(std::span(bytes).first(size));
    ASSERT_FALSE(part) << "with " << size << " of " << bytes.size() << " bytes";
    ASSERT_EQ(part.error().code, Errc::corrupt_data);
  }
}

template <class T>
void expect_extremes_round_trip() {
  expect_round_trip(T{});
  expect_round_trip(std::numeric_limits<T>::min());
  expect_round_trip(std::numeric_limits<T>::max());
}

coded::Everything everything() {
  return {
      .visit = {"10.0.0.1", EventTime::max(), "eu", {{'a', -1}, {'b', 1}}},
      .by_name = {{"", {}}, {"x", {{1, 0.5F, coded::Colour::green, {1, 2, 3}}}}},
      .by_number = {{-1, "minus"}, {0, ""}, {7, "seven"}},
      .choice = coded::Visit{},
      .tuple = {'\xff', {"first", "last"}, {}},
      .pairs = {{1, 2}, {1, 3}},
      .words = {"one", "two", "three"},
      .bits = {true, false, true},
      .doubles = {1.5, std::nullopt, -std::numeric_limits<double>::infinity()},
      .when = std::chrono::sys_time<std::chrono::microseconds>{-1us},
      .names = {"a", std::string(300, 'b')},
  };
}

TEST(Codec, numbers_round_trip_at_their_extremes) {
  expect_extremes_round_trip<std::int8_t>();
  expect_extremes_round_trip<std::uint8_t>();
  expect_extremes_round_trip<std::int16_t>();
  expect_extremes_round_trip<std::uint16_t>();
  expect_extremes_round_trip<std::int32_t>();
  expect_extremes_round_trip<std::uint32_t>();
  expect_extremes_round_trip<std::int64_t>();
  expect_extremes_round_trip<std::uint64_t>();
  expect_extremes_round_trip<char>();
  expect_extremes_round_trip<float>();
  expect_extremes_round_trip<double>();
  expect_round_trip(true);
  expect_round_trip(false);
}

TEST(Codec, floating_point_numbers_keep_every_bit) {
  const double payload_nan = std::bit_cast<double>(0x7ff80000deadbeefULL);
  for (const double value : {-0.0, payload_nan, -payload_nan, double{INFINITY}, 5e-324}) {
    const Result<double> back = from_bytes<double>(to_bytes(value));
    ASSERT_TRUE(back);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*back), std::bit_cast<std::uint64_t>(value));
  }
}

TEST(Codec, times_ids_and_enums_round_trip) {
  expect_round_trip(EventTime::min());
  expect_round_trip(ProcessingTime::max());
  expect_round_trip(CheckpointId{~std::uint64_t{0}});
  expect_round_trip(ChannelIndex{3});
  expect_round_trip(coded::Colour::green);
  expect_round_trip(-5min);
  expect_round_trip(std::chrono::duration<double>{0.25});
  expect_round_trip(std::chrono::sys_days{std::chrono::year{1969} / 12 / 31});
}

TEST(Codec, strings_round_trip_with_any_byte) {
  expect_round_trip(std::string{});
  expect_round_trip(std::string{"a\0b\xff", 4});
  expect_round_trip(std::string(1000, 'x'));
}

TEST(Codec, empty_containers_round_trip) {
  expect_round_trip(std::vector<int>{});
  expect_round_trip(std::vector<bool>{});
  expect_round_trip(std::deque<std::string>{});
  expect_round_trip(std::map<int, int>{});
  expect_round_trip(std::unordered_map<std::string, int>{});
  expect_round_trip(std::set<int>{});
  expect_round_trip(std::unordered_set<int>{});
  expect_round_trip(std::optional<int>{});
  expect_round_trip(std::array<int, 0>{});
}

TEST(Codec, values_without_parts_take_a_byte) {
  expect_round_trip(coded::Empty{});
  expect_round_trip(std::monostate{});
  expect_round_trip(std::tuple<>{});
  expect_round_trip(std::vector<coded::Empty>(5));
}

TEST(Codec, nested_values_round_trip) {
  expect_round_trip(everything());
  expect_round_trip(coded::Everything{});
  expect_round_trip(std::vector<coded::Everything>(3, everything()));
  expect_round_trip(std::optional<std::optional<int>>{std::optional<int>{}});
  expect_round_trip(std::variant<int, int>{std::in_place_index<1>, 7});
}

TEST(Codec, a_local_struct_is_encodable) {
  struct Local {
    int number;
    std::string text;
    bool operator==(const Local&) const = default;
  };
  expect_round_trip(Local{1, "x"});
}

TEST(Codec, the_format_is_as_documented) {
  EXPECT_EQ(to_bytes(std::vector<std::uint16_t>{1, 2}), raw({2, 0, 0, 0, 1, 0, 2, 0}));
  EXPECT_EQ(to_bytes(std::vector<bool>{true, false}), raw({2, 0, 0, 0, 1, 0}));
  EXPECT_EQ(to_bytes(std::optional<char>{'a'}), raw({1, 'a'}));
  EXPECT_EQ(to_bytes(std::optional<char>{}), raw({0}));
  EXPECT_EQ(to_bytes(std::variant<int, char>{'a'}), raw({1, 'a'}));
  EXPECT_EQ(to_bytes(coded::Padded{'a', 1}), raw({'a', 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(to_bytes(std::map<char, bool>{{'b', true}, {'a', false}}),
            raw({2, 0, 0, 0, 'a', 0, 'b', 1}));
  EXPECT_EQ(to_bytes(std::chrono::duration<std::int16_t>{5}), raw({5, 0}));
  EXPECT_EQ(to_bytes(coded::Empty{}), raw({0}));
}

TEST(Codec, what_lies_flat_in_memory_is_encoded_the_same_alone_and_in_bulk) {
  static_assert(is_flat<coded::Flat> && is_flat<EventTime> && is_flat<std::chrono::nanoseconds>);
  static_assert(!is_flat<coded::Padded> && !is_flat<bool> && !is_flat<coded::Empty>);
  static_assert(!is_flat<std::string> && !is_flat<coded::Celsius> && !is_flat<long double>);
  const coded::Flat flat{5, 0.5F, coded::Colour::green, {1, 2, 3}};
  Bytes field_by_field;
  ByteWriter writer{field_by_field};
  std::apply([&](const auto&... field) { (encode(writer, field), ...); }, fields_of(flat));
  EXPECT_EQ(to_bytes(flat), field_by_field);
  expect_round_trip(std::vector<coded::Flat>(100, flat));
}

TEST(Codec, a_class_brings_its_own_codec) {
  expect_round_trip(coded::Even{8});
  expect_round_trip(std::map<int, coded::Even>{{1, coded::Even{2}}, {2, coded::Even{4}}});
  expect_round_trip(std::vector<coded::Celsius>{{20.0}, {-5.0}});
  EXPECT_EQ(to_bytes(coded::Celsius{20.0}), raw({20}));
}

TEST(Codec, the_error_of_a_class_reaches_the_top) {
  const auto result = from_bytes<std::vector<coded::Even>>(raw({2, 0, 0, 0, 0xff, 1}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "expected an even number that is not negative");
}

TEST(Codec, what_has_no_codec_is_not_encodable) {
  static_assert(Encodable<coded::Everything> && Encodable<coded::Even> &&
                Encodable<coded::Celsius>);
  static_assert(!Encodable<int*> && !Encodable<coded::Pointer> && !Encodable<std::string_view>);
  static_assert(!Encodable<std::vector<coded::Pointer>> && !Encodable<std::map<int, int*>>);
  static_assert(!Encodable<std::variant<int, int*>> && !Encodable<std::tuple<int*>>);
  static_assert(!Encodable<long double> && !Encodable<int[3]> && !Encodable<void>);
}

template <class T>
std::string message_for(std::initializer_list<int> bytes) {
  const Result<T> result = from_bytes<T>(raw(bytes));
  return result ? "decoded" : result.error().message;
}

TEST(Codec, damage_is_named) {
  EXPECT_EQ(message_for<bool>({2}), "damaged data at byte 1: expected a bool, which is 0 or 1");
  EXPECT_EQ(message_for<std::optional<int>>({7}),
            "damaged data at byte 1: expected a bool, which is 0 or 1");
  EXPECT_EQ((message_for<std::variant<int, char>>({2, 0})),
            "damaged data at byte 1: expected a variant's index below 2");
  EXPECT_EQ((message_for<std::set<char>>({2, 0, 0, 0, 'a', 'a'})),
            "damaged data at byte 6: expected keys that differ from one another");
  EXPECT_EQ(message_for<coded::Empty>({1}),
            "damaged data at byte 1: expected the byte 0 of an empty value");
  EXPECT_EQ(message_for<char>({'a', 'b'}), "damaged data at byte 1: expected the end");
}

TEST(Codec, a_damaged_count_allocates_nothing) {
  const Bytes huge = raw({0xff, 0xff, 0xff, 0xff, 1, 2, 3});
  EXPECT_FALSE(from_bytes<std::vector<std::uint64_t>>(huge));
  EXPECT_FALSE(from_bytes<std::vector<std::string>>(huge));
  EXPECT_FALSE(from_bytes<std::vector<coded::Empty>>(huge));
  EXPECT_FALSE((from_bytes<std::unordered_map<int, int>>(huge)));
  EXPECT_FALSE(from_bytes<std::string>(huge));
}

template <class T>
void expect_survives(const Bytes& bytes) {
  const Result<T> result = from_bytes<T>(bytes);
  if (!result) {
    ASSERT_EQ(result.error().code, Errc::corrupt_data);
  } else {
    ASSERT_LE(codec_detail::least_bytes<T>(), bytes.size());
  }
}

void expect_all_survive(const Bytes& bytes) {
  expect_survives<coded::Everything>(bytes);
  expect_survives<std::vector<coded::Visit>>(bytes);
  expect_survives<std::vector<std::vector<std::string>>>(bytes);
  expect_survives<std::map<std::string, std::optional<double>>>(bytes);
  expect_survives<std::unordered_map<std::uint8_t, coded::Even>>(bytes);
  expect_survives<std::variant<std::monostate, bool, std::deque<coded::Flat>>>(bytes);
  expect_survives<std::vector<std::array<std::optional<std::string>, 20>>>(bytes);
}

TEST(Codec, random_bytes_never_crash) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random{seed};
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes(random.below(200));
    const std::uint64_t largest = 1 + random.below(256);  // small bytes make plausible counts
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(largest));
    ASSERT_NO_FATAL_FAILURE(expect_all_survive(bytes));
  }
}

TEST(Codec, flipped_bits_never_crash) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random{seed};
  const Bytes sound = to_bytes(everything());
  for (int round = 0; round < 5000; ++round) {
    Bytes bytes = sound;
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1u << random.below(8));
    }
    ASSERT_NO_FATAL_FAILURE(expect_all_survive(bytes));
  }
}

}  // namespace
}  // namespace weir
