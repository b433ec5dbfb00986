#include "base/options.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// A whole number followed by one of the units; an empty unit name allows a number alone.
template <std::size_t N>
Result<std::uint64_t> parse_with_unit(std::string_view text, const std::array<Unit, N>& units,
                                      const std::string& form) {
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc{}) {
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& unit : units) {
      if (rest != unit.name) continue;
      if (number >
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / unit.factor)
        break;
      return number * unit.factor;
    }
  }
  return Error{Errc::bad_option, "must be " + form};
}

}  // namespace

std::optional<std::string> Options::declare(DeclaredOption option) {
  const std::string name = option.name;
  const bool required = option.required;
  const bool known =
      std::ranges::any_of(declared_, [&](const auto& other) { return other.name == name; });
  if (!known) declared_.push_back(std::move(option));
  const auto given = given_.find(name);
  if (given != given_.end()) return given->second.text;
  if (required && !known) {
    add_mistake("option --" + name + " is missing: " + declared_.back().help);
  }
  return std::nullopt;
}

std::vector<std::string> Options::mistakes() const {
  std::vector<std::string> all = mistakes_;
  for (const auto& [name, given] : given_) {
    const bool known =
        std::ranges::any_of(declared_, [&](const auto& option) { return option.name == name; });
    if (known) continue;
    const std::string what =
        given.file.empty() ? "option --" + name : given.file + ": key '" + name + "'";
    all.push_back(what + " is unknown: --help lists those there are");
  }
  return all;
}

Result<Duration> parse_duration(std::string_view text) {
  static constexpr std::array<Unit, 5> units{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
  const auto ms = parse_with_unit(text, units, "a duration such as 500ms, 10s, 5m, 2h or 1d");
  if (!ms) return ms.error();
  if (*ms > static_cast<std::uint64_t>(duration_max.count())) {
    return Error{Errc::bad_option,
                 "'" + std::string(text) + "' is longer than 3650d, the most there can be"};
  }
  return Duration{static_cast<std::int64_t>(*ms)};
}

Result<std::uint64_t> parse_size(std::string_view text) {
  static constexpr std::uint64_t k = 1024;
  static constexpr std::array<Unit, 6> units{
      {{"", 1}, {"B", 1}, {"KB", k}, {"MB", k * k}, {"GB", k * k * k}, {"TB", k * k * k * k}}};
  return parse_with_unit(text, units, "a size such as 4096, 64KB, 16MB or 2GB");
}

std::string size_text(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> units{"B", "KB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

}  // namespace weir
