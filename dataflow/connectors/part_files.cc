#include "dataflow/connectors/part_files.h"

#include <sys/file.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "dataflow/connectors/file_descriptor.h"

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

Error output_failed(const std::string& what, const std::string& path, const std::string& reason) {
  return {Errc::output_failed, "cannot " + what + " output '" + path + "': " + reason};
}

// What is in an output directory.
struct Content {
  bool exists = false;
  std::vector<std::string> final_names;
  std::vector<std::string> hidden_names;
  std::vector<std::string> foreign_names;

  void add(const fs::directory_entry& entry) {
    std::error_code error;
    const std::string name = entry.path().filename().string();
    const bool is_file = entry.symlink_status(error).type() == fs::file_type::regular;
    if (is_file && is_final_name(name))
      final_names.push_back(name);
    else if (is_file && is_hidden_name(name))
      hidden_names.push_back(name);
    else
      foreign_names.push_back(name);
  }
};

Result<Content> look_into(const std::string& directory) {
  Content content;
  std::error_code error;
  const fs::file_status status = fs::status(directory, error);
  if (status.type() == fs::file_type::not_found) return content;
  if (fs::exists(status) && !fs::is_directory(status)) {
    return Error{Errc::output_exists,
                 "output '" + directory + "' is a file; name a directory for the part files"};
  }
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) content.add(*entry);
  if (error) return output_failed("look into", directory, error.message());
  content.exists = true;
  std::ranges::sort(content.foreign_names);
  return content;
}

Result<void> check_content(const Content& content, const std::string& directory, bool overwrite) {
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

Result<void> check_size(const std::string& path, std::uint64_t expected) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return output_failed("commit", path, error.message());
  if (size == expected) return {};
  return output_failed("commit", path,
                       "it has " + std::to_string(size) + " bytes instead of the " +
                           std::to_string(expected) + " written; something changed it");
}

Result<void> sync_directory(const std::string& directory) {
  const FileDescriptor opened = open_to_read(directory);
  if (!opened.is_open() || ::fsync(opened.get()) != 0) {
    return output_failed("sync", directory, last_system_reason());
  }
  return {};
}

class PartFileCommitter final : public SinkCommitter {
 public:
  PartFileCommitter(std::string directory, bool overwrite)
      : directory_(std::move(directory)), overwrite_(overwrite) {}

  [[nodiscard]] Result<void> prepare() override {
    const auto before = look_into(directory_);
    if (!before) return before.error();
    WEIR_TRY(check_content(*before, directory_, overwrite_));
    if (!before->exists) WEIR_TRY(make_directory());
    WEIR_TRY(lock());
    const auto content = look_into(directory_);  // again: only now it is ours
    if (!content) return content.error();
    WEIR_TRY(check_content(*content, directory_, overwrite_));
    replaced_ = content->final_names;
    return remove_all(content->hidden_names);
  }

  [[nodiscard]] Result<void> commit(const std::vector<Committable>& committables) override {
    for (const Committable& committable : committables) {
      const auto file = from_bytes<PartFile>(committable.bytes);
      if (!file) return file.error();
      WEIR_TRY(show(*file));
    }
    WEIR_TRY(remove_all(replaced_));
    replaced_.clear();
    WEIR_TRY(remove_hidden());
    WEIR_TRY(sync_directory(directory_));
    lock_ = {};
    return {};
  }

  void abort() override {
    if (!lock_.is_open() && !lock()) return;  // somebody else's
    (void)remove_hidden();                    // nobody is left to whom a failure would matter
    lock_ = {};
    std::error_code error;
    if (std::exchange(made_directory_, false))
      fs::remove(directory_, error);  // unless there is something in it
  }

 private:
  [[nodiscard]] Result<void> make_directory() {
    std::error_code error;
    fs::create_directories(directory_, error);
    if (error) return output_failed("make", directory_, error.message());
    made_directory_ = true;
    return {};
  }

  // Released by the system if this process dies. Where locks do not work, as on some network file
  // systems, there is no protection.
  [[nodiscard]] Result<void> lock() {
    lock_ = open_to_read(directory_);
    if (!lock_.is_open()) return output_failed("open", directory_, last_system_reason());
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
    lock_ = {};
    return Error{
        Errc::output_exists,
        "output '" + directory_ + "' is being written by another job; choose another directory"};
  }

  [[nodiscard]] std::string path_of(const std::string& name) const {
    return (fs::path(directory_) / name).string();
  }

  // Renames, unless that has been done.
  [[nodiscard]] Result<void> show(const PartFile& file) {
    if (!is_hidden_name(file.hidden_name) || !is_final_name(file.final_name)) {
      return Error{Errc::corrupt_data, "committable of output '" + directory_ +
                                           "' names no part file: '" + file.hidden_name + "', '" +
                                           file.final_name + "'"};
    }
    const std::string hidden = path_of(file.hidden_name);
    const std::string shown = path_of(file.final_name);
    std::error_code error;
    if (!fs::exists(hidden, error) && std::ranges::count(replaced_, file.final_name) == 0) {
      return check_size(shown, file.bytes);
    }
    WEIR_TRY(check_size(hidden, file.bytes));
    fs::rename(hidden, shown, error);
    if (error) return output_failed("commit", shown, error.message());
    std::erase(replaced_, file.final_name);
    return {};
  }

  [[nodiscard]] Result<void> remove_hidden() const {
    const auto content = look_into(directory_);
    if (!content) return content.error();
    return remove_all(content->hidden_names);
  }

  [[nodiscard]] Result<void> remove_all(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      std::error_code error;
      fs::remove(path_of(name), error);
      if (error) return output_failed("remove", path_of(name), error.message());
    }
    return {};
  }

  std::string directory_;
  bool overwrite_;
  FileDescriptor lock_;  // the directory, from prepare to commit or abort
  bool made_directory_ = false;
  std::vector<std::string>
      replaced_;  // earlier part files, until new ones of the same names are shown
};

}  // namespace

PartFile part_file(SubtaskIndex subtask, std::uint64_t number, std::uint64_t attempt) {
  const std::string name =
      std::string(part) + std::to_string(subtask.value) + '-' + std::to_string(number);
  return {.hidden_name = '.' + name + std::string(in_progress) + hex(attempt), .final_name = name};
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

Result<void> check_output(const std::string& directory, bool overwrite) {
  const auto content = look_into(directory);
  if (!content) return content.error();
  return check_content(*content, directory, overwrite);
}

std::unique_ptr<SinkCommitter> make_part_file_committer(std::string directory, bool overwrite) {
  return std::make_unique<PartFileCommitter>(std::move(directory), overwrite);
}

}  // namespace weir
