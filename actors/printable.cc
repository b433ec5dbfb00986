#include "actors/printable.h"

#include <cstdio>
#include <vector>

namespace weir {
namespace {

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Of U+0080 to U+009F, which some terminals take for control characters, the two bytes are C2 and the number.
bool begins_control_character(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x20 || byte == 0x7F) return true;
  if (byte != 0xC2 || at + 1 == text.size()) return false;
  const auto next = static_cast<unsigned char>(text[at + 1]);
  return next >= 0x80 && next < 0xA0;
}

void append_escaped(std::string& out, char c) {
  if (c == '\n') {
    out += "\\n";
  } else if (c == '\t') {
    out += "\\t";
  } else if (c == '\r') {
    out += "\\r";
  } else {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += hex;
  }
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kept.find(text[i]) != std::string_view::npos || !begins_control_character(text, i)) {
      out += text[i];
      continue;
    }
    append_escaped(out, text[i]);
    if (static_cast<unsigned char>(text[i]) == 0xC2) append_escaped(out, text[++i]);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) {
  return escaped(text, "");
}

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

std::string cut_to(const std::string& text, std::size_t characters_max) {
  std::vector<std::size_t> begins;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_continuation(text[i])) begins.push_back(i);
  }
  if (begins.size() <= characters_max) return text;
  const std::size_t at_end = characters_max / 3;
  const std::size_t at_begin = characters_max - 1 - at_end;
  return text.substr(0, begins[at_begin]) + "…" +
         (at_end == 0 ? "" : text.substr(begins[begins.size() - at_end]));
}

}  // namespace weir
