// Columns for people.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace weir {

enum class Align { left, right };

struct TextColumn {
  std::string name;
  Align align = Align::left;
};

// Rows of cells that are lined up under their columns' names. Cells are UTF-8; control characters in them are escaped, and
// long ones cut.
class TextTable {
 public:
  static constexpr std::size_t cell_width_max = 60;

  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  // Requires a cell per column.
  void add(const std::vector<std::string>& cells);
  // Two spaces between columns, none at the ends of lines. Each line begins with `indent`.
  [[nodiscard]] std::string text(const std::string& indent = {}) const;

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir
