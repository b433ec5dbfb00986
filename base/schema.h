// What a value's encoding consists of, as data: stored beside state, so that a program that wants
// to read it back can first be told whether its types still are those that were written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/reflect.h"

namespace weir {

enum class SchemaKind : std::uint8_t {
  boolean,
  character,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float32,
  float64,
  string,
  enumeration,  // name: the type; field: its integer
  duration,     // name: seconds per tick as a fraction; field: the count
  time_point,   // name: the clock; field: the duration
  optional,     // field: the value
  list,         // field: the element; vector or deque
  array,        // name: the number of elements; field: the element
  set,          // field: the element; ordered or not
  map,          // fields: key and value; ordered or not
  tuple,        // fields: the parts; pair or tuple
  variant,      // fields: the alternatives
  record,       // name: the type; fields: with their names
  opaque,       // name: the type; a class with a codec that does not say more
};

// A value. Equal schemas mean equal encodings, as far as opaque classes keep theirs; a renamed type
// or field makes a difference, for to the reader it is another one.
struct Schema {
  struct Field;

  SchemaKind kind{};
  std::string name;
  std::vector<Field> fields;

  friend bool operator==(const Schema& a, const Schema& b);
};

struct Schema::Field {
  std::string name;  // empty unless the schema is a record
  Schema schema;
  friend bool operator==(const Field&, const Field&) = default;
};

// On one line: app::Visit{address: string, at: weir::EventTime{ms: int64}, tags: map<string,
// int32>}.
[[nodiscard]] std::string to_string(const Schema& schema);

// The name in that text, such as "int64".
[[nodiscard]] std::string_view name_of(SchemaKind kind);

template <>
struct Codec<Schema> {
  static void encode(ByteWriter& writer, const Schema& schema);
  static Result<Schema> decode(ByteReader& reader);
};

namespace schema_detail {
template <class T>
struct Describe;
}

// A class with its own codec is described by Codec<T>::schema() if there is one, else opaque.
template <Encodable T>
[[nodiscard]] Schema schema_of() {
  if constexpr (requires { Codec<T>::schema(); }) {
    return Codec<T>::schema();
  } else if constexpr (requires { Codec<T>::parts_encodable; }) {
    return schema_detail::Describe<T>::schema();
  } else {
    return {SchemaKind::opaque, std::string(type_name<T>()), {}};
  }
}

namespace schema_detail {

template <class... Parts>
[[nodiscard]] Schema of_parts(SchemaKind kind, std::string_view name = {}) {
  Schema schema{kind, std::string(name), {}};
  (schema.fields.push_back({{}, schema_of<Parts>()}), ...);
  return schema;
}

template <class T>
[[nodiscard]] constexpr SchemaKind integer_kind() {
  constexpr bool is_signed = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return is_signed ? SchemaKind::int8 : SchemaKind::uint8;
    case 2:
      return is_signed ? SchemaKind::int16 : SchemaKind::uint16;
    case 4:
      return is_signed ? SchemaKind::int32 : SchemaKind::uint32;
    default:
      return is_signed ? SchemaKind::int64 : SchemaKind::uint64;
  }
}

template <class T>
[[nodiscard]] constexpr SchemaKind number_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return SchemaKind::boolean;
  else if constexpr (std::is_same_v<T, char>)
    return SchemaKind::character;
  else if constexpr (std::is_same_v<T, float>)
    return SchemaKind::float32;
  else if constexpr (std::is_same_v<T, double>)
    return SchemaKind::float64;
  else
    return integer_kind<T>();
}

// Numbers and enums.
template <class T>
struct Describe {
  static Schema schema() {
    if constexpr (std::is_enum_v<T>) {
      return of_parts<std::underlying_type_t<T>>(SchemaKind::enumeration, type_name<T>());
    } else {
      return {number_kind<T>(), {}, {}};
    }
  }
};

template <Aggregate T>
struct Describe<T> {
  static Schema schema() {
    Schema schema = of_fields(std::type_identity<FieldTypes<T>>{});
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      schema.fields[i].name = field_names<T>()[i];
    }
    return schema;
  }

 private:
  template <class... F>
  static Schema of_fields(std::type_identity<std::tuple<F...>>) {
    return of_parts<F...>(SchemaKind::record, type_name<T>());
  }
};

template <>
struct Describe<std::string> {
  static Schema schema() { return {SchemaKind::string, {}, {}}; }
};

template <class Rep, class Period>
struct Describe<std::chrono::duration<Rep, Period>> {
  static Schema schema() {
    return of_parts<Rep>(SchemaKind::duration,
                         std::to_string(Period::num) + "/" + std::to_string(Period::den));
  }
};

template <class Clock, class Duration>
struct Describe<std::chrono::time_point<Clock, Duration>> {
  static Schema schema() {
    constexpr bool is_system = std::is_same_v<Clock, std::chrono::system_clock>;
    return of_parts<Duration>(SchemaKind::time_point,
                              is_system ? "system_clock" : type_name<Clock>());
  }
};

template <class T>
struct Describe<std::optional<T>> {
  static Schema schema() { return of_parts<T>(SchemaKind::optional); }
};

template <class T, std::size_t N>
struct Describe<std::array<T, N>> {
  static Schema schema() { return of_parts<T>(SchemaKind::array, std::to_string(N)); }
};

template <class T, class Allocator>
struct Describe<std::vector<T, Allocator>> {
  static Schema schema() { return of_parts<T>(SchemaKind::list); }
};
template <class T, class Allocator>
struct Describe<std::deque<T, Allocator>> {
  static Schema schema() { return of_parts<T>(SchemaKind::list); }
};

template <class T, class... Policies>
struct Describe<std::set<T, Policies...>> {
  static Schema schema() { return of_parts<T>(SchemaKind::set); }
};
template <class T, class... Policies>
struct Describe<std::unordered_set<T, Policies...>> {
  static Schema schema() { return of_parts<T>(SchemaKind::set); }
};

template <class Key, class Value, class... Policies>
struct Describe<std::map<Key, Value, Policies...>> {
  static Schema schema() { return of_parts<Key, Value>(SchemaKind::map); }
};
template <class Key, class Value, class... Policies>
struct Describe<std::unordered_map<Key, Value, Policies...>> {
  static Schema schema() { return of_parts<Key, Value>(SchemaKind::map); }
};

template <class First, class Second>
struct Describe<std::pair<First, Second>> {
  static Schema schema() { return of_parts<First, Second>(SchemaKind::tuple); }
};
template <class... Parts>
struct Describe<std::tuple<Parts...>> {
  static Schema schema() { return of_parts<Parts...>(SchemaKind::tuple); }
};

template <class... Ts>
struct Describe<std::variant<Ts...>> {
  static Schema schema() { return of_parts<Ts...>(SchemaKind::variant); }
};

}  // namespace schema_detail
}  // namespace weir
