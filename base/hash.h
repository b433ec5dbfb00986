// The hash by which records are routed and state is found, and the equality that goes with it.
//
// Part of the savepoint format: a value must have the same hash in every version and process, so
// nothing here is std::hash. The key group is taken from the high 32 bits, the slot in a table from
// the low ones; 0 is a hash like any other (it is that of 0). By type:
//   integers, char, bool, enums     widened to 64 bits, by sign if signed; then mix64
//   duration, time_point,           the count of ticks, as an integer or floating-point number
//   EventTime, ProcessingTime, ids
//   float, double                   the bits of the double, with -0 as +0 and one NaN; then mix64
//   string, string_view             XXH3, 64 bits, seed 0
//   pair, tuple, array, struct      h = seed; for every part in order, h = mix64(h ^ hash(part))
//   vector                          so, with the size as the first part
//   optional                        so, with the value as the only part if there is one
//   variant                         so, with the index and the value as parts
// where seed is 0x9e3779b97f4a7c15. So an int32 and an int64 of one value have one hash, as have +0
// and -0, and all NaNs.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): xxHash's own switch
#include <xxhash.h>

#include "base/ids.h"
#include "base/reflect.h"
#include "base/time.h"

namespace weir {

// Bijective; every bit of x changes about half the bits of the result.
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93;
  x ^= x >> 32;
  return x;
}

// Specialise for a class that is no aggregate and shall be a key, with
//   static KeyHash hash(const T&);                    // equal values have equal hashes, for ever
//   static bool equal(const T&, const T&);
template <class T>
struct KeyTraits;

// T can be a key, with everything in it.
template <class T>
concept Hashable = [] {
  if constexpr (requires { KeyTraits<T>::parts_hashable; }) {
    return KeyTraits<T>::parts_hashable;
  } else {
    return requires(const T& value) {
      { KeyTraits<T>::hash(value) } -> std::same_as<KeyHash>;
      { KeyTraits<T>::equal(value, value) } -> std::same_as<bool>;
    };
  }
}();

[[nodiscard]] inline KeyHash hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

template <class T>
requires(!std::is_convertible_v<const T&, std::string_view>) [[nodiscard]] constexpr KeyHash
    hash_of(const T& value) {
  return KeyTraits<T>::hash(value);
}

// Equality of keys: as ==, but NaN equals NaN, and for structs field by field. -0 equals +0.
template <class T>
[[nodiscard]] constexpr bool keys_equal(const T& a, const T& b) {
  return KeyTraits<T>::equal(a, b);
}

namespace hash_detail {

inline constexpr std::uint64_t seed = 0x9e3779b97f4a7c15;

template <class T>
inline constexpr bool never = false;

template <class T>
inline constexpr bool is_map_or_set = false;
template <class... P>
inline constexpr bool is_map_or_set<std::map<P...>> = true;
template <class... P>
inline constexpr bool is_map_or_set<std::set<P...>> = true;
template <class... P>
inline constexpr bool is_map_or_set<std::unordered_map<P...>> = true;
template <class... P>
inline constexpr bool is_map_or_set<std::unordered_set<P...>> = true;

[[nodiscard]] constexpr KeyHash combined(KeyHash so_far, KeyHash part) {
  return mix64(so_far ^ part);
}

template <class... Parts>
[[nodiscard]] constexpr KeyHash hash_in_order(const Parts&... parts) {
  KeyHash hash = seed;
  ((hash = combined(hash, hash_of(parts))), ...);
  return hash;
}

template <class Tuple>
[[nodiscard]] constexpr KeyHash hash_parts(const Tuple& parts) {
  return std::apply([](const auto&... part) { return hash_in_order(part...); }, parts);
}

template <class Tuple>
[[nodiscard]] constexpr bool parts_equal(const Tuple& a, const Tuple& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (keys_equal(std::get<I>(a), std::get<I>(b)) && ...);
  }
  (std::make_index_sequence<std::tuple_size_v<Tuple>>{});
}

template <class Range>
[[nodiscard]] constexpr bool elements_equal(const Range& a, const Range& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!keys_equal<typename Range::value_type>(a[i], b[i])) return false;
  }
  return true;
}

template <class Tuple>
inline constexpr bool all_hashable = false;
template <class... Parts>
inline constexpr bool all_hashable<std::tuple<Parts...>> = (Hashable<Parts> && ...);

}  // namespace hash_detail

// Types that cannot be keys end here.
template <class T>
struct KeyTraits {
  static constexpr bool parts_hashable = false;
  static constexpr KeyHash hash(const T&) {
    explain();
    return {};
  }
  static constexpr bool equal(const T&, const T&) {
    explain();
    return {};
  }

 private:
  static constexpr void explain() {
    if constexpr (hash_detail::is_map_or_set<T>) {
      static_assert(hash_detail::never<T>,
                    "weir: a map, a set or an unordered container cannot be (in) a key: use a "
                    "vector, sorted if its order does not matter");
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
      reflect_detail::require_aggregate<T>();
    } else {
      static_assert(hash_detail::never<T>,
                    "weir: this type cannot be (in) a key: make it an aggregate of hashable fields "
                    "or specialise weir::KeyTraits for it");
    }
  }
};

template <class T>
requires std::integral<T> || std::is_enum_v<T>
struct KeyTraits<T> {
  static constexpr bool parts_hashable = true;
  static constexpr KeyHash hash(T value) { return mix64(static_cast<std::uint64_t>(value)); }
  static constexpr bool equal(T a, T b) { return a == b; }
};

template <class T>
requires std::same_as<T, float> || std::same_as<T, double>
struct KeyTraits<T> {
  static constexpr bool parts_hashable = true;
  static constexpr KeyHash hash(T value) {
    if (value != value) return mix64(0x7ff8000000000000);
    return mix64(std::bit_cast<std::uint64_t>(static_cast<double>(value == 0 ? T{0} : value)));
  }
  static constexpr bool equal(T a, T b) { return a == b || (a != a && b != b); }
};

template <class Rep, class Period>
struct KeyTraits<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static constexpr bool parts_hashable = Hashable<Rep>;
  static constexpr KeyHash hash(Duration value) { return hash_of(value.count()); }
  static constexpr bool equal(Duration a, Duration b) { return keys_equal(a.count(), b.count()); }
};

template <class Clock, class Duration>
struct KeyTraits<std::chrono::time_point<Clock, Duration>> {
  using TimePoint = std::chrono::time_point<Clock, Duration>;
  static constexpr bool parts_hashable = Hashable<Duration>;
  static constexpr KeyHash hash(TimePoint value) { return hash_of(value.time_since_epoch()); }
  static constexpr bool equal(TimePoint a, TimePoint b) {
    return keys_equal(a.time_since_epoch(), b.time_since_epoch());
  }
};

template <class T>
requires std::same_as<T, EventTime> || std::same_as<T, ProcessingTime>
struct KeyTraits<T> {
  static constexpr bool parts_hashable = true;
  static constexpr KeyHash hash(T value) { return hash_of(value.ms); }
  static constexpr bool equal(T a, T b) { return a == b; }
};

template <class Tag, class Rep>
struct KeyTraits<StrongId<Tag, Rep>> {
  using Id = StrongId<Tag, Rep>;
  static constexpr bool parts_hashable = Hashable<Rep>;
  static constexpr KeyHash hash(Id id) { return hash_of(id.value); }
  static constexpr bool equal(Id a, Id b) { return keys_equal(a.value, b.value); }
};

template <class T>
requires std::same_as<T, std::string> || std::same_as<T, std::string_view>
struct KeyTraits<T> {
  static constexpr bool parts_hashable = true;
  static KeyHash hash(std::string_view text) { return hash_of(text); }
  static constexpr bool equal(std::string_view a, std::string_view b) { return a == b; }
};

template <Aggregate T>
requires(!std::same_as<T, EventTime> && !std::same_as<T, ProcessingTime>) struct KeyTraits<T> {
  static constexpr bool parts_hashable = hash_detail::all_hashable<FieldTypes<T>>;
  static constexpr KeyHash hash(const T& value) {
    return hash_detail::hash_parts(fields_of(value));
  }
  static constexpr bool equal(const T& a, const T& b) {
    return hash_detail::parts_equal(fields_of(a), fields_of(b));
  }
};

template <class First, class Second>
struct KeyTraits<std::pair<First, Second>> {
  using Pair = std::pair<First, Second>;
  static constexpr bool parts_hashable = Hashable<First> && Hashable<Second>;
  static constexpr KeyHash hash(const Pair& value) { return hash_detail::hash_parts(value); }
  static constexpr bool equal(const Pair& a, const Pair& b) {
    return hash_detail::parts_equal(a, b);
  }
};

template <class... Parts>
struct KeyTraits<std::tuple<Parts...>> {
  using Tuple = std::tuple<Parts...>;
  static constexpr bool parts_hashable = (Hashable<Parts> && ...);
  static constexpr KeyHash hash(const Tuple& value) { return hash_detail::hash_parts(value); }
  static constexpr bool equal(const Tuple& a, const Tuple& b) {
    return hash_detail::parts_equal(a, b);
  }
};

template <class T, std::size_t N>
struct KeyTraits<std::array<T, N>> {
  using Array = std::array<T, N>;
  static constexpr bool parts_hashable = Hashable<T>;
  static constexpr KeyHash hash(const Array& array) {
    KeyHash hash = hash_detail::seed;
    for (const T& element : array) hash = hash_detail::combined(hash, hash_of(element));
    return hash;
  }
  static constexpr bool equal(const Array& a, const Array& b) {
    return hash_detail::elements_equal(a, b);
  }
};

template <class T, class Allocator>
struct KeyTraits<std::vector<T, Allocator>> {
  using Vector = std::vector<T, Allocator>;
  static constexpr bool parts_hashable = Hashable<T>;
  static constexpr KeyHash hash(const Vector& vector) {
    KeyHash hash = hash_detail::hash_in_order(vector.size());
    for (const auto& element : vector) {
      hash = hash_detail::combined(hash, KeyTraits<T>::hash(element));
    }
    return hash;
  }
  static constexpr bool equal(const Vector& a, const Vector& b) {
    return hash_detail::elements_equal(a, b);
  }
};

template <class T>
struct KeyTraits<std::optional<T>> {
  using Optional = std::optional<T>;
  static constexpr bool parts_hashable = Hashable<T>;
  static constexpr KeyHash hash(const Optional& value) {
    return value ? hash_detail::hash_in_order(*value) : hash_detail::seed;
  }
  static constexpr bool equal(const Optional& a, const Optional& b) {
    return a.has_value() == b.has_value() && (!a || keys_equal(*a, *b));
  }
};

template <class... Ts>
struct KeyTraits<std::variant<Ts...>> {
  using Variant = std::variant<Ts...>;
  static constexpr bool parts_hashable = (Hashable<Ts> && ...);
  // Requires that the variant holds a value.
  static constexpr KeyHash hash(const Variant& value) {
    return std::visit(
        [&](const auto& held) { return hash_detail::hash_in_order(value.index(), held); }, value);
  }
  static constexpr bool equal(const Variant& a, const Variant& b) {
    if (a.index() != b.index()) return false;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((I == a.index() && keys_equal(*std::get_if<I>(&a), *std::get_if<I>(&b))) || ...);
    }
    (std::index_sequence_for<Ts...>{});
  }
};

}  // namespace weir
