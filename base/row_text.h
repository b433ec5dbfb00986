// How a value is written as one line for people and other programs: CSV, JSON and plain text.
//
//                    CSV                        JSON                    text
//   string           as it is, quoted if needed "…", invalid UTF-8 as   as it is
//                    (RFC 4180); "" if empty    U+FFFD                  line ends as \n, \r
//   char             as a string of one character
//   numbers, enums   shortest decimal that reads back as the same; an enum by its integer
//   NaN, infinities  nan, inf                   null                    nan, inf
//   bool             true, false                true, false             true, false
//   EventTime, ProcessingTime, system_clock time points: ISO 8601 in UTC, see base/time.h
//   duration, id, other time points: their number of ticks, their number
//   struct           a column per field, those  {"name":value,…}        name=value … with a space
//                    of nested ones as a.b                              between, {…} if nested
//   pair, tuple      a column per part          [value,…]               values with a space
//                                                                       between, (…) if nested
//   optional         as its value; empty cells  as its value, null      as its value, -
//   variant          as its value, in one cell  as its value            as its value
//   monostate        empty cell                 null                    -
//   vector, set, …   one cell of JSON           [value,…]               [value, …]
//   map              one cell of JSON           {"key":value,…}, or     {key: value, …}
//                                               [[key,value],…] unless
//                                               keys are strings
// Another class is written as the string that to_string(value), found in its namespace, returns.
// No line end is appended. Text is for reading: unlike the others it cannot be parsed back.
#pragma once

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "base/reflect.h"
#include "base/time.h"

namespace weir {

namespace row_text_detail {

void append_json_string(std::string& out, std::string_view text);
void append_csv_cell(std::string& out, std::string_view text);
void append_plain_string(std::string& out, std::string_view text);
// `nanoseconds` of the second that begins at `second`, from 0 to 999,999,999.
void append_time(std::string& out, EventTime second, std::int64_t nanoseconds);

template <class T>
inline constexpr bool never = false;

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... Ts>
inline constexpr bool is_variant<std::variant<Ts...>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class First, class Second>
inline constexpr bool is_tuple<std::pair<First, Second>> = true;
template <class... Ts>
inline constexpr bool is_tuple<std::tuple<Ts...>> = true;
template <class T>
inline constexpr bool is_system_time = std::same_as<T, EventTime> || std::same_as<T, ProcessingTime>;
template <std::integral Rep, class Period>
inline constexpr bool is_system_time<
    std::chrono::time_point<std::chrono::system_clock, std::chrono::duration<Rep, Period>>> = true;

// Tells the kinds of values apart; earlier ones win.
template <class T>
concept Null = std::same_as<T, std::monostate>;
template <class T>
concept TextLike = std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept Time = is_system_time<T>;
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool> && !std::same_as<T, char>;
template <class T>
concept Counted = requires(const T& value) {
  value.count();
  typename T::rep;
  typename T::period;
};
template <class T>
concept Since = requires(const T& value) { value.time_since_epoch().count(); };
template <class T>
concept Range = requires(const T& range) {
  range.begin();
  range.end();
  typename T::value_type;
};
template <class T>
concept MapLike = Range<T> && requires { typename T::mapped_type; };
template <class T>
concept Shown = requires(const T& value) {
  { to_string(value) } -> std::convertible_to<std::string>;
};

template <class T>
inline constexpr bool is_id = false;
template <class Tag, class Rep>
inline constexpr bool is_id<StrongId<Tag, Rep>> = true;

template <class T>
void append_number(std::string& out, T value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

template <class Rep, class Period>
void append_time(std::string& out, std::chrono::sys_time<std::chrono::duration<Rep, Period>> at) {
  using PerMillisecond = std::ratio_divide<Period, std::milli>;
  if constexpr (PerMillisecond::den == 1) {
    // Not by EventTime::of, which overflows for far times of coarse ticks.
    const std::int64_t ticks = at.time_since_epoch().count();
    std::int64_t ms = 0;
    const bool overflows = __builtin_mul_overflow(ticks, PerMillisecond::num, &ms);
    out += to_string(!overflows  ? EventTime{ms}
                     : ticks > 0 ? EventTime::max()
                                 : EventTime::min());
  } else {
    const auto second = std::chrono::floor<std::chrono::seconds>(at);
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(at - second);
    append_time(out, EventTime::of(second), rest.count());
  }
}
inline void append_time(std::string& out, EventTime at) { out += to_string(at); }
inline void append_time(std::string& out, ProcessingTime at) { out += to_string(EventTime{at.ms}); }

// What JSON and text have in common is the walk over the value, below; what they differ in is here.
struct Json {
  static constexpr std::string_view null = "null", comma = ",", colon = ":";
  static constexpr std::string_view open_record = "{", close_record = "}", next_field = ",";
  static constexpr std::string_view open_tuple = "[", close_tuple = "]", next_part = ",";
  static constexpr bool bare_on_top = false;
  static constexpr bool has_nan = false;
  template <class Key>
  static constexpr bool is_map_key = TextLike<Key>;

  static void append_string(std::string& out, std::string_view text) {
    append_json_string(out, text);
  }
  static void append_name(std::string& out, std::string_view name) {
    out.append(1, '"').append(name).append("\":");
  }
};

struct Plain {
  static constexpr std::string_view null = "-", comma = ", ", colon = ": ";
  static constexpr std::string_view open_record = "{", close_record = "}", next_field = " ";
  static constexpr std::string_view open_tuple = "(", close_tuple = ")", next_part = " ";
  static constexpr bool bare_on_top = true;
  static constexpr bool has_nan = true;
  template <class Key>
  static constexpr bool is_map_key = true;

  static void append_string(std::string& out, std::string_view text) {
    append_plain_string(out, text);
  }
  static void append_name(std::string& out, std::string_view name) {
    out.append(name).append(1, '=');
  }
};

template <class T>
consteval void explain() {
  if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
    reflect_detail::require_aggregate<T>();
  } else {
    static_assert(never<T>,
                  "weir: this type cannot be written as text: make it an aggregate of such fields "
                  "or give it a to_string(const T&) in its namespace");
  }
}

template <class Style>
class Walk {
 public:
  explicit Walk(std::string& out) : out_(out) {}

  template <class T>
  void value(const T& value, bool on_top = false) {
    if constexpr (Null<T>) out_ += Style::null;
    else if constexpr (TextLike<T>) Style::append_string(out_, value);
    else if constexpr (std::same_as<T, char>) Style::append_string(out_, {&value, 1});
    else if constexpr (std::same_as<T, bool>) out_ += value ? "true" : "false";
    else if constexpr (Time<T>) time(value);
    else if constexpr (Number<T>) number(value);
    else if constexpr (std::is_enum_v<T>) number(static_cast<std::underlying_type_t<T>>(value));
    else if constexpr (Counted<T>) number(value.count());
    else if constexpr (Since<T>) number(value.time_since_epoch().count());
    else if constexpr (is_id<T>) number(value.value);
    else if constexpr (is_optional<T>) optional(value, on_top);
    else if constexpr (is_variant<T>) variant(value, on_top);
    else if constexpr (is_tuple<T>) tuple(value, on_top);
    else if constexpr (MapLike<T>) map(value);
    else if constexpr (Range<T>) list(value);
    else if constexpr (Aggregate<T>) record(value, on_top);
    else if constexpr (Shown<T>) Style::append_string(out_, to_string(value));
    else explain<T>();
  }

 private:
  template <class T>
  void number(T value) {
    if constexpr (std::is_floating_point_v<T> && !Style::has_nan) {
      if (value - value != 0) {  // NaN or infinite
        out_ += Style::null;
        return;
      }
    }
    append_number(out_, value);
  }

  template <class T>
  void time(const T& value) {
    std::string text;
    append_time(text, value);
    Style::append_string(out_, text);
  }

  template <class T>
  void optional(const T& optional, bool on_top) {
    if (optional) value(*optional, on_top);
    else out_ += Style::null;
  }

  template <class T>
  void variant(const T& variant, bool on_top) {
    if (variant.valueless_by_exception()) out_ += Style::null;
    else std::visit([&](const auto& held) { value(held, on_top); }, variant);
  }

  template <class T>
  void tuple(const T& parts, bool on_top) {
    const bool bare = on_top && Style::bare_on_top;
    if (!bare) out_ += Style::open_tuple;
    std::string_view separator;
    std::apply([&](const auto&... part) { (separated(separator, Style::next_part, part), ...); },
               parts);
    if (!bare) out_ += Style::close_tuple;
  }

  template <class Range>
  void list(const Range& range) {
    out_ += '[';
    std::string_view separator;
    for (const typename Range::value_type& element : range) {
      separated(separator, Style::comma, element);
    }
    out_ += ']';
  }

  template <class Map>
  void map(const Map& map) {
    if constexpr (Style::template is_map_key<typename Map::key_type>) {
      out_ += '{';
      std::string_view separator;
      for (const auto& [key, mapped] : map) {
        separated(separator, Style::comma, key);
        out_ += Style::colon;
        value(mapped);
      }
      out_ += '}';
    } else {
      list(map);
    }
  }

  template <class T>
  void record(const T& record, bool on_top) {
    const bool bare = on_top && Style::bare_on_top;
    if (!bare) out_ += Style::open_record;
    std::string_view separator;
    for_each_field(record, [&](std::string_view name, const auto& field) {
      out_ += std::exchange(separator, Style::next_field);
      Style::append_name(out_, name);
      value(field);
    });
    if (!bare) out_ += Style::close_record;
  }

  template <class T>
  void separated(std::string_view& separator, std::string_view next, const T& part) {
    out_ += std::exchange(separator, next);
    value(part);
  }

  std::string& out_;
};

}  // namespace row_text_detail

// One JSON value on one line.
template <class T>
void append_json(std::string& out, const T& value) {
  row_text_detail::Walk<row_text_detail::Json>{out}.value(value);
}

// One line of plain text.
template <class T>
void append_text(std::string& out, const T& value) {
  row_text_detail::Walk<row_text_detail::Plain>{out}.value(value, true);
}

namespace row_text_detail {

// A type that is several columns has one `CsvColumns` over each of its parts.
template <class T>
struct CsvColumns {
  static constexpr std::size_t count = 1;
  static void names(std::vector<std::string>& names, const std::string& path) {
    names.push_back(path.empty() ? "value" : path);
  }
};

inline std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + '.' + std::string(name);
}

template <class... Parts>
struct CsvColumnsOf {
  static constexpr std::size_t count = (CsvColumns<Parts>::count + ... + 0);
  template <class Names>
  static void names(std::vector<std::string>& names, const std::string& path,
                    [[maybe_unused]] const Names& part_names) {
    [[maybe_unused]] std::size_t i = 0;
    (CsvColumns<Parts>::names(names, joined(path, part_names[i++])), ...);
  }
};

}  // namespace row_text_detail
}  // namespace weir
