#include "dataflow/connectors/part_file_committer.h"

#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/file_descriptor.h"
#include "base/system_error.h"
#include "dataflow/connectors/part_files.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

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
    WEIR_TRY(check_output(directory_, overwrite_));
    WEIR_TRY(make_directory());
    WEIR_TRY(lock());
    WEIR_TRY(check_output(directory_, overwrite_));  // again: only now it is ours
    const auto content = look_into(directory_);
    if (!content) return content.error();
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
    shown_.clear();
    WEIR_TRY(remove_hidden());
    WEIR_TRY(sync_directory(directory_));
    lock_ = {};
    return {};
  }

  void abort() override {
    if (!lock_.is_open() && !lock()) return;  // it is somebody else's
    (void)remove_all(shown_);                 // of a commit that failed half way
    (void)remove_hidden();                    // nobody is left to whom a failure would matter
    lock_ = {};
    std::error_code error;  // that it is not empty
    if (std::exchange(made_directory_, false)) fs::remove(directory_, error);
  }

 private:
  [[nodiscard]] Result<void> make_directory() {
    std::error_code error;
    made_directory_ = fs::create_directories(directory_, error);
    if (error) return output_failed("make", directory_, error.message());
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
    if (std::erase(replaced_, file.final_name) == 0) shown_.push_back(file.final_name);
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
  // Earlier part files, which the first commit removes unless a new one has taken the name.
  std::vector<std::string> replaced_;
  // What the commit under way has made visible; not what took the name of an earlier file, which is gone.
  std::vector<std::string> shown_;
};

}  // namespace

std::unique_ptr<SinkCommitter> make_part_file_committer(std::string directory, bool overwrite) {
  return std::make_unique<PartFileCommitter>(std::move(directory), overwrite);
}

}  // namespace weir
