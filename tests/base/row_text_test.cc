#include "base/row_text.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/random.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

enum class Colour : std::uint8_t { red, green };

struct Place {
  std::string city;
  double height;
};
struct Visit {
  std::string address;
  EventTime at;
  int status;
  std::optional<std::string> region;
};
struct Nested {
  int id;
  Place place;
  std::optional<Place> former;
  std::pair<int, char> mark;
  std::vector<Place> others;
};
struct Empty {};

class Version {
 public:
  explicit Version(int major, int minor) : major_(major), minor_(minor) {}
  friend std::string to_string(const Version& version) {
    return std::to_string(version.major_) + ',' + std::to_string(version.minor_);
  }

 private:
  int major_, minor_;
};
class Closed {
  int value_ = 0;

 public:
  [[nodiscard]] int value() const { return value_; }
};

constexpr EventTime noon{1431857103000};
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

template <class T>
std::string csv(const T& value) {
  std::string line;
  append_csv(line, value);
  return line;
}
template <class T>
std::string json(const T& value) {
  std::string line;
  append_json(line, value);
  EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  return line;
}
template <class T>
std::string text(const T& value) {
  std::string line;
  append_text(line, value);
  return line;
}

TEST(RowText, appends_and_ends_no_line) {
  std::string line = "before ";
  append_csv(line, 1);
  append_json(line, 2);
  append_text(line, 3);
  EXPECT_EQ(line, "before 123");
}

TEST(RowText, numbers_are_the_same_everywhere) {
  EXPECT_EQ(json(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(csv(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(text(std::int8_t{-5}), "-5");
  EXPECT_EQ(json(std::uint8_t{65}), "65");
  EXPECT_EQ(csv(Colour::green), "1");
  EXPECT_EQ(text(CheckpointId{7}), "7");
  EXPECT_EQ(json(true), "true");
  EXPECT_EQ(csv(false), "false");
  EXPECT_EQ(text(1500ms), "1500");
  EXPECT_EQ(json(std::chrono::duration<double>{0.5}), "0.5");
}

TEST(RowText, floating_point_numbers_are_as_short_as_reads_back) {
  EXPECT_EQ(csv(0.1), "0.1");
  EXPECT_EQ(csv(0.1F), "0.1");
  EXPECT_EQ(csv(-0.0), "-0");
  EXPECT_EQ(json(1e300), "1e+300");
  EXPECT_EQ(json(5e-324), "5e-324");
  EXPECT_EQ(nlohmann::json::parse(json(0.1 + 0.2)).get<double>(), 0.1 + 0.2);
}

TEST(RowText, json_has_no_nan) {
  EXPECT_EQ(json(nan), "null");
  EXPECT_EQ(json(-inf), "null");
  EXPECT_EQ(csv(nan), "nan");
  EXPECT_EQ(csv(inf), "inf");
  EXPECT_EQ(text(-inf), "-inf");
}

TEST(RowText, times_are_iso_8601) {
  EXPECT_EQ(csv(noon), "2015-05-17T10:05:03Z");
  EXPECT_EQ(json(noon), R"("2015-05-17T10:05:03Z")");
  EXPECT_EQ(text(ProcessingTime{noon.ms + 7}), "2015-05-17T10:05:03.007Z");
  EXPECT_EQ(json(EventTime::max()), R"("+inf")");
  using std::chrono::sys_days;
  constexpr auto day = sys_days{std::chrono::year{1969} / 12 / 31};
  EXPECT_EQ(text(day), "1969-12-31T00:00:00Z");
  EXPECT_EQ(text(day + 23h), "1969-12-31T23:00:00Z");
  EXPECT_EQ(text(std::chrono::steady_clock::time_point{5ns}), "5");
}

TEST(RowText, times_keep_their_fraction) {
  using std::chrono::sys_time;
  EXPECT_EQ(text(sys_time<std::chrono::microseconds>{1us}), "1970-01-01T00:00:00.000001Z");
  EXPECT_EQ(text(sys_time<std::chrono::nanoseconds>{-1ns}), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(text(sys_time<std::chrono::nanoseconds>{1500ms}), "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(text(sys_time<std::chrono::nanoseconds>{2s}), "1970-01-01T00:00:02Z");
}

TEST(RowText, times_too_far_for_milliseconds_are_infinite) {
  EXPECT_EQ(text(std::chrono::sys_seconds::max()), "+inf");
  EXPECT_EQ(text(std::chrono::sys_time<std::chrono::hours>::min()), "-inf");
  EXPECT_EQ(text(std::chrono::sys_time<std::chrono::nanoseconds>::min()),
            "1677-09-21T00:12:43.145224192Z");
}

TEST(RowText, csv_quotes_what_would_break_a_cell) {
  EXPECT_EQ(csv(std::string{"plain text"}), "plain text");
  EXPECT_EQ(csv(std::string{"a,b"}), R"("a,b")");
  EXPECT_EQ(csv(std::string{"say \"hi\""}), R"("say ""hi""")");
  EXPECT_EQ(csv(std::string{"two\nlines"}), "\"two\nlines\"");
  EXPECT_EQ(csv(std::string{"\r"}), "\"\r\"");
  EXPECT_EQ(csv(','), R"(",")");
  EXPECT_EQ(csv("literal"), "literal");
}

TEST(RowText, csv_tells_an_empty_string_from_none) {
  EXPECT_EQ(csv(std::string{}), R"("")");
  EXPECT_EQ(csv(Visit{"", noon, 1, std::nullopt}), R"("",2015-05-17T10:05:03Z,1,)");
}

TEST(RowText, csv_spreads_structs_over_columns) {
  Nested value{1, {"Oslo", 23}, std::nullopt, {2, 'x'}, {}};
  value.others = {{"Rome", 20}};
  EXPECT_EQ(csv_header<Nested>(),
            "id,place.city,place.height,former.city,former.height,mark.first,mark.second,others");
  EXPECT_EQ(csv(value), R"(1,Oslo,23,,,2,x,"[{""city"":""Rome"",""height"":20}]")");
}

TEST(RowText, csv_spreads_pairs_and_tuples) {
  EXPECT_EQ(csv(std::pair{std::string{"word"}, 3}), "word,3");
  EXPECT_EQ((csv_header<std::pair<std::string, int>>()), "first,second");
  EXPECT_EQ(csv(std::tuple{1, Place{"Oslo", 2.5}}), "1,Oslo,2.5");
  EXPECT_EQ((csv_header<std::tuple<int, Place>>()), "value0,value1.city,value1.height");
  EXPECT_EQ(csv(std::tuple<>{}), "");
}

TEST(RowText, csv_of_a_value_without_parts_is_one_column) {
  EXPECT_EQ(csv_header<int>(), "value");
  EXPECT_EQ(csv_header<EventTime>(), "value");
  EXPECT_EQ(csv_header<std::vector<Place>>(), "value");
  EXPECT_EQ(csv_header<CheckpointId>(), "value");
  EXPECT_EQ(csv(std::map<std::string, int>{{"a", 1}}), R"("{""a"":1}")");
  EXPECT_EQ(csv(std::vector<int>{1}), "[1]");
}

TEST(RowText, csv_puts_a_variant_into_one_cell) {
  using Choice = std::variant<std::monostate, int, std::string, Place>;
  EXPECT_EQ(csv_header<Choice>(), "value");
  EXPECT_EQ(csv(Choice{}), "");
  EXPECT_EQ(csv(Choice{5}), "5");
  EXPECT_EQ(csv(Choice{"a,b"}), R"("a,b")");
  EXPECT_EQ(csv(Choice{Place{"Oslo", 1}}), R"("{""city"":""Oslo"",""height"":1}")");
}

TEST(RowText, json_names_the_fields) {
  EXPECT_EQ(json(Visit{"10.0.0.1", noon, 200, "eu"}),
            R"({"address":"10.0.0.1","at":"2015-05-17T10:05:03Z","status":200,"region":"eu"})");
  EXPECT_EQ(json(Nested{1, {"Oslo", 23}, std::nullopt, {2, 'x'}, {}}),
            R"({"id":1,"place":{"city":"Oslo","height":23},"former":null,"mark":[2,"x"],)"
            R"("others":[]})");
  EXPECT_EQ(json(Empty{}), "{}");
}

TEST(RowText, json_of_containers_and_alternatives) {
  EXPECT_EQ(json(std::vector<std::optional<int>>{1, std::nullopt}), "[1,null]");
  EXPECT_EQ(json(std::vector<bool>{true, false}), "[true,false]");
  EXPECT_EQ(json(std::array<int, 0>{}), "[]");
  EXPECT_EQ(json(std::set<std::string>{"b", "a"}), R"(["a","b"])");
  EXPECT_EQ(json(std::map<std::string, int>{{"a\"", 1}, {"b", 2}}), R"({"a\"":1,"b":2})");
  EXPECT_EQ(json(std::unordered_map<std::string, int>{}), "{}");
  EXPECT_EQ(json(std::map<int, std::string>{{1, "x"}}), R"([[1,"x"]])");
  EXPECT_EQ((json(std::variant<std::monostate, int>{})), "null");
  EXPECT_EQ((json(std::variant<std::monostate, int>{1})), "1");
  EXPECT_EQ(json(std::tuple{}), "[]");
}

TEST(RowText, json_escapes_strings) {
  EXPECT_EQ(json(std::string{"a\"b\\c/\n\r\t"}), R"("a\"b\\c/\n\r\t")");
  EXPECT_EQ(json(std::string{"\0\x1f\x7f", 3}), "\"\\u0000\\u001f\x7f\"");
  EXPECT_EQ(json(std::string{}), R"("")");
}

TEST(RowText, json_keeps_valid_utf8) {
  for (const char* valid : {"é", "€", "😀", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "a\xc3\xa9z"}) {
    EXPECT_EQ(json(valid), '"' + std::string(valid) + '"');
  }
}

TEST(RowText, json_replaces_invalid_utf8) {
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(json("\xff"), '"' + bad + '"');
  EXPECT_EQ(json("a\x80z"), "\"a" + bad + "z\"");
  EXPECT_EQ(json("\xc3"), '"' + bad + '"');                      // cut off
  EXPECT_EQ(json("\xe2\x82x"), '"' + bad + "x\"");               // cut off, one replacement
  EXPECT_EQ(json("\xc0\xaf"), '"' + bad + bad + '"');            // overlong
  EXPECT_EQ(json("\xed\xa0\x80"), '"' + bad + bad + bad + '"');  // surrogate
  EXPECT_EQ(json("\xf4\x90\x80\x80"), '"' + bad + bad + bad + bad + '"');  // past U+10FFFF
}

TEST(RowText, any_bytes_become_valid_json) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Random random{seed};
  for (int round = 0; round < 5000; ++round) {
    std::string bytes(random.below(40), ' ');
    for (char& c : bytes) c = static_cast<char>(random.below(256));
    const std::string line = json(bytes);
    ASSERT_EQ(line.find('\n'), std::string::npos);
    if (line.find("\xef\xbf\xbd") == std::string::npos) {
      ASSERT_EQ(nlohmann::json::parse(line).get<std::string>(), bytes);
    }
  }
}

TEST(RowText, text_is_bare_on_top_and_bracketed_inside) {
  EXPECT_EQ(text(std::string{"as it, is"}), "as it, is");
  EXPECT_EQ(text(std::pair{std::string{"word"}, 3}), "word 3");
  EXPECT_EQ(text(Place{"Oslo", 23}), "city=Oslo height=23");
  Nested value{1, {"Oslo", 23}, std::nullopt, {2, 'x'}, {}};
  value.others = {{"Rome", 20}, {"Bern", 540}};
  EXPECT_EQ(text(value),
            "id=1 place={city=Oslo height=23} former=- mark=(2 x) "
            "others=[{city=Rome height=20}, {city=Bern height=540}]");
  EXPECT_EQ(text(std::map<int, std::string>{{1, "a"}, {2, "b"}}), "{1: a, 2: b}");
  EXPECT_EQ(text(std::optional{Place{"Oslo", 1}}), "city=Oslo height=1");
  EXPECT_EQ(text(std::optional<int>{}), "-");
}

TEST(RowText, text_stays_on_its_line) {
  EXPECT_EQ(text(std::string{"a\nb\r\n"}), "a\\nb\\r\\n");
  EXPECT_EQ(text(std::string{"\xff\\"}), "\xff\\");
}

TEST(RowText, a_class_is_written_by_its_to_string) {
  EXPECT_EQ(csv(Version{1, 2}), R"("1,2")");
  EXPECT_EQ(json(Version{1, 2}), R"("1,2")");
  EXPECT_EQ(text(std::vector{Version{1, 2}}), "[1,2]");
}

TEST(RowText, what_cannot_be_written_is_known_when_compiling) {
  static_assert(RowWritable<Nested> && RowWritable<Version> && RowWritable<std::vector<bool>>);
  static_assert(RowWritable<std::variant<std::monostate, Visit>> && RowWritable<std::string_view>);
  static_assert(!RowWritable<Closed> && !RowWritable<std::vector<Closed>>);
  static_assert(!RowWritable<std::map<int, Closed>> && !RowWritable<std::pair<int, int*>>);
  static_assert(!RowWritable<std::unique_ptr<int>> && !RowWritable<std::tuple<Closed>>);
}

}  // namespace
}  // namespace weir
