// Networks: the addresses that begin with the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "apps/access_log.h"

struct Network {
  std::uint32_t address = 0;
  int prefix_length = 0;

  [[nodiscard]] bool contains(std::uint32_t other) const {
    return prefix_length == 0 || (address ^ other) >> (32 - prefix_length) == 0;
  }
  friend bool operator==(const Network&, const Network&) = default;
};

// 10.0.0.0/8
inline std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto address = parse_address(text.substr(0, slash));
  const auto length = parse_number(text.substr(slash + 1), 32);
  if (!address || !length) return std::nullopt;
  return Network{*address, *length};
}
