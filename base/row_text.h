// How a value is written as one line for people and other programs: CSV, JSON and plain text.
//
//                    CSV                        JSON                    text
//   string           as it is, quoted if needed "…", invalid UTF-8 as   as it is
//                    (RFC 4180); "" if empty    U+FFFD                  line ends as \n, \r
//   char             as a string of one character
//   numbers, enums   shortest decimal that reads back as the same; an enum by its integer, or as
//                    the string that name_of(value), found in its namespace, returns
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
#include <ratio>
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
template <class Period>
inline constexpr bool is_whole_milliseconds = std::ratio_divide<Period, std::milli>::den == 1;

template <class T>
inline constexpr bool is_system_time =
    std::same_as<T, EventTime> || std::same_as<T, ProcessingTime>;
template <std::integral Rep, class Period>
inline constexpr bool is_system_time<
    std::chrono::time_point<std::chrono::system_clock, std::chrono::duration<Rep, Period>>> =
    is_whole_milliseconds<Period> || Period::num == 1;

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
concept Since = requires(const T& value) {
  value.time_since_epoch().count();
};
template <class T>
concept Range = requires(const T& range) {
  range.begin();
  range.end();
  typename T::value_type;
};
template <class T>
concept MapLike = Range<T> && requires {
  typename T::mapped_type;
};
template <class T>
concept Shown = requires(const T& value) {
  { to_string(value) } -> std::convertible_to<std::string>;
};

template <class T>
concept NamedEnum = std::is_enum_v<T> && requires(const T& value) {
  { name_of(value) } -> std::convertible_to<std::string_view>;
};

template <class T>
inline constexpr bool is_id = false;
template <class Tag, class Rep>
inline constexpr bool is_id<StrongId<Tag, Rep>> = true;

template <class T>
concept Numeric = Number<T> || std::is_enum_v<T> || Counted<T> || Since<T> || is_id<T>;

// The number that a value is written as.
template <Numeric T>
[[nodiscard]] constexpr auto number_of(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<std::underlying_type_t<T>>(value);
  } else if constexpr (Counted<T>) {
    return value.count();
  } else if constexpr (Since<T>) {
    return value.time_since_epoch().count();
  } else if constexpr (is_id<T>) {
    return value.value;
  } else {
    return value;
  }
}

template <class T>
void append_number(std::string& out, T value) {
  char digits[64];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

// The library's own arithmetic overflows near the ends of what a time_point can hold: so by ticks.
template <class Rep, class Period>
void append_time(std::string& out, std::chrono::sys_time<std::chrono::duration<Rep, Period>> at) {
  const std::int64_t ticks = at.time_since_epoch().count();
  if constexpr (is_whole_milliseconds<Period>) {
    constexpr std::int64_t ms_per_tick = std::ratio_divide<Period, std::milli>::num;
    std::int64_t ms = 0;
    const bool overflows = __builtin_mul_overflow(ticks, ms_per_tick, &ms);
    if (overflows) ms = ticks > 0 ? EventTime::max().ms : EventTime::min().ms;
    out += to_string(EventTime{ms});
  } else {
    const std::int64_t of_second = (ticks % Period::den + Period::den) % Period::den;
    const std::int64_t second = ticks / Period::den - (ticks % Period::den < 0 ? 1 : 0);
    const std::chrono::duration<std::int64_t, Period> rest{of_second};
    append_time(out, EventTime{second * 1000},
                std::chrono::duration_cast<std::chrono::nanoseconds>(rest).count());
  }
}
inline void append_time(std::string& out, EventTime at) {
  out += to_string(at);
}
inline void append_time(std::string& out, ProcessingTime at) {
  out += to_string(EventTime{at.ms});
}

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
constexpr void explain() {
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
    if constexpr (Null<T>)
      out_ += Style::null;
    else if constexpr (TextLike<T>)
      Style::append_string(out_, value);
    else if constexpr (std::same_as<T, char>)
      Style::append_string(out_, {&value, 1});
    else if constexpr (std::same_as<T, bool>)
      out_ += value ? "true" : "false";
    else if constexpr (Time<T>)
      time(value);
    else if constexpr (NamedEnum<T>)
      Style::append_string(out_, name_of(value));
    else if constexpr (Numeric<T>)
      number(number_of(value));
    else if constexpr (is_optional<T>)
      optional(value, on_top);
    else if constexpr (is_variant<T>)
      variant(value, on_top);
    else if constexpr (is_tuple<T>)
      tuple(value, on_top);
    else if constexpr (MapLike<T>)
      map(value);
    else if constexpr (Range<T>)
      list(value);
    else if constexpr (Aggregate<T>)
      record(value, on_top);
    else if constexpr (Shown<T>)
      Style::append_string(out_, to_string(value));
    else
      explain<T>();
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
    if (optional)
      value(*optional, on_top);
    else
      out_ += Style::null;
  }

  template <class T>
  void variant(const T& variant, bool on_top) {
    if (variant.valueless_by_exception())
      out_ += Style::null;
    else
      std::visit([&](const auto& held) { value(held, on_top); }, variant);
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

// The rest is CSV: what has parts is spread over columns, all else is a cell.
template <class T>
concept Spread = is_tuple<T> ||
    (Aggregate<T> && !Null<T> && !Time<T> && !is_id<T> && !TextLike<T> && !Range<T>);

template <Spread T>
[[nodiscard]] constexpr auto parts_of(const T& value) {
  if constexpr (Aggregate<T>)
    return fields_of(value);
  else
    return std::apply([](const auto&... part) { return std::tie(part...); }, value);
}

template <Spread T>
using PartTypes = decltype(parts_of(std::declval<const T&>()));

// Calls f.operator()<Part>(i) for the types of the parts.
template <Spread T, class F>
constexpr void for_each_part_type(F&& f) {
  using Parts = PartTypes<T>;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (f.template operator()<std::remove_cvref_t<std::tuple_element_t<I, Parts>>>(I), ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Parts>>{});
}

template <Spread T>
[[nodiscard]] std::string part_name(std::size_t index) {
  if constexpr (Aggregate<T>)
    return std::string(field_names<T>()[index]);
  else if constexpr (requires(T pair) { pair.first; })
    return index == 0 ? "first" : "second";
  else
    return "value" + std::to_string(index);
}

template <class T>
[[nodiscard]] constexpr std::size_t column_count() {
  if constexpr (is_optional<T>) {
    return column_count<typename T::value_type>();
  } else if constexpr (Spread<T>) {
    std::size_t count = 0;
    for_each_part_type<T>([&]<class Part>(std::size_t) { count += column_count<Part>(); });
    return count;
  } else {
    return 1;
  }
}

// Appends the names of T's columns; `path` leads to T.
template <class T>
void append_column_names(std::string& header, const std::string& path) {
  if constexpr (is_optional<T>) {
    append_column_names<typename T::value_type>(header, path);
  } else if constexpr (Spread<T>) {
    for_each_part_type<T>([&]<class Part>(std::size_t index) {
      const std::string name = part_name<T>(index);
      append_column_names<Part>(header, path.empty() ? name : path + '.' + name);
    });
  } else {
    if (!header.empty()) header += ',';
    header += path.empty() ? "value" : path;
  }
}

class CsvLine {
 public:
  explicit CsvLine(std::string& out) : out_(out) {}

  template <class T>
  void columns(const T& value) {
    if constexpr (is_optional<T>) {
      if (value)
        columns(*value);
      else
        empty_cells(column_count<T>());
    } else if constexpr (Spread<T>) {
      std::apply([&](const auto&... part) { (columns(part), ...); }, parts_of(value));
    } else {
      next_cell();
      content(value);
    }
  }

 private:
  void next_cell() { out_ += std::exchange(separator_, ","); }

  void empty_cells(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) next_cell();
  }

  template <class T>
  void content(const T& value) {
    if constexpr (Null<T>)
      return;
    else if constexpr (TextLike<T>)
      append_csv_cell(out_, value);
    else if constexpr (std::same_as<T, char>)
      append_csv_cell(out_, {&value, 1});
    else if constexpr (NamedEnum<T>)
      append_csv_cell(out_, name_of(value));
    else if constexpr (is_optional<T>)
      value ? content(*value) : void();
    else if constexpr (is_variant<T>)
      alternative(value);
    else if constexpr (Range<T> || Spread<T>)
      json_in_cell(value);
    else if constexpr (Shown<T> && !Time<T>)
      append_csv_cell(out_, to_string(value));
    else
      append_text(out_, value);  // a number, bool or time: nothing to quote
  }

  template <class Variant>
  void alternative(const Variant& variant) {
    if (variant.valueless_by_exception()) return;
    std::visit([&](const auto& held) { content(held); }, variant);
  }

  template <class T>
  void json_in_cell(const T& value) {
    std::string json;
    append_json(json, value);
    append_csv_cell(out_, json);
  }

  std::string& out_;
  std::string_view separator_;
};

}  // namespace row_text_detail

// One line of CSV. Every T has the same number of cells, whatever its value.
template <class T>
void append_csv(std::string& out, const T& value) {
  row_text_detail::CsvLine{out}.columns(value);
}

// The names of the columns that append_csv writes; "value" if T has no parts.
template <class T>
[[nodiscard]] std::string csv_header() {
  std::string header;
  row_text_detail::append_column_names<T>(header, {});
  return header;
}

namespace row_text_detail {

template <class T>
[[nodiscard]] consteval bool is_writable();

template <class... Ts>
[[nodiscard]] consteval bool all_writable(std::type_identity<std::variant<Ts...>>) {
  return (is_writable<Ts>() && ...);
}
template <class... Ts>
[[nodiscard]] consteval bool all_writable(std::type_identity<std::tuple<Ts...>>) {
  return (is_writable<std::remove_cvref_t<Ts>>() && ...);
}

template <class T>
[[nodiscard]] consteval bool is_writable() {
  if constexpr (Null<T> || TextLike<T> || Time<T> || std::is_arithmetic_v<T> || Numeric<T>) {
    return true;
  } else if constexpr (is_optional<T> || Range<T>) {
    return is_writable<typename T::value_type>();
  } else if constexpr (is_variant<T>) {
    return all_writable(std::type_identity<T>{});
  } else if constexpr (Spread<T>) {
    return all_writable(std::type_identity<PartTypes<T>>{});
  } else {
    return Shown<T>;
  }
}

}  // namespace row_text_detail

// T can be written, with everything in it.
template <class T>
concept RowWritable = row_text_detail::is_writable<T>();

}  // namespace weir
