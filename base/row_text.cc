#include "base/row_text.h"

#include <algorithm>
#include <array>

namespace weir::row_text_detail {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD in UTF-8

// Characters that stand for themselves in a JSON string.
constexpr std::array<bool, 256> is_plain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

unsigned char byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0;
}

struct Utf8Sequence {
  std::size_t size;  // if it is not valid: of the part to replace, at least 1
  bool valid;
};

// The bounds of a sequence's second byte exclude overlong forms, surrogates and what is past
// U+10FFFF.
struct Utf8Lead {
  std::size_t size;
  unsigned char second_min, second_max;
};

Utf8Lead utf8_lead(unsigned char lead) {
  if (lead >= 0xc2 && lead <= 0xdf) return {2, 0x80, 0xbf};
  if (lead == 0xe0) return {3, 0xa0, 0xbf};
  if (lead == 0xed) return {3, 0x80, 0x9f};
  if (lead >= 0xe1 && lead <= 0xef) return {3, 0x80, 0xbf};
  if (lead == 0xf0) return {4, 0x90, 0xbf};
  if (lead >= 0xf1 && lead <= 0xf3) return {4, 0x80, 0xbf};
  if (lead == 0xf4) return {4, 0x80, 0x8f};
  return {1, 0, 0};
}

// The sequence at the front of `text`, whose first byte is not ASCII.
Utf8Sequence utf8_sequence(std::string_view text) {
  const Utf8Lead lead = utf8_lead(byte_at(text, 0));
  if (lead.size == 1) return {1, false};
  const unsigned char second = byte_at(text, 1);
  if (second < lead.second_min || second > lead.second_max) return {1, false};
  for (std::size_t i = 2; i < lead.size; ++i) {
    if ((byte_at(text, i) & 0xc0) != 0x80) return {i, false};
  }
  return {lead.size, true};
}

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  constexpr std::string_view digits = "0123456789abcdef";
  out += "\\u00";
  out += digits[static_cast<unsigned char>(c) >> 4];
  out += digits[static_cast<unsigned char>(c) & 15];
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (true) {
    const auto* const special = std::find_if_not(
        text.begin(), text.end(), [](char c) { return is_plain[static_cast<unsigned char>(c)]; });
    const auto plain_size = static_cast<std::size_t>(special - text.begin());
    out.append(text.substr(0, plain_size));
    text.remove_prefix(plain_size);
    if (text.empty()) break;
    if (byte_at(text, 0) < 0x80) {
      append_escaped(out, text.front());
      text.remove_prefix(1);
    } else {
      const Utf8Sequence sequence = utf8_sequence(text);
      out.append(sequence.valid ? text.substr(0, sequence.size) : replacement);
      text.remove_prefix(sequence.size);
    }
  }
  out += '"';
}

// An empty string is written as "" to tell it from an absent value, and a line from a blank one.
void append_csv_cell(std::string& out, std::string_view text) {
  if (!text.empty() && text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out.append(text);
    return;
  }
  out += '"';
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  out += '"';
}

void append_plain_string(std::string& out, std::string_view text) {
  while (true) {
    const std::size_t line_size = std::min(text.find_first_of("\r\n"), text.size());
    out.append(text.substr(0, line_size));
    if (line_size == text.size()) return;
    out += text[line_size] == '\n' ? "\\n" : "\\r";
    text.remove_prefix(line_size + 1);
  }
}

void append_time(std::string& out, EventTime second, std::int64_t nanoseconds) {
  out += to_string(second);
  if (nanoseconds == 0) return;
  std::string digits = std::to_string(1'000'000'000 + nanoseconds).substr(1);
  while (digits.ends_with("000")) digits.resize(digits.size() - 3);
  out.back() = '.';  // in the place of the Z
  out += digits + 'Z';
}

}  // namespace weir::row_text_detail
