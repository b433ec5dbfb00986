// Columns for people.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace weir {

enum class Align { left, right };

struct TextColumn {
  std::string name;
  Align align = Align::left;
};

// Rows of cells that are lined up under their columns' names. Cells are UTF-8.
class TextTable {
 public:
  explicit TextTable(std::vector<TextColumn> columns) : columns_(std::move(columns)) {}

  // Requires a cell per column.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Two spaces between columns, none at the ends of lines. Each line begins with `indent`.
  [[nodiscard]] std::string text(const std::string& indent = {}) const;

 private:
  std::vector<TextColumn> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir
