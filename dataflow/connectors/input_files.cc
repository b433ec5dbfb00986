#include "dataflow/connectors/input_files.h"

#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/file_descriptor.h"
#include "base/system_error.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

enum class Kind { none, file, directory, other };

Kind kind_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return Kind::none;
  if (S_ISREG(status.st_mode)) return Kind::file;
  return S_ISDIR(status.st_mode) ? Kind::directory : Kind::other;
}

Error unreadable(const std::string& path, const std::string& reason) {
  return {Errc::input_unreadable, "input '" + path + "' cannot be read: " + reason};
}

bool begins_like_gzip(const FileDescriptor& file) {
  std::array<unsigned char, 2> magic{};
  return ::pread(file.get(), magic.data(), magic.size(), 0) == 2 && magic[0] == 0x1f &&
         magic[1] == 0x8b;
}

Result<InputFile> look_at(const std::string& path) {
  const FileDescriptor file = open_to_read(path);
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0)
    return unreadable(path, last_system_reason());
  return InputFile{.path = path,
                   .bytes = static_cast<std::uint64_t>(status.st_size),
                   .is_gzip = path.ends_with(".gz") && begins_like_gzip(file)};
}

Result<std::vector<std::string>> files_in(const std::string& directory) {
  std::vector<std::string> paths;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (!hidden && kind_of(path) == Kind::file) paths.push_back(path);
  }
  if (error) return unreadable(directory, error.message());
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found{};
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  std::ranges::sort(paths);
  return paths;
}

// The files at a path, or in it.
Result<std::vector<std::string>> files_at(const std::string& path) {
  switch (kind_of(path)) {
    case Kind::file:
      return std::vector{path};
    case Kind::directory:
      return files_in(path);
    case Kind::other:
      return unreadable(path, "it is a device, pipe or socket; pass a file or directory");
    case Kind::none:
      break;
  }
  return unreadable(path, last_system_reason());
}

Result<std::vector<std::string>> files_of(const std::string& pattern) {
  const bool exists = kind_of(pattern) != Kind::none;  // whatever characters are in its name
  if (!exists && errno != ENOENT && errno != ENOTDIR)
    return unreadable(pattern, last_system_reason());
  std::vector<std::string> files;
  for (const auto& path : exists ? std::vector{pattern} : matches_of(pattern)) {
    auto more = files_at(path);
    if (!more) return more.error();
    files.insert(files.end(), more->begin(), more->end());
  }
  if (!files.empty()) return files;
  return Error{Errc::input_missing,
               exists
                   ? "input directory '" + pattern + "' has no files; put some in or pass another"
                   : "input '" + pattern + "' matches no file; check the path"};
}

}  // namespace

Result<std::vector<InputFile>> list_input_files(const std::vector<std::string>& patterns) {
  if (patterns.empty()) return Error{Errc::input_missing, "no input was given; name files to read"};
  std::vector<InputFile> files;
  std::unordered_set<std::string> seen;
  for (const std::string& pattern : patterns) {
    const auto paths = files_of(pattern);
    if (!paths) return paths.error();
    for (const std::string& path : *paths) {
      if (!seen.insert(path).second) continue;
      auto file = look_at(path);
      if (!file) return file.error();
      files.push_back(*std::move(file));
    }
  }
  return files;
}

std::vector<std::string> split_at_commas(std::string_view patterns) {
  std::vector<std::string> parts;
  while (!patterns.empty()) {
    const std::string_view part = patterns.substr(0, patterns.find(','));
    if (!part.empty()) parts.emplace_back(part);
    patterns.remove_prefix(std::min(patterns.size(), part.size() + 1));
  }
  return parts;
}

}  // namespace weir
