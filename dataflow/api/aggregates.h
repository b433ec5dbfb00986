// Aggregates: what is kept of many records, and what comes out of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>

#include "state/aggregate_function.h"

namespace weir {

// How many.
struct Count {
  using Accumulator = std::int64_t;
  template <class T>
  void add(Accumulator& count, const T& /*value*/) const {
    ++count;
  }
  [[nodiscard]] std::int64_t result(Accumulator count) const { return count; }
  void merge(Accumulator& into, Accumulator other) const { into += other; }
  void retract(Accumulator& from, Accumulator part) const { from -= part; }
};

namespace aggregate_detail {

template <class V>
inline constexpr bool wraps = std::integral<V> && !std::same_as<V, bool>;

// a + b and a − b. Integers wrap: in the unsigned type, since the overflow of a signed one is undefined.
template <class V>
[[nodiscard]] constexpr V sum_of(const V& a, const V& b) {
  if constexpr (wraps<V>) {
    using Unsigned = std::make_unsigned_t<V>;
    return static_cast<V>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return static_cast<V>(a + b);
  }
}
template <class V>
[[nodiscard]] constexpr V difference_of(const V& a, const V& b) {
  if constexpr (wraps<V>) {
    using Unsigned = std::make_unsigned_t<V>;
    return static_cast<V>(static_cast<Unsigned>(a) - static_cast<Unsigned>(b));
  } else {
    return static_cast<V>(a - b);
  }
}

}  // namespace aggregate_detail

// Sum of a field: Field is a pointer to a member or a function of the record. Integers wrap.
template <class Field, class V>
struct Sum {
  using Accumulator = V;
  Field field;
  template <class T>
  constexpr void add(Accumulator& sum, const T& value) const {
    using Given = std::remove_cvref_t<std::invoke_result_t<const Field&, const T&>>;
    if constexpr (aggregate_detail::wraps<V> && std::integral<Given>)
      sum = aggregate_detail::sum_of(sum, static_cast<V>(std::invoke(field, value)));
    else
      sum = static_cast<V>(sum + std::invoke(field, value));
  }
  [[nodiscard]] V result(const Accumulator& sum) const { return sum; }
  constexpr void merge(Accumulator& into, const Accumulator& other) const {
    into = aggregate_detail::sum_of(into, other);
  }
  // Not of floating point: where a large number was taken back, a residue would stay.
  constexpr void retract(Accumulator& from,
                         const Accumulator& part) const requires std::integral<V> {
    from = aggregate_detail::difference_of(from, part);
  }
};

// Smallest, respectively largest value of a field under Less.
template <class Field, class V, class Less>
struct Extreme {
  using Accumulator = std::optional<V>;
  Field field;
  template <class T>
  void add(Accumulator& best, const T& value) const {
    const V& candidate = std::invoke(field, value);
    if (!best || Less{}(candidate, *best)) best = candidate;
  }
  [[nodiscard]] V result(const Accumulator& best) const { return *best; }
  void merge(Accumulator& into, const Accumulator& other) const {
    if (other && (!into || Less{}(*other, *into))) into = other;
  }
};
template <class Field, class V>
using Min = Extreme<Field, V, std::less<V>>;
template <class Field, class V>
using Max = Extreme<Field, V, std::greater<V>>;

// The records themselves folded by a function (T, T) → T.
template <class F, class T>
struct Reduce {
  using Accumulator = std::optional<T>;
  F combine;
  void add(Accumulator& acc, const T& value) const {
    if (acc) {
      acc = combine(*acc, value);
    } else {
      acc = value;
    }
  }
  [[nodiscard]] T result(const Accumulator& acc) const { return *acc; }
  void merge(Accumulator& into, const Accumulator& other) const {
    if (other) add(into, *other);
  }
};

}  // namespace weir
