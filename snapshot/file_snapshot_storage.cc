#include "snapshot/file_snapshot_storage.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_descriptor.h"
#include "base/system_error.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr mode_t file_mode = 0644;
constexpr mode_t directory_mode = 0755;

Error cannot(std::string_view task, const fs::path& path, int number, Errc code) {
  return system_error("cannot " + std::string(task) + ' ' + path.string(), number, code);
}

Error cannot_write(const fs::path& path, int number) {
  return cannot("write", path, number, Errc::output_failed);
}

Error cannot_read(const fs::path& path, int number) {
  const bool missing = number == ENOENT || number == ENOTDIR;
  return cannot("read", path, number, missing ? Errc::input_missing : Errc::input_unreadable);
}

Result<void> sync_directory(const fs::path& path) {
  const FileDescriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0) return cannot_write(path, errno);
  return {};
}

class LocalFile final : public SnapshotFile {
 public:
  LocalFile(fs::path path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;
  ~LocalFile() override {
    if (!closed_) ::unlink(path_.c_str());
  }

  Result<void> write(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return cannot_write(path_, errno);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  Result<void> close() override {
    if (::fsync(file_.get()) != 0) return cannot_write(path_, errno);
    if (file_.close() != 0) return cannot_write(path_, errno);
    closed_ = true;
    return {};
  }

 private:
  fs::path path_;
  FileDescriptor file_;
  bool closed_ = false;
};

class LocalDirectory final : public SnapshotStorage {
 public:
  explicit LocalDirectory(fs::path root) : root_(std::move(root)) {}

  std::string root() const override { return root_.string(); }

  Result<std::unique_ptr<SnapshotFile>> create(const std::string& path) override {
    const fs::path whole = at(path);
    FileDescriptor file(::open(whole.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, file_mode));
    if (!file.is_open()) return cannot("create", whole, errno, Errc::output_failed);
    return std::unique_ptr<SnapshotFile>(std::make_unique<LocalFile>(whole, std::move(file)));
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(at(from).c_str(), at(to).c_str()) != 0) {
      return cannot("rename " + at(from).string() + " to", at(to), errno, Errc::output_failed);
    }
    return sync_directory(at(to).parent_path());
  }

  Result<Bytes> read(const std::string& path, std::uint64_t offset, std::uint64_t size) override {
    const fs::path whole = at(path);
    const FileDescriptor file = open_to_read(whole.string());
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0) return cannot_read(whole, errno);
    const auto there = static_cast<std::uint64_t>(status.st_size);
    // Before anything is allocated: the size may come from a damaged file.
    if (offset > there || size > there - offset) return too_short(whole, there, offset, size);
    Bytes bytes(size);
    std::uint64_t done = 0;
    while (done < size) {
      const ssize_t got =
          ::pread(file.get(), bytes.data() + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return cannot_read(whole, errno);
      if (got == 0) return too_short(whole, offset + done, offset, size);
      done += static_cast<std::uint64_t>(got);
    }
    return bytes;
  }

  Result<std::uint64_t> size(const std::string& path) override {
    struct stat status {};
    if (::stat(at(path).c_str(), &status) != 0) return cannot_read(at(path), errno);
    if (!S_ISREG(status.st_mode)) return cannot_read(at(path), EISDIR);
    return static_cast<std::uint64_t>(status.st_size);
  }

  Result<std::vector<StorageEntry>> list(const std::string& path) override {
    std::error_code error;
    std::vector<StorageEntry> entries;
    fs::directory_iterator entry(at(path), error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      std::error_code none;  // what vanishes meanwhile is no directory
      entries.push_back(
          {.name = entry->path().filename().string(), .is_directory = entry->is_directory(none)});
    }
    if (error) return cannot_read(at(path), error.value());
    std::ranges::sort(entries);
    return entries;
  }

  Result<void> remove(const std::string& path) override {
    std::error_code error;
    fs::remove_all(at(path), error);
    if (error) return cannot("remove", at(path), error.value(), Errc::output_failed);
    return {};
  }

  Result<void> make_directories(const std::string& path) override { return make(at(path)); }

 private:
  static Error too_short(const fs::path& path, std::uint64_t there, std::uint64_t offset,
                         std::uint64_t size) {
    return {Errc::corrupt_data, path.string() + " is truncated: " + std::to_string(there) +
                                    " bytes, where byte " + std::to_string(offset) + " and " +
                                    std::to_string(size) + " from there are needed"};
  }

  static Result<void> make(const fs::path& path) {
    std::error_code error;
    if (path.empty() || fs::is_directory(path, error)) return {};
    WEIR_TRY(make(path.parent_path()));
    if (::mkdir(path.c_str(), directory_mode) != 0) {
      const int number = errno;
      // Another thread or process may have been faster, or a file may be in the way.
      const bool exists = number == EEXIST;
      if (exists && fs::is_directory(path, error)) return {};
      return cannot("make the directory", path, exists ? ENOTDIR : number, Errc::output_failed);
    }
    return sync_directory(path.has_parent_path() ? path.parent_path() : ".");
  }

  [[nodiscard]] fs::path at(const std::string& path) const {
    return path.empty() ? root_ : root_ / path;
  }

  fs::path root_;
};

}  // namespace

std::unique_ptr<SnapshotStorage> make_file_snapshot_storage(fs::path root) {
  // "dir/" and "dir" are the same, and have the same parent.
  if (!root.has_filename() && root.has_parent_path()) root = root.parent_path();
  return std::make_unique<LocalDirectory>(std::move(root));
}

}  // namespace weir
