#include "base/schema.h"

#include <gtest/gtest.h>

#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"

namespace weir {
namespace {

enum class Colour : std::uint8_t { red };

struct Visit {
  std::string address;
  EventTime at;
  std::optional<std::string> region;
};
struct Site {
  std::vector<Visit> visits;
  std::map<std::string, std::uint64_t> counts;
  std::variant<std::monostate, Colour> colour;
  std::array<float, 3> position;
  std::pair<char, bool> flags;
};
class Opaque {};
class Described {};

}  // namespace

template <>
struct Codec<Opaque> {
  static void encode(ByteWriter& writer, const Opaque&) { writer.scalar(std::uint8_t{0}); }
  static Result<Opaque> decode(ByteReader&) { return Opaque{}; }
};
template <>
struct Codec<Described> {
  static void encode(ByteWriter& writer, const Described&) { writer.scalar(std::int32_t{0}); }
  static Result<Described> decode(ByteReader&) { return Described{}; }
  static Schema schema() { return {SchemaKind::int32, "Described", {}}; }
};

namespace {

template <class T>
std::string text() {
  return to_string(schema_of<T>());
}

TEST(Schema, numbers_are_named_by_their_width) {
  EXPECT_EQ(text<bool>(), "bool");
  EXPECT_EQ(text<char>(), "char");
  EXPECT_EQ(text<std::int8_t>(), "int8");
  EXPECT_EQ(text<std::uint16_t>(), "uint16");
  EXPECT_EQ(text<int>(), "int32");
  EXPECT_EQ(text<long long>(), "int64");
  EXPECT_EQ(text<float>(), "float32");
  EXPECT_EQ(text<double>(), "float64");
  EXPECT_EQ(text<Colour>(), "enum<weir::Colour, uint8>");
}

TEST(Schema, structs_list_their_fields) {
  EXPECT_EQ(text<Visit>(),
            "weir::Visit{address: string, at: weir::EventTime{ms: int64}, "
            "region: optional<string>}");
  EXPECT_EQ(text<Site>(), "weir::Site{visits: list<" + text<Visit>() +
                              ">, counts: map<string, uint64>, "
                              "colour: variant<std::monostate{}, enum<weir::Colour, uint8>>, "
                              "position: array<3, float32>, flags: tuple<char, bool>}");
}

TEST(Schema, times_carry_their_unit) {
  EXPECT_EQ(text<std::chrono::milliseconds>(), "duration<1/1000, int64>");
  EXPECT_EQ(text<std::chrono::sys_seconds>(), "time_point<system_clock, duration<1/1, int64>>");
}

TEST(Schema, containers_of_one_encoding_have_one_schema) {
  EXPECT_EQ(schema_of<std::vector<int>>(), schema_of<std::deque<int>>());
  EXPECT_EQ(schema_of<std::set<int>>(), schema_of<std::unordered_set<int>>());
  EXPECT_EQ((schema_of<std::map<int, int>>()), (schema_of<std::unordered_map<int, int>>()));
  EXPECT_EQ((schema_of<std::pair<int, int>>()), (schema_of<std::tuple<int, int>>()));
}

TEST(Schema, a_changed_type_or_name_is_another_schema) {
  struct Renamed {
    std::string host;
  };
  EXPECT_NE(schema_of<Visit>(), schema_of<Renamed>());
  EXPECT_NE(schema_of<int>(), schema_of<unsigned>());
  EXPECT_NE(schema_of<std::chrono::seconds>(), schema_of<std::chrono::minutes>());
  EXPECT_NE((schema_of<std::array<int, 2>>()), (schema_of<std::array<int, 3>>()));
  EXPECT_NE(schema_of<CheckpointId>(), schema_of<JobId>());
}

TEST(Schema, a_class_with_a_codec_is_opaque_unless_it_says_more) {
  EXPECT_EQ(text<Opaque>(), "opaque<weir::Opaque>");
  EXPECT_EQ(text<std::vector<Described>>(), "list<int32<Described>>");
}

TEST(Schema, round_trips) {
  for (const Schema& schema : {schema_of<Site>(), schema_of<int>(), schema_of<Opaque>()}) {
    const Result<Schema> back = from_bytes<Schema>(to_bytes(schema));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, schema);
  }
}

TEST(Schema, every_kind_has_a_name) {
  for (auto kind = SchemaKind{}; kind <= SchemaKind::opaque;
       kind = static_cast<SchemaKind>(static_cast<int>(kind) + 1)) {
    EXPECT_FALSE(name_of(kind).empty());
  }
}

TEST(Schema, an_unknown_kind_is_damage) {
  Bytes bytes = to_bytes(schema_of<int>());
  bytes[0] = std::byte{200};
  EXPECT_EQ(from_bytes<Schema>(bytes).error().message,
            "damaged data at byte 1: expected a kind of schema");
}

TEST(Schema, bottomless_nesting_is_damage) {
  Schema schema{SchemaKind::list, {}, {}};
  for (int depth = 0; depth < 1000; ++depth) {
    Schema outer{SchemaKind::list, {}, {}};
    outer.fields.push_back({{}, std::move(schema)});
    schema = std::move(outer);
  }
  const Result<Schema> result = from_bytes<Schema>(to_bytes(schema));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::corrupt_data);
}

TEST(Schema, damaged_bytes_never_crash) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random{seed};
  const Bytes sound = to_bytes(schema_of<Site>());
  for (int round = 0; round < 2000; ++round) {
    Bytes bytes = sound;
    bytes.resize(random.below(sound.size() + 1));
    for (std::byte& byte : bytes) {
      if (random.below(50) == 0) byte = static_cast<std::byte>(random.below(256));
    }
    if (const auto result = from_bytes<Schema>(bytes); !result) {
      ASSERT_EQ(result.error().code, Errc::corrupt_data);
    }
  }
}

}  // namespace
}  // namespace weir
