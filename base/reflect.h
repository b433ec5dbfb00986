// Names, types and fields of plain structs, so that a user's record type needs no declaration
// beyond the struct itself to be encoded, hashed, sized and printed.
//
// Own, because Debian 12's default Boost (1.74) has no Boost.PFR.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weir {

inline constexpr std::size_t fields_max = 32;  // as many as reflect_detail::tie_fields spells out

namespace reflect_detail {

// Stands for any field in a trial initialisation; never called. Not for a base of T, so that a base
// is not counted as a field, and T is not copied instead of initialised.
template <class T>
struct AnyField {
  template <class U>
  requires(!std::is_base_of_v<U, T>) operator U() const noexcept;
};

template <class T>
struct AnyBase {
  template <class U>
  requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U() const noexcept;
};

template <class T, std::size_t... I>
consteval bool takes_fields(std::index_sequence<I...>) {
  return requires {
    T{((void)I, AnyField<T>{})...};
  };
}

// Initialisers that T takes. A C array takes one for each of its elements, see has_c_array.
template <class T, std::size_t Count = 0>
consteval std::size_t count_initializers() {
  if constexpr (Count <= fields_max) {
    if constexpr (takes_fields<T>(std::make_index_sequence<Count + 1>{})) {
      return count_initializers<T, Count + 1>();
    }
  }
  return Count;
}

template <class T, std::size_t... Before, std::size_t... After>
consteval bool takes_braces_between(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires {
    T{((void)Before, AnyField<T>{})..., {}, ((void)After, AnyField<T>{})...};
  };
}

// {} initialises one field, but a whole array: then the initialisers behind it are too many.
template <class T, std::size_t Count>
consteval bool every_initializer_is_a_field() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (takes_braces_between<T>(std::make_index_sequence<I>{},
                                    std::make_index_sequence<Count - 1 - I>{}) &&
            ...);
  }
  (std::make_index_sequence<Count>{});
}

struct NotAddressable {};

#ifdef __clang__
// clang 14, which only checks this code, takes no structured binding in a requires-expression.
#define WEIR_TIE(count, ...)      \
  if constexpr (Count == count) { \
    auto& [__VA_ARGS__] = t;      \
    return std::tie(__VA_ARGS__); \
  } else
#else
#define WEIR_TIE(count, ...)                           \
  if constexpr (Count == count) {                      \
    auto& [__VA_ARGS__] = t;                           \
    if constexpr (requires { std::tie(__VA_ARGS__); }) \
      return std::tie(__VA_ARGS__);                    \
    else                                               \
      return NotAddressable{};                         \
  } else
#endif

// References to the fields of `t`, which has Count of them; NotAddressable if one is a bit field.
// clang-format off
template <std::size_t Count, class T>
constexpr auto tie_fields(T& t) {
  WEIR_TIE(1, a)
  WEIR_TIE(2, a, b)
  WEIR_TIE(3, a, b, c)
  WEIR_TIE(4, a, b, c, d)
  WEIR_TIE(5, a, b, c, d, e)
  WEIR_TIE(6, a, b, c, d, e, f)
  WEIR_TIE(7, a, b, c, d, e, f, g)
  WEIR_TIE(8, a, b, c, d, e, f, g, h)
  WEIR_TIE(9, a, b, c, d, e, f, g, h, i)
  WEIR_TIE(10, a, b, c, d, e, f, g, h, i, j)
  WEIR_TIE(11, a, b, c, d, e, f, g, h, i, j, k)
  WEIR_TIE(12, a, b, c, d, e, f, g, h, i, j, k, l)
  WEIR_TIE(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  WEIR_TIE(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  WEIR_TIE(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  WEIR_TIE(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  WEIR_TIE(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  WEIR_TIE(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  WEIR_TIE(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  WEIR_TIE(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u)
  WEIR_TIE(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v)
  WEIR_TIE(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w)
  WEIR_TIE(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x)
  WEIR_TIE(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y)
  WEIR_TIE(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z)
  WEIR_TIE(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A)
  WEIR_TIE(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A, B)
  WEIR_TIE(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A, B, C)
  WEIR_TIE(29, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A, B, C,
           D)
  WEIR_TIE(30, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A, B, C,
           D, E)
  WEIR_TIE(31, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A, B, C,
           D, E, F)
  WEIR_TIE(32, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, u, v, w, x, y, z, A, B, C,
           D, E, F, G)
  return std::tuple<>{};
}
// clang-format on
#undef WEIR_TIE

template <class Tie>
struct FieldTypesOf;
template <class... F>
struct FieldTypesOf<std::tuple<F&...>> {
  using Types = std::tuple<F...>;
  static constexpr bool has_array = (std::is_array_v<F> || ...);
  static constexpr bool has_const = (std::is_const_v<F> || ...);
};

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;

enum class Problem {
  none,
  not_an_aggregate,
  base_class,
  no_default,
  too_many_fields,
  c_array,
  bit_field,
  const_field,
};

template <class T>
consteval Problem problem_of_fields() {
  constexpr std::size_t count = count_initializers<T>();
  if constexpr (count > fields_max) {
    return Problem::too_many_fields;
  } else if constexpr (!every_initializer_is_a_field<T, count>()) {
    return Problem::c_array;
  } else {
    using Tie = decltype(tie_fields<count>(std::declval<T&>()));
    if constexpr (std::is_same_v<Tie, NotAddressable>)
      return Problem::bit_field;
    else if constexpr (FieldTypesOf<Tie>::has_array)
      return Problem::c_array;
    else if constexpr (FieldTypesOf<Tie>::has_const)
      return Problem::const_field;
    else
      return Problem::none;
  }
}

// What keeps reflection from seeing all of T.
template <class T>
consteval Problem problem_of() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || is_std_array<T>) {
    return Problem::not_an_aggregate;
  } else if constexpr (requires { T{AnyBase<T>{}}; }) {
    return Problem::base_class;
  } else if constexpr (!requires { T{}; }) {
    return Problem::no_default;
  } else {
    return problem_of_fields<T>();
  }
}

// What an object of type T looks like without being one: only addresses within it are formed, which
// a constant expression may do. So T may be local, unnamed outside its file, or not constexpr.
template <class T>
union Unbuilt {
  char none;
  T value;
  constexpr Unbuilt() : none{} {}
  constexpr ~Unbuilt() {}
};
template <class T>
inline constexpr Unbuilt<T> unbuilt{};

template <auto Pointer>
constexpr std::string_view spelled_pointer() {
  return __PRETTY_FUNCTION__;
}

// g++ writes "… [with auto Pointer = (& unbuilt<T>.Unbuilt<T>::value.T::name); std::string_view =
// …]".
constexpr std::string_view name_in(std::string_view spelled) {
  const std::string_view pointer = spelled.substr(0, spelled.rfind(");"));
  return pointer.substr(pointer.rfind(':') + 1);
}

template <class T>
constexpr std::string_view spelled_type() {
  return __PRETTY_FUNCTION__;
}

constexpr std::string_view type_in(std::string_view spelled) {
  constexpr std::string_view before = "[with T = ";
  const std::size_t begin = spelled.find(before) + before.size();
  return spelled.substr(begin, spelled.rfind("; std::string_view = ") - begin);
}

template <std::size_t Capacity>
struct Text {
  std::array<char, Capacity> characters{};
  std::size_t size = 0;
  [[nodiscard]] constexpr std::string_view view() const { return {characters.data(), size}; }
};

// Writes the compiler's spelling as a person would.
template <std::size_t Capacity>
constexpr Text<Capacity> readable(std::string_view spelled) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> rewrites{{
      {"std::__cxx11::basic_string<char>", "std::string"},
      {"std::basic_string_view<char>", "std::string_view"},
      {"std::__cxx11::", "std::"},
      {"{anonymous}::", ""},
      {" >", ">"},
  }};
  Text<Capacity> text;
  while (!spelled.empty()) {
    std::string_view from = spelled.substr(0, 1);
    std::string_view to = from;
    for (const auto& [spelling, wanted] : rewrites) {
      if (!spelled.starts_with(spelling)) continue;
      from = spelling;
      to = wanted;
      break;
    }
    for (const char c : to) text.characters[text.size++] = c;
    spelled.remove_prefix(from.size());
  }
  return text;
}

template <class T>
inline constexpr auto type_text =
    readable<type_in(spelled_type<T>()).size()>(type_in(spelled_type<T>()));

// Stops the compilation with the sentence that fits, if reflection cannot see all of T.
template <class T>
constexpr void require_aggregate() {
  constexpr Problem problem = problem_of<T>();
  static_assert(
      problem != Problem::not_an_aggregate,
      "weir: only the fields of an aggregate can be listed: a struct whose members are all "
      "public and that declares no constructor");
  static_assert(problem != Problem::base_class,
                "weir: the fields of a base class cannot be listed: make the base a member");
  static_assert(problem != Problem::no_default,
                "weir: a reference, or a field without a default constructor, cannot be read back: "
                "store a value that can be made empty");
  static_assert(
      problem != Problem::too_many_fields,
      "weir: a struct can have at most 32 fields: group some of them into a nested struct");
  static_assert(problem != Problem::c_array,
                "weir: a C array cannot be a field: use std::array; nor can a field without a "
                "default constructor");
  static_assert(problem != Problem::bit_field,
                "weir: a bit field has no address: use a whole integer");
  static_assert(problem != Problem::const_field,
                "weir: a const field cannot be read back: leave out the const");
}

}  // namespace reflect_detail

// A struct whose fields can be listed: public members only, no constructors, no bases, every field
// default-constructible and neither a C array, a bit field, a reference nor const; at most
// fields_max fields. std::array is not one. An anonymous union inside does not compile.
template <class T>
concept Aggregate = reflect_detail::problem_of<std::remove_cv_t<T>>()
== reflect_detail::Problem::none;

// Requires Aggregate<T>, as all below; otherwise one sentence says what is in the way.
template <class T>
inline constexpr std::size_t field_count = [] {
  reflect_detail::require_aggregate<std::remove_cv_t<T>>();
  return reflect_detail::count_initializers<std::remove_cv_t<T>>();
}();

// References to the fields, in order, as a std::tuple.
template <class T>
[[nodiscard]] constexpr auto fields_of(T& t) {
  return reflect_detail::tie_fields<field_count<T>>(t);
}

// The types of the fields, in order, as a std::tuple.
template <class T>
using FieldTypes = typename reflect_detail::FieldTypesOf<decltype(fields_of(
    std::declval<std::remove_cv_t<T>&>()))>::Types;

// The names of the fields, in order. They live as long as the program.
template <class T>
[[nodiscard]] constexpr std::array<std::string_view, field_count<T>> field_names() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<std::string_view, field_count<T>>{
        reflect_detail::name_in(reflect_detail::spelled_pointer<&std::get<I>(
                                    fields_of(reflect_detail::unbuilt<T>.value))>())...};
  }
  (std::make_index_sequence<field_count<T>>{});
}

// Calls f(name, field) for every field in order.
template <class T, class F>
constexpr void for_each_field(T& t, F&& f) {
  constexpr auto names = field_names<std::remove_cv_t<T>>();
  std::apply(
      [&](auto&... field) {
        [[maybe_unused]] std::size_t i = 0;
        (f(names[i++], field), ...);
      },
      fields_of(t));
}

// The type as source code would name it, with its namespaces: "std::vector<app::Visit>".
template <class T>
[[nodiscard]] constexpr std::string_view type_name() {
  return reflect_detail::type_text<T>.view();
}

}  // namespace weir
