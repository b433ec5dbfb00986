// How much memory a value holds outside itself, for the byte bounds of batches, buffers and state.
//
// An estimate of what the allocator was asked for: containers by their capacity or number of nodes,
// with the bookkeeping of libstdc++. What the value does not own (views, pointers) counts nothing.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "base/reflect.h"

namespace weir {

// Specialise for a class that owns memory, with
//   static constexpr bool has_heap = true;
//   static std::size_t bytes(const T&);
// Types that are not known here are taken to own none.
template <class T>
struct HeapBytes {
  static constexpr bool has_heap = false;
  static constexpr std::size_t bytes(const T&) { return 0; }
};

// Whether a T can hold memory at all; if not, heap_bytes costs nothing and need not be called.
template <class T>
inline constexpr bool has_heap = HeapBytes<T>::has_heap;

// Bytes owned outside the object. O(1) for flat values, otherwise O(elements whose type has_heap).
template <class T>
[[nodiscard]] constexpr std::size_t heap_bytes(const T& value) {
  if constexpr (has_heap<T>)
    return HeapBytes<T>::bytes(value);
  else
    return 0;
}

namespace byte_size_detail {

inline constexpr std::size_t tree_node_overhead = 32;  // colour and three pointers
inline constexpr std::size_t hash_node_overhead = 16;  // next pointer and cached hash
inline constexpr std::size_t deque_chunk_bytes = 512;

template <class Range>
[[nodiscard]] constexpr std::size_t inside(const Range& range) {
  std::size_t sum = 0;
  if constexpr (has_heap<typename Range::value_type>) {
    for (const auto& element : range) sum += heap_bytes(element);
  }
  return sum;
}

template <class Tuple>
struct Parts;
template <class... P>
struct Parts<std::tuple<P...>> {
  static constexpr bool has_heap = (weir::has_heap<P> || ...);
  template <class Tuple>
  static constexpr std::size_t bytes(const Tuple& parts) {
    return std::apply([](const auto&... part) { return (heap_bytes(part) + ... + 0); }, parts);
  }
};

template <class Tree>
struct OfTree {
  static constexpr bool has_heap = true;
  static constexpr std::size_t bytes(const Tree& tree) {
    return tree.size() * (sizeof(typename Tree::value_type) + tree_node_overhead) + inside(tree);
  }
};

template <class Table>
struct OfHashTable {
  static constexpr bool has_heap = true;
  static constexpr std::size_t bytes(const Table& table) {
    const std::size_t buckets = table.bucket_count() > 1 ? table.bucket_count() : 0;
    return table.size() * (sizeof(typename Table::value_type) + hash_node_overhead) +
           buckets * sizeof(void*) + inside(table);
  }
};

}  // namespace byte_size_detail

template <>
struct HeapBytes<std::string> {
  static constexpr bool has_heap = true;
  static constexpr std::size_t bytes(const std::string& text) {
    constexpr std::size_t in_place = 15;  // characters that libstdc++ keeps inside the object
    return text.capacity() > in_place ? text.capacity() + 1 : 0;
  }
};

template <class T, class Allocator>
struct HeapBytes<std::vector<T, Allocator>> {
  static constexpr bool has_heap = true;
  static constexpr std::size_t bytes(const std::vector<T, Allocator>& vector) {
    if constexpr (std::is_same_v<T, bool>)
      return vector.capacity() / 8;
    else
      return vector.capacity() * sizeof(T) + byte_size_detail::inside(vector);
  }
};

template <class T, class Allocator>
struct HeapBytes<std::deque<T, Allocator>> {
  static constexpr bool has_heap = true;
  static constexpr std::size_t bytes(const std::deque<T, Allocator>& deque) {
    const std::size_t chunks = deque.size() * sizeof(T) / byte_size_detail::deque_chunk_bytes + 1;
    return chunks * (byte_size_detail::deque_chunk_bytes + sizeof(void*)) +
           byte_size_detail::inside(deque);
  }
};

template <class... P>
struct HeapBytes<std::map<P...>> : byte_size_detail::OfTree<std::map<P...>> {};
template <class... P>
struct HeapBytes<std::set<P...>> : byte_size_detail::OfTree<std::set<P...>> {};
template <class... P>
struct HeapBytes<std::unordered_map<P...>>
    : byte_size_detail::OfHashTable<std::unordered_map<P...>> {};
template <class... P>
struct HeapBytes<std::unordered_set<P...>>
    : byte_size_detail::OfHashTable<std::unordered_set<P...>> {};

template <class First, class Second>
struct HeapBytes<std::pair<First, Second>>
    : byte_size_detail::Parts<std::tuple<std::remove_const_t<First>, std::remove_const_t<Second>>> {
};

template <class... P>
struct HeapBytes<std::tuple<P...>> : byte_size_detail::Parts<std::tuple<P...>> {};

template <class T, std::size_t N>
struct HeapBytes<std::array<T, N>> {
  static constexpr bool has_heap = weir::has_heap<T>;
  static constexpr std::size_t bytes(const std::array<T, N>& array) {
    return byte_size_detail::inside(array);
  }
};

template <class T>
struct HeapBytes<std::optional<T>> {
  static constexpr bool has_heap = weir::has_heap<T>;
  static constexpr std::size_t bytes(const std::optional<T>& value) {
    return value ? heap_bytes(*value) : 0;
  }
};

template <class... Ts>
struct HeapBytes<std::variant<Ts...>> {
  static constexpr bool has_heap = (weir::has_heap<Ts> || ...);
  static constexpr std::size_t bytes(const std::variant<Ts...>& value) {
    if (value.valueless_by_exception()) return 0;
    return std::visit([](const auto& held) { return heap_bytes(held); }, value);
  }
};

template <Aggregate T>
struct HeapBytes<T> : byte_size_detail::Parts<FieldTypes<T>> {
  static constexpr std::size_t bytes(const T& value) {
    return byte_size_detail::Parts<FieldTypes<T>>::bytes(fields_of(value));
  }
};

}  // namespace weir
