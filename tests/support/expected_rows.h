// What the apps have to give.
#pragma once

#include <algorithm>
#include <cctype>
#include <map>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace weir {

// Rows of a file, sorted.
inline std::vector<std::string> expected_rows(const std::string& path) {
  auto lines = lines_of(read_file(path));
  std::ranges::sort(lines);
  return lines;
}

// word,count of a text, the slow and obvious way.
inline std::vector<std::string> count_words_naively(const std::string& text) {
  std::map<std::string, int> counts;
  std::string word;
  for (const char c : text + "\n") {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128) {
      word += static_cast<char>(std::tolower(c));
    } else if (!word.empty()) {
      ++counts[word];
      word.clear();
    }
  }
  std::vector<std::string> rows;
  for (const auto& [w, n] : counts) rows.push_back(w + "," + std::to_string(n));
  std::ranges::sort(rows);
  return rows;
}

}  // namespace weir
