#include "dataflow/connectors/part_file_committer.h"

#include <sys/file.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
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

enum class Locked : std::uint8_t { yes, by_another };

Result<void> check_size(const std::string& path, std::uint64_t expected) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return output_error("commit", path, error);
  if (size == expected) return {};
  return output_lost("commit", path,
                     "it has " + std::to_string(size) + " bytes instead of the " +
                         std::to_string(expected) + " written; something changed it");
}

std::string directory_of(const std::string& path) {
  const std::string parent = fs::absolute(path).lexically_normal().parent_path().string();
  return parent.empty() ? "/" : parent;
}

class PartFileCommitter final : public SinkCommitter {
 public:
  PartFileCommitter(std::string directory, bool overwrite, LockPatience patience)
      : directory_(std::move(directory)), overwrite_(overwrite), patience_(std::move(patience)) {}

  [[nodiscard]] Result<void> prepare() override {
    WEIR_TRY(check_output(directory_, overwrite_));
    WEIR_TRY(make_directory());
    WEIR_TRY(lock());
    WEIR_TRY(check_output(directory_, overwrite_));  // again: only now it is ours
    const auto content = look_into(directory_);
    if (!content) return content.error();
    WEIR_TRY(remove_all(content->hidden_names));
    replaced_ = {content->final_names.begin(), content->final_names.end()};
    return replaced_.empty() ? Result<void>{} : keep_replaced();
  }

  [[nodiscard]] Result<void> restore(const std::vector<Committable>& pending) override {
    WEIR_TRY(make_directory());
    WEIR_TRY(lock_again());
    WEIR_TRY(find_replaced());
    const auto files = decoded(pending);
    if (!files) return files.error();
    WEIR_TRY(show_all(*files));
    shown_.clear();  // what a checkpoint holds stays
    const auto content = look_into(directory_);
    if (!content) return content.error();
    leftovers_ = {content->hidden_names.begin(), content->hidden_names.end()};
    leftovers_.erase(std::string(replaced_files_name));
    for (const PartFile& file : *files) restored_.insert(file.hidden_name);
    return {};
  }

  [[nodiscard]] Result<void> commit(const std::vector<Committable>& committables) override {
    const auto files = decoded(committables);
    if (!files) return files.error();
    WEIR_TRY(show_all(*files));
    shown_.clear();
    return remove_leftovers(*files);
  }

  [[nodiscard]] Result<void> finish() override {
    WEIR_TRY(remove_replaced());
    WEIR_TRY(remove_hidden());
    WEIR_TRY(sync_directory(directory_));
    lock_ = {};
    return {};
  }

  void abort() override {
    const auto locked = lock_.is_open() ? Locked::yes : try_lock();
    if (!locked || *locked == Locked::by_another) return;
    (void)remove_all(shown_);  // of a commit that failed half way
    (void)remove_hidden();     // nobody is left to whom a failure would matter
    lock_ = {};
    std::error_code error;  // that it is not empty
    if (std::exchange(made_directory_, false)) fs::remove(directory_, error);
  }

 private:
  [[nodiscard]] Result<void> make_directory() {
    std::error_code error;
    const bool made = fs::create_directories(directory_, error);
    if (error) return output_failed("make", directory_, error.message());
    if (!made) return {};
    made_directory_ = true;
    return sync_directory(directory_of(directory_));
  }

  // Released by the system if this process dies. Where locks do not work, as on some network file
  // systems, there is no protection.
  [[nodiscard]] Result<Locked> try_lock() {
    lock_ = open_to_read(directory_);
    if (!lock_.is_open()) return output_failed("open", directory_, last_system_reason());
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return Locked::yes;
    lock_ = {};
    return Locked::by_another;
  }

  [[nodiscard]] Result<void> lock() {
    const auto locked = try_lock();
    if (!locked) return locked.error();
    if (*locked == Locked::yes) return {};
    return Error{
        Errc::output_exists,
        "output '" + directory_ + "' is being written by another job; choose another directory"};
  }
  // Most likely an earlier process of this job has it, which is frozen or out of reach: that passes.
  [[nodiscard]] Result<void> lock_again() {
    for (int look = 0; look < patience_.looks; ++look) {
      if (look > 0) patience_.wait(patience_.between_looks);
      const auto locked = try_lock();
      if (!locked) return locked.error();
      if (*locked == Locked::yes) return {};
    }
    return output_failed("go on with", directory_,
                         "an earlier process of this job, or another job, still writes it");
  }

  [[nodiscard]] std::string path_of(const std::string& name) const {
    return (fs::path(directory_) / name).string();
  }

  [[nodiscard]] Result<std::vector<PartFile>> decoded(
      const std::vector<Committable>& committables) const {
    std::vector<PartFile> files;
    for (const Committable& committable : committables) {
      auto file = from_bytes<PartFile>(committable.bytes);
      if (!file) return file.error();
      if (!is_well_formed(*file)) {
        return Error{Errc::corrupt_data, "committable of output '" + directory_ +
                                             "' names no part file: '" + file->hidden_name +
                                             "', '" + file->final_name + "'"};
      }
      files.push_back(std::move(*file));
    }
    return files;
  }

  // Earlier output goes once nothing but the renames can fail.
  [[nodiscard]] Result<void> show_all(const std::vector<PartFile>& files) {
    for (const PartFile& file : files) WEIR_TRY(check(file));
    if (files.empty()) return {};
    WEIR_TRY(remove_replaced());
    std::set<std::string> changed;
    for (const PartFile& file : files) {
      WEIR_TRY(show(file));
      changed.insert(bucket_of(file.final_name));
    }
    for (const std::string& bucket : changed) WEIR_TRY(sync_directory(path_of(bucket)));
    return {};
  }

  // Whether it is as it was written, hidden or shown.
  [[nodiscard]] Result<void> check(const PartFile& file) const {
    const bool is_earlier = replaced_.contains(file.final_name);
    const std::string shown = path_of(file.final_name);
    if (!is_hidden(file))
      return check_size(is_earlier ? path_of(file.hidden_name) : shown, file.bytes);
    std::error_code error;
    if (fs::exists(shown, error) && !is_earlier) {
      return output_lost("commit", shown,
                         "a file of this name is there; was the job restored from a checkpoint "
                         "that is not its latest?");
    }
    return check_size(path_of(file.hidden_name), file.bytes);
  }

  // Renames, unless that has been done.
  [[nodiscard]] Result<void> show(const PartFile& file) {
    if (!is_hidden(file)) return {};
    std::error_code error;
    fs::rename(path_of(file.hidden_name), path_of(file.final_name), error);
    if (error) return output_error("commit", path_of(file.final_name), error);
    shown_.push_back(file.final_name);
    return {};
  }

  [[nodiscard]] bool is_hidden(const PartFile& file) const {
    std::error_code error;
    return fs::exists(path_of(file.hidden_name), error);
  }

  // As long as the list is there, nothing of this job is visible. Whoever finds it incomplete would
  // take earlier files for the job's own, so it comes whole or not at all.
  [[nodiscard]] Result<void> keep_replaced() const {
    const std::string list = path_of(std::string(replaced_files_name));
    const std::string unfinished = path_of(part_file({}, 0).hidden_name);
    {
      std::ofstream file(unfinished);
      for (const std::string& name : replaced_) file << name << '\n';
      if (!file.flush()) return output_failed("write", unfinished, last_system_reason());
    }
    const FileDescriptor written = open_to_read(unfinished);
    if (!written.is_open() || ::fsync(written.get()) != 0) {
      return output_failed("sync", unfinished, last_system_reason());
    }
    std::error_code error;
    fs::rename(unfinished, list, error);
    if (error) return output_failed("write", list, error.message());
    return sync_directory(directory_);
  }

  [[nodiscard]] Result<void> find_replaced() {
    replaced_.clear();
    std::ifstream file(path_of(std::string(replaced_files_name)));
    for (std::string name; std::getline(file, name);) replaced_.insert(name);
    if (file.bad()) {
      return output_failed("read", path_of(std::string(replaced_files_name)), last_system_reason());
    }
    return {};
  }

  [[nodiscard]] Result<void> remove_replaced() {
    if (replaced_.empty()) return {};
    WEIR_TRY(remove_all(replaced_));
    std::set<std::string> buckets;
    for (const std::string& name : replaced_) buckets.insert(bucket_of(name));
    for (const std::string& bucket : buckets) {
      std::error_code error;  // a bucket without files may have gone
      if (fs::exists(path_of(bucket), error)) WEIR_TRY(sync_directory(path_of(bucket)));
    }
    WEIR_TRY(remove_all(std::set{std::string(replaced_files_name)}));
    replaced_.clear();
    return sync_directory(directory_);
  }

  [[nodiscard]] Result<void> remove_leftovers(const std::vector<PartFile>& committed) {
    for (const PartFile& file : committed) leftovers_.erase(file.hidden_name);
    const bool newer = std::ranges::any_of(
        committed, [&](const PartFile& file) { return !restored_.contains(file.hidden_name); });
    if (!newer) return {};
    return remove_all(std::exchange(leftovers_, {}));
  }

  [[nodiscard]] Result<void> remove_hidden() const {
    const auto content = look_into(directory_);
    if (!content) return content.error();
    WEIR_TRY(remove_all(content->hidden_names));
    for (auto bucket = content->directories.rbegin(); bucket != content->directories.rend();
         ++bucket) {
      std::error_code error;  // that it is not empty
      fs::remove(path_of(*bucket), error);
    }
    return {};
  }

  template <class Names>
  [[nodiscard]] Result<void> remove_all(const Names& names) const {
    for (const std::string& name : names) {
      std::error_code error;
      fs::remove(path_of(name), error);
      if (error) return output_failed("remove", path_of(name), error.message());
    }
    return {};
  }

  std::string directory_;
  bool overwrite_;
  LockPatience patience_;
  FileDescriptor lock_;  // the directory
  bool made_directory_ = false;
  std::set<std::string> replaced_;   // part files of an earlier job, which are still there
  std::vector<std::string> shown_;   // by the commit under way
  std::set<std::string> restored_;   // hidden names of what restore() has committed
  std::set<std::string> leftovers_;  // hidden files from before restore()
};

}  // namespace

std::unique_ptr<SinkCommitter> make_part_file_committer(std::string directory, bool overwrite,
                                                        LockPatience patience) {
  return std::make_unique<PartFileCommitter>(std::move(directory), overwrite, std::move(patience));
}

}  // namespace weir
