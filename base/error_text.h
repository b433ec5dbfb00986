// Errors whose words come from user code.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "base/result.h"

namespace weir {

// More than people read, and little enough for messages between processes and for what is kept of ended jobs.
inline constexpr std::size_t error_text_bytes_max = 16 * 1024;

// The same with the beginning of its text, if that is longer: an exception may say anything.
[[nodiscard]] inline Error shortened(Error error) {
  if (error.message.size() <= error_text_bytes_max) return error;
  std::size_t end = error_text_bytes_max;
  const auto is_within_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(error.message[at]) & 0xC0U) == 0x80U;
  };
  while (end > 0 && is_within_character(end)) --end;
  const std::size_t left_out = error.message.size() - end;
  error.message.resize(end);
  error.message += "… (" + std::to_string(left_out) + " bytes more)";
  return error;
}

}  // namespace weir
