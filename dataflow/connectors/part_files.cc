#include "dataflow/connectors/part_files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/system_error.h"

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

bool is_ours_and_hidden(const std::string& name, const std::string& bucket) {
  return is_hidden_name(name) || (bucket.empty() && name == replaced_files_name);
}

// Adds an entry of a bucket; the names of subdirectories go to `below`.
void add(const fs::directory_entry& entry, const std::string& bucket, OutputContent& content,
         std::vector<std::string>& below) {
  std::error_code error;
  const std::string name = entry.path().filename().string();
  const fs::file_type type = entry.symlink_status(error).type();
  const bool is_file = type == fs::file_type::regular;
  auto& names = is_file && is_final_name(name)                        ? content.final_names
                : is_file && is_ours_and_hidden(name, bucket)         ? content.hidden_names
                : type == fs::file_type::directory && is_bucket(name) ? below
                                                                      : content.foreign_names;
  names.push_back((fs::path(bucket) / name).string());
}

// Whether to go on where something foreign has been found, which may be the top of a large tree.
enum class Beside : std::uint8_t { foreign_files, our_files_only };

Result<void> look_into_bucket(const std::string& directory, const std::string& bucket,
                              Beside beside, OutputContent& content) {
  const fs::path path = fs::path(directory) / bucket;
  std::vector<std::string> below;
  std::error_code error;
  fs::directory_iterator entry(path, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    add(*entry, bucket, content, below);
  }
  if (error) return output_failed("look into", path.string(), error.message());
  std::ranges::sort(below);
  for (const std::string& name : below) {
    if (beside == Beside::our_files_only && !content.foreign_names.empty()) return {};
    content.directories.push_back(name);
    WEIR_TRY(look_into_bucket(directory, name, beside, content));
  }
  return {};
}

Result<OutputContent> look(const std::string& directory, Beside beside) {
  OutputContent content;
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::not_found) return content;
  if (fs::exists(status) && !fs::is_directory(status)) {
    return Error{Errc::output_exists,
                 "output '" + directory + "' is a file; name a directory for the part files"};
  }
  WEIR_TRY(look_into_bucket(directory, {}, beside, content));
  content.exists = true;
  std::ranges::sort(content.foreign_names);
  return content;
}

}  // namespace

PartFile part_file(WriterId writer, std::uint64_t number, const std::string& bucket) {
  const std::string name =
      std::string(part) + std::to_string(writer.subtask.value) + '-' + std::to_string(number);
  const std::string hidden = '.' + name + std::string(in_progress) + hex(writer.attempt);
  const fs::path directory = bucket;
  return {.hidden_name = (directory / hidden).string(), .final_name = (directory / name).string()};
}

std::string as_written_by(WriterId writer, const std::string& hidden_name) {
  const std::size_t mark = hidden_name.rfind(in_progress);
  WEIR_CHECK(mark != std::string::npos);
  return hidden_name.substr(0, mark + in_progress.size()) + hex(writer.attempt);
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

bool is_well_formed(const PartFile& file) {
  const std::string bucket = bucket_of(file.final_name);
  return (bucket.empty() || is_bucket(bucket)) && bucket == bucket_of(file.hidden_name) &&
         is_final_name(fs::path(file.final_name).filename().string()) &&
         is_hidden_name(fs::path(file.hidden_name).filename().string());
}

std::string bucket_of(const std::string& name) {
  return fs::path(name).parent_path().string();
}

bool is_bucket(std::string_view bucket) {
  while (true) {
    const std::size_t slash = bucket.find('/');
    const std::string_view piece = bucket.substr(0, slash);
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' '; };
    if (piece.empty() || piece.front() == '.' || std::ranges::any_of(piece, is_control)) {
      return false;
    }
    if (slash == std::string_view::npos) return true;
    bucket.remove_prefix(slash + 1);
  }
}

Result<OutputContent> look_into(const std::string& directory) {
  return look(directory, Beside::foreign_files);
}

Result<void> check_output(const std::string& directory, bool overwrite) {
  const auto looked = look(directory, Beside::our_files_only);
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

Result<void> sync_directory(const std::string& directory) {
  const FileDescriptor opened = open_to_read(directory);
  if (!opened.is_open() || ::fsync(opened.get()) != 0) {
    return output_error("sync", directory, {errno, std::generic_category()});
  }
  return {};
}

Error output_failed(const std::string& what, const std::string& path, const std::string& reason) {
  return {Errc::output_failed, "cannot " + what + " output '" + path + "': " + reason};
}

Error output_lost(const std::string& what, const std::string& path, const std::string& reason) {
  return {Errc::output_lost, output_failed(what, path, reason).message};
}

Error output_error(const std::string& what, const std::string& path,
                   const std::error_code& reason) {
  const bool gone = reason == std::errc::no_such_file_or_directory;
  return gone ? output_lost(what, path, reason.message())
              : output_failed(what, path, reason.message());
}

}  // namespace weir
