#include "actors/text_table.h"

#include <algorithm>
#include <cstddef>

#include "actors/printable.h"

namespace weir {
namespace {

// Characters, not bytes: those of one code point each.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void TextTable::add(const std::vector<std::string>& cells) {
  std::vector<std::string> row;
  for (const std::string& cell : cells) row.push_back(cut_to(printable(cell), cell_width_max));
  rows_.push_back(std::move(row));
}

std::string TextTable::text(const std::string& indent) const {
  std::vector<std::string> head;
  std::vector<std::size_t> widths;
  for (const TextColumn& column : columns_) {
    head.push_back(column.name);
    widths.push_back(width_of(column.name));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line = indent;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width_of(cells[i]), ' ');
      line += columns_[i].align == Align::right ? padding + cells[i] : cells[i] + padding;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(head);
  for (const auto& row : rows_) add_line(row);
  return text;
}

}  // namespace weir
