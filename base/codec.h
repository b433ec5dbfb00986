// How a value becomes bytes and comes back: for messages, snapshots and spilled data.
//
// A plain struct of encodable fields needs nothing; a class specialises Codec. The format:
//   bool, integers, char, enums   little-endian, as wide as the type; bool is 0 or 1
//   float, double                 their bits, so NaN payloads and -0.0 survive
//   duration, time_point          the count of ticks, as its representation type
//   string                        count (32 bits), characters
//   vector, deque                 count, elements in order
//   set, map and unordered ones   count, elements in the container's order
//   optional                      0, or 1 and the value
//   variant                       index (8 bits), value
//   pair, tuple, array, struct    the parts in order; without parts, one byte 0
// The bytes of two equal unordered containers may differ: compare the decoded values. Nothing takes
// no bytes, so every count is bounded by the bytes that remain. Types that contain themselves
// (struct Tree { std::vector<Tree> children; }) need a specialisation.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/reflect.h"
#include "base/result.h"

namespace weir {

// Specialise for a class, with
//   static void encode(ByteWriter&, const T&);        // writes at least one byte
//   static Result<T> decode(ByteReader&);             // Errc::corrupt_data, saying what was
//   expected
// and T default-constructible. Optional: `static Schema schema()`, see base/schema.h.
template <class T>
struct Codec;

// T can be encoded, with everything in it.
template <class T>
concept Encodable = std::default_initializable<T> && [] {
  if constexpr (requires { Codec<T>::parts_encodable; }) {
    return Codec<T>::parts_encodable;
  } else {
    return requires(ByteWriter & writer, const T& value, ByteReader& reader) {
      Codec<T>::encode(writer, value);
      { Codec<T>::decode(reader) } -> std::same_as<Result<T>>;
    };
  }
}();

template <class T>
void encode(ByteWriter& writer, const T& value) {
  Codec<T>::encode(writer, value);
}

// Reads into `value`, which is overwritten; after a failure, which sticks to `reader`, with
// anything.
template <class T>
void decode_into(ByteReader& reader, T& value) {
  if constexpr (requires { Codec<T>::read(reader, value); }) {
    Codec<T>::read(reader, value);
  } else {
    Result<T> result = Codec<T>::decode(reader);
    if (result) {
      value = *std::move(result);
    } else {
      reader.fail(result.error());
    }
  }
}

template <class T>
[[nodiscard]] Result<T> decode(ByteReader& reader) {
  T value{};
  decode_into(reader, value);
  if (!reader.ok()) return reader.error();
  return value;
}

template <class T>
[[nodiscard]] Bytes to_bytes(const T& value) {
  Bytes bytes;
  ByteWriter writer{bytes};
  encode(writer, value);
  return bytes;
}

// Fails also when bytes are left over.
template <class T>
[[nodiscard]] Result<T> from_bytes(std::span<const std::byte> bytes) {
  ByteReader reader{bytes};
  Result<T> result = decode<T>(reader);
  if (result && !reader.at_end()) reader.fail("the end");
  if (!reader.ok()) return reader.error();
  return result;
}

namespace codec_detail {

template <class T>
inline constexpr bool never = false;

// What the built-in codecs share: they read in place, and look at the reader's status at the end
// only.
template <class T>
struct ReadsInPlace {
  [[nodiscard]] static Result<T> decode(ByteReader& reader) { return weir::decode<T>(reader); }
};

// Fewest bytes that a T takes.
template <class T>
consteval std::size_t least_bytes() {
  if constexpr (requires { Codec<T>::least_bytes; })
    return Codec<T>::least_bytes;
  else
    return 1;
}

}  // namespace codec_detail

// Types without a codec end here.
template <class T>
struct Codec {
  static constexpr bool parts_encodable = false;
  static void encode(ByteWriter&, const T&) { explain(); }
  static void read(ByteReader&, T&) { explain(); }
  static Result<T> decode(ByteReader& reader) {
    explain();
    return reader.error();
  }

 private:
  static constexpr void explain() {
    if constexpr (std::is_pointer_v<T>) {
      static_assert(codec_detail::never<T>,
                    "weir: a pointer has no codec: store the value it points to");
    } else if constexpr (std::is_union_v<T>) {
      static_assert(codec_detail::never<T>, "weir: a union has no codec: use std::variant");
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
      reflect_detail::require_aggregate<T>();
    } else {
      static_assert(codec_detail::never<T>,
                    "weir: this type has no codec: make it an aggregate of encodable fields or "
                    "specialise weir::Codec for it");
    }
  }
};

template <Scalar T>
struct Codec<T> : codec_detail::ReadsInPlace<T> {
  static constexpr bool parts_encodable = true;
  static constexpr std::size_t least_bytes = sizeof(T);
  static void encode(ByteWriter& writer, T value) { writer.scalar(value); }
  static void read(ByteReader& reader, T& value) { value = reader.scalar<T>(); }
};

template <>
struct Codec<bool> : codec_detail::ReadsInPlace<bool> {
  static constexpr bool parts_encodable = true;
  static constexpr std::size_t least_bytes = 1;
  static void encode(ByteWriter& writer, bool value) { writer.scalar(value); }
  static void read(ByteReader& reader, bool& value) {
    const auto raw = reader.scalar<std::uint8_t>();
    if (raw > 1) reader.fail("a bool, which is 0 or 1");
    value = raw == 1;
  }
};

template <class Rep, class Period>
struct Codec<std::chrono::duration<Rep, Period>>
    : codec_detail::ReadsInPlace<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static constexpr bool parts_encodable = Scalar<Rep>;
  static constexpr std::size_t least_bytes = sizeof(Rep);
  static void encode(ByteWriter& writer, Duration value) { weir::encode(writer, value.count()); }
  static void read(ByteReader& reader, Duration& value) {
    Rep count{};
    decode_into(reader, count);
    value = Duration{count};
  }
};

template <class Clock, class Duration>
struct Codec<std::chrono::time_point<Clock, Duration>>
    : codec_detail::ReadsInPlace<std::chrono::time_point<Clock, Duration>> {
  using TimePoint = std::chrono::time_point<Clock, Duration>;
  static constexpr bool parts_encodable = Codec<Duration>::parts_encodable;
  static constexpr std::size_t least_bytes = Codec<Duration>::least_bytes;
  static void encode(ByteWriter& writer, TimePoint value) {
    weir::encode(writer, value.time_since_epoch());
  }
  static void read(ByteReader& reader, TimePoint& value) {
    Duration since_epoch{};
    decode_into(reader, since_epoch);
    value = TimePoint{since_epoch};
  }
};

template <>
struct Codec<std::string> : codec_detail::ReadsInPlace<std::string> {
  static constexpr bool parts_encodable = true;
  static constexpr std::size_t least_bytes = 4;
  static void encode(ByteWriter& writer, const std::string& value) { writer.text(value); }
  static void read(ByteReader& reader, std::string& value) { value = reader.text(); }
};

// The bytes of a T are those it has in memory, whatever its value: so many can be copied at once.
template <class T>
inline constexpr bool is_flat = [] {
  if constexpr (std::is_same_v<T, bool>)
    return false;
  else
    return Scalar<T>;
}();
template <class Rep, class Period>
inline constexpr bool is_flat<std::chrono::duration<Rep, Period>> = is_flat<Rep>;
template <class Clock, class Duration>
inline constexpr bool is_flat<std::chrono::time_point<Clock, Duration>> = is_flat<Duration>;
template <class T, std::size_t N>
inline constexpr bool is_flat<std::array<T, N>> = N > 0 && is_flat<T>;
// Without padding, and not with a codec of its own.
template <Aggregate T>
inline constexpr bool is_flat<T> = []<class... F>(std::type_identity<std::tuple<F...>>) {
  return requires {
    typename Codec<T>::EncodesByFields;
  }
  &&std::is_trivially_copyable_v<T> && (is_flat<F> && ...) && (sizeof(F) + ... + 0) == sizeof(T) &&
      sizeof...(F) > 0;
}(std::type_identity<FieldTypes<T>>{});

namespace codec_detail {

template <class T>
std::span<const std::byte> memory_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

// The parts one after the other. `each_part` calls its second argument with every part.
template <class... Parts>
struct InOrder {
  static constexpr bool parts_encodable = (Encodable<Parts> && ...);
  static constexpr std::size_t least_bytes =
      sizeof...(Parts) == 0 ? 1 : (codec_detail::least_bytes<Parts>() + ... + 0);
  static void encode(ByteWriter& writer, const Parts&... parts) {
    if constexpr (sizeof...(Parts) == 0) writer.scalar(std::uint8_t{0});
    (weir::encode(writer, parts), ...);
  }
  static void read(ByteReader& reader, Parts&... parts) {
    if constexpr (sizeof...(Parts) == 0) read_nothing(reader);
    (decode_into(reader, parts), ...);
  }

 private:
  static void read_nothing(ByteReader& reader) {
    if (reader.scalar<std::uint8_t>() != 0) reader.fail("the byte 0 of an empty value");
  }
};

template <class Tuple>
struct InOrderOf;
template <class... Parts>
struct InOrderOf<std::tuple<Parts...>> : InOrder<Parts...> {};

template <class T, class Parts>
struct TupleCodec : ReadsInPlace<T> {
  static constexpr bool parts_encodable = Parts::parts_encodable;
  static constexpr std::size_t least_bytes = Parts::least_bytes;
  static void encode(ByteWriter& writer, const T& value) {
    std::apply([&](const auto&... parts) { Parts::encode(writer, parts...); }, value);
  }
  static void read(ByteReader& reader, T& value) {
    std::apply([&](auto&... parts) { Parts::read(reader, parts...); }, value);
  }
};

// Containers, by what adds one element that is read from a reader.
template <class Container, class Element, class Add>
struct ContainerCodec : ReadsInPlace<Container> {
  static constexpr bool parts_encodable = Encodable<Element>;
  static constexpr std::size_t least_bytes = 4;
  static void encode(ByteWriter& writer, const Container& container) {
    writer.count(container.size());
    for (const auto& element : container) encode_element(writer, element);
  }
  static void read(ByteReader& reader, Container& container) {
    container.clear();
    const std::size_t count = reader.count(codec_detail::least_bytes<Element>());
    reserve(container, std::min(count, reader.remaining() / sizeof(Element) + 1));
    for (std::size_t i = 0; i < count && reader.ok(); ++i) Add::read(reader, container);
    if (reader.ok() && container.size() != count) reader.fail("keys that differ from one another");
  }

 private:
  static void encode_element(ByteWriter& writer, const Element& element) {
    weir::encode(writer, element);
  }
  // An entry of a map, whose key is const: in place, for it may be large.
  template <class Key, class Value>
  static void encode_element(ByteWriter& writer, const std::pair<const Key, Value>& entry) {
    InOrder<Key, Value>::encode(writer, entry.first, entry.second);
  }
  static void reserve(Container& container, std::size_t count) {
    if constexpr (requires { container.reserve(count); }) container.reserve(count);
  }
};

struct AddAtBack {
  template <class Sequence>
  static void read(ByteReader& reader, Sequence& sequence) {
    decode_into(reader, sequence.emplace_back());
  }
  static void read(ByteReader& reader, std::vector<bool>& bits) {
    bool bit = false;
    decode_into(reader, bit);
    bits.push_back(bit);
  }
};

// Keys of ordered containers come in order, so the end is where they go.
struct AddKey {
  template <class Set>
  static void read(ByteReader& reader, Set& set) {
    typename Set::key_type key{};
    decode_into(reader, key);
    if (reader.ok()) set.insert(set.end(), std::move(key));
  }
};

struct AddEntry {
  template <class Map>
  static void read(ByteReader& reader, Map& map) {
    typename Map::key_type key{};
    decode_into(reader, key);
    if (reader.ok()) decode_into(reader, map.try_emplace(map.end(), std::move(key))->second);
  }
};

}  // namespace codec_detail

template <Aggregate T>
struct Codec<T> : codec_detail::ReadsInPlace<T> {
  using EncodesByFields = void;
  using Parts = codec_detail::InOrderOf<FieldTypes<T>>;
  static constexpr bool parts_encodable = Parts::parts_encodable;
  static constexpr std::size_t least_bytes = Parts::least_bytes;
  static void encode(ByteWriter& writer, const T& value) {
    if constexpr (is_flat<T>) {
      writer.bytes(codec_detail::memory_of(value));
    } else {
      std::apply([&](const auto&... fields) { Parts::encode(writer, fields...); },
                 fields_of(value));
    }
  }
  static void read(ByteReader& reader, T& value) {
    std::apply([&](auto&... fields) { Parts::read(reader, fields...); }, fields_of(value));
  }
};

template <class First, class Second>
struct Codec<std::pair<First, Second>>
    : codec_detail::TupleCodec<std::pair<First, Second>, codec_detail::InOrder<First, Second>> {};

template <class... Parts>
struct Codec<std::tuple<Parts...>>
    : codec_detail::TupleCodec<std::tuple<Parts...>, codec_detail::InOrder<Parts...>> {};

template <class T, std::size_t N>
struct Codec<std::array<T, N>> : codec_detail::ReadsInPlace<std::array<T, N>> {
  static constexpr bool parts_encodable = Encodable<T>;
  static constexpr std::size_t least_bytes = N == 0 ? 1 : N * codec_detail::least_bytes<T>();
  static void encode(ByteWriter& writer, const std::array<T, N>& array) {
    if constexpr (N == 0) codec_detail::InOrder<>::encode(writer);
    for (const T& element : array) weir::encode(writer, element);
  }
  static void read(ByteReader& reader, std::array<T, N>& array) {
    if constexpr (N == 0) codec_detail::InOrder<>::read(reader);
    for (T& element : array) decode_into(reader, element);
  }
};

template <class T, class Allocator>
struct Codec<std::vector<T, Allocator>>
    : codec_detail::ContainerCodec<std::vector<T, Allocator>, T, codec_detail::AddAtBack> {
  using Vector = std::vector<T, Allocator>;
  using Elements = codec_detail::ContainerCodec<Vector, T, codec_detail::AddAtBack>;
  static void encode(ByteWriter& writer, const Vector& vector) {
    if constexpr (is_flat<T>) {
      writer.count(vector.size());
      writer.bytes(std::as_bytes(std::span(vector)));
    } else {
      Elements::encode(writer, vector);
    }
  }
  static void read(ByteReader& reader, Vector& vector) {
    if constexpr (is_flat<T>) {
      const std::size_t count = reader.count(sizeof(T));
      const std::span<const std::byte> raw = reader.bytes(count * sizeof(T));
      vector.clear();
      if (!reader.ok() || count == 0) return;
      // Where alignment allows it, without setting the elements to zero first.
      if (reinterpret_cast<std::uintptr_t>(raw.data()) % alignof(T) == 0) {
        const auto* first = reinterpret_cast<const T*>(raw.data());
        vector.assign(first, first + count);
      } else {
        vector.resize(count);
        std::memcpy(vector.data(), raw.data(), raw.size());
      }
    } else {
      Elements::read(reader, vector);
    }
  }
};

template <class T, class Allocator>
struct Codec<std::deque<T, Allocator>>
    : codec_detail::ContainerCodec<std::deque<T, Allocator>, T, codec_detail::AddAtBack> {};

template <class T, class... Policies>
struct Codec<std::set<T, Policies...>>
    : codec_detail::ContainerCodec<std::set<T, Policies...>, T, codec_detail::AddKey> {};

template <class T, class... Policies>
struct Codec<std::unordered_set<T, Policies...>>
    : codec_detail::ContainerCodec<std::unordered_set<T, Policies...>, T, codec_detail::AddKey> {};

template <class Key, class Value, class... Policies>
struct Codec<std::map<Key, Value, Policies...>>
    : codec_detail::ContainerCodec<std::map<Key, Value, Policies...>, std::pair<Key, Value>,
                                   codec_detail::AddEntry> {};

template <class Key, class Value, class... Policies>
struct Codec<std::unordered_map<Key, Value, Policies...>>
    : codec_detail::ContainerCodec<std::unordered_map<Key, Value, Policies...>,
                                   std::pair<Key, Value>, codec_detail::AddEntry> {};

template <class T>
struct Codec<std::optional<T>> : codec_detail::ReadsInPlace<std::optional<T>> {
  static constexpr bool parts_encodable = Encodable<T>;
  static constexpr std::size_t least_bytes = 1;
  static void encode(ByteWriter& writer, const std::optional<T>& value) {
    writer.scalar(value.has_value());
    if (value) weir::encode(writer, *value);
  }
  static void read(ByteReader& reader, std::optional<T>& value) {
    bool present = false;
    decode_into(reader, present);
    value.reset();
    if (present) decode_into(reader, value.emplace());
  }
};

template <class... Ts>
struct Codec<std::variant<Ts...>> : codec_detail::ReadsInPlace<std::variant<Ts...>> {
  using Variant = std::variant<Ts...>;
  static_assert(sizeof...(Ts) <= 256, "weir: a variant can have at most 256 alternatives");
  static constexpr bool parts_encodable = (Encodable<Ts> && ...);
  static constexpr std::size_t least_bytes = 2;
  // Requires that the variant holds a value.
  static void encode(ByteWriter& writer, const Variant& value) {
    WEIR_CHECK(!value.valueless_by_exception());
    writer.scalar(static_cast<std::uint8_t>(value.index()));
    std::visit([&](const auto& held) { weir::encode(writer, held); }, value);
  }
  static void read(ByteReader& reader, Variant& value) {
    const std::size_t index = reader.scalar<std::uint8_t>();
    if (index >= sizeof...(Ts)) {
      reader.fail("a variant's index below " + std::to_string(sizeof...(Ts)));
      return;
    }
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((I == index ? decode_into(reader, value.template emplace<I>()) : void()), ...);
    }
    (std::index_sequence_for<Ts...>{});
  }
};

}  // namespace weir
