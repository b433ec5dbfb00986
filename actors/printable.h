// Texts of others on people's terminals: names of jobs and steps, messages of exceptions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir {

// Control characters as \n, \t, \x1b: none reaches the terminal.
[[nodiscard]] std::string printable(std::string_view text);
// The same, but for ends of lines and tabs: of a text that may have several lines.
[[nodiscard]] std::string printable_lines(std::string_view text);
// At most so many characters, above 0; of a longer one the beginning, an ellipsis and the end, which tells subtasks apart.
[[nodiscard]] std::string cut_to(const std::string& text, std::size_t characters_max);

}  // namespace weir
