// Bytes as documents show them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weir {

// An indented block, 16 bytes a line.
[[nodiscard]] inline std::string hex_block(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    text += i % 16 == 0 ? (i == 0 ? "    " : "\n    ") : " ";
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(bytes[i]) >> 4];
    text += digits[std::to_integer<unsigned>(bytes[i]) & 15];
  }
  return text;
}

}  // namespace weir
