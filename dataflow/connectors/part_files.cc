#include "dataflow/connectors/part_files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view part = "part-";
constexpr std::string_view in_progress = ".inprogress.";

std::string hex(std::uint64_t value) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), value, 16).ptr;
  const std::string text(digits.begin(), end);
  return std::string(digits.size() - text.size(), '0') + text;
}

bool is_made_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

void add(const fs::directory_entry& entry, OutputContent& content) {
  std::error_code error;
  std::string name = entry.path().filename().string();
  const bool is_file = entry.symlink_status(error).type() == fs::file_type::regular;
  auto& names = is_file && is_final_name(name)    ? content.final_names
                : is_file && is_hidden_name(name) ? content.hidden_names
                                                  : content.foreign_names;
  names.push_back(std::move(name));
}

}  // namespace

PartFile part_file(WriterId writer, std::uint64_t number) {
  const std::string name =
      std::string(part) + std::to_string(writer.subtask.value) + '-' + std::to_string(number);
  return {.hidden_name = '.' + name + std::string(in_progress) + hex(writer.attempt),
          .final_name = name};
}

bool is_final_name(std::string_view name) {
  constexpr std::string_view digits = "0123456789";
  if (!name.starts_with(part)) return false;
  name.remove_prefix(part.size());
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && is_made_of(name.substr(0, dash), digits) &&
         is_made_of(name.substr(dash + 1), digits);
}

bool is_hidden_name(std::string_view name) {
  const std::size_t mark = name.find(in_progress);
  return name.starts_with('.') && mark != std::string_view::npos &&
         is_final_name(name.substr(1, mark - 1)) &&
         is_made_of(name.substr(mark + in_progress.size()), "0123456789abcdef");
}

Result<OutputContent> look_into(const std::string& directory) {
  OutputContent content;
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::not_found) return content;
  if (fs::exists(status) && !fs::is_directory(status)) {
    return Error{Errc::output_exists,
                 "output '" + directory + "' is a file; name a directory for the part files"};
  }
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) add(*entry, content);
  if (error) return output_failed("look into", directory, error.message());
  content.exists = true;
  std::ranges::sort(content.foreign_names);
  return content;
}

Result<void> check_output(const std::string& directory, bool overwrite) {
  const auto looked = look_into(directory);
  if (!looked) return looked.error();
  const OutputContent& content = *looked;
  if (!overwrite && (!content.final_names.empty() || !content.foreign_names.empty())) {
    return Error{Errc::output_exists,
                 "output '" + directory + "' exists; pass --overwrite or choose another directory"};
  }
  if (overwrite && !content.foreign_names.empty()) {
    return Error{Errc::output_exists,
                 "output '" + directory + "' holds '" + content.foreign_names.front() +
                     "', which is no part file, and is not overwritten; remove it or choose "
                     "another directory"};
  }
  return {};
}

Error output_failed(const std::string& what, const std::string& path, const std::string& reason) {
  return {Errc::output_failed, "cannot " + what + " output '" + path + "': " + reason};
}

}  // namespace weir
