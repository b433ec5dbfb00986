#include "actors/text_table.h"

#include <algorithm>
#include <cstddef>

namespace weir {
namespace {

// Characters, not bytes: those of one code point each.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

std::string TextTable::text(const std::string& indent) const {
  const std::size_t columns = rows_.front().size();
  std::vector<std::size_t> widths(columns);
  std::vector<bool> right(columns, rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string& cell = rows_[r][i];
      widths[i] = std::max(widths[i], width_of(cell));
      const bool number = cell.empty() || cell == "-" || (cell[0] >= '0' && cell[0] <= '9');
      if (r > 0 && !number) right[i] = false;
    }
  }
  // Names and ids that happen to begin with digits stay where their head is.
  right[0] = false;
  std::string text;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      line += right[i] ? padding + row[i] : row[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace weir
