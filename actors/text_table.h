// Columns for people.
#pragma once

#include <string>
#include <vector>

namespace weir {

// Rows of cells that are lined up: numbers, and what else begins with a digit, to the right, the rest to the left. Cells
// are UTF-8.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> head) : rows_{std::move(head)} {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  // Two spaces between columns, none at the ends of lines. Each line begins with `indent`.
  [[nodiscard]] std::string text(const std::string& indent = {}) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace weir
