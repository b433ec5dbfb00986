// What a record does to the table that a changelog describes.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir {

// An update is two records, the row before and the row after, or the one after alone where rows are told apart by an id.
enum class RowKind : std::uint8_t { insert, update_before, update_after, remove };

// The row is in the table from then on; else it no longer is.
[[nodiscard]] constexpr bool adds_row(RowKind kind) {
  return kind == RowKind::insert || kind == RowKind::update_after;
}

// As people and files see it.
[[nodiscard]] constexpr std::string_view name_of(RowKind kind) {
  switch (kind) {
    case RowKind::insert:
      return "+I";
    case RowKind::update_before:
      return "-U";
    case RowKind::update_after:
      return "+U";
    case RowKind::remove:
      return "-D";
  }
  return "";
}

// A record of a changelog as a value, for functions and sinks, which see values only.
template <class T>
struct Change {
  RowKind kind{};
  T row{};
  friend bool operator==(const Change&, const Change&) = default;
};

}  // namespace weir
