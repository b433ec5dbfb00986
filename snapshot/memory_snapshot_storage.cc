#include "snapshot/memory_snapshot_storage.h"

#include <cerrno>
#include <utility>

#include "base/system_error.h"

namespace weir {
namespace {

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// "a/b" is inside "a"; everything is inside "".
bool is_inside(const std::string& path, const std::string& directory) {
  return directory.empty() || (path.starts_with(directory) && path.size() > directory.size() &&
                               path[directory.size()] == '/');
}

Error cannot(const std::string& task, const std::string& path, int number, Errc code) {
  return system_error("cannot " + task + " memory:" + path, number, code);
}

}  // namespace

class MemorySnapshotStorage::File final : public SnapshotFile {
 public:
  File(MemorySnapshotStorage& storage, std::string path)
      : storage_(storage), path_(std::move(path)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() override {
    const std::lock_guard lock(storage_.mutex_);
    if (!closed_) storage_.files_.erase(path_);
  }

  Result<void> write(std::span<const std::byte> bytes) override {
    const std::lock_guard lock(storage_.mutex_);
    WEIR_TRY(storage_.may(StorageCall::write, path_));
    if (bytes.size() > storage_.capacity_ - std::min(storage_.capacity_, storage_.written_)) {
      return cannot("write", path_, ENOSPC, Errc::output_failed);
    }
    storage_.written_ += bytes.size();
    Bytes& content = storage_.files_[path_];
    content.insert(content.end(), bytes.begin(), bytes.end());
    return {};
  }

  Result<void> close() override {
    const std::lock_guard lock(storage_.mutex_);
    WEIR_TRY(storage_.may(StorageCall::close, path_));
    closed_ = true;
    return {};
  }

 private:
  MemorySnapshotStorage& storage_;
  std::string path_;
  bool closed_ = false;
};

void MemorySnapshotStorage::set_fault(Fault fault) {
  const std::lock_guard lock(mutex_);
  fault_ = std::move(fault);
}

void MemorySnapshotStorage::set_capacity(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  capacity_ = bytes;
}

std::vector<std::string> MemorySnapshotStorage::files() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> paths;
  for (const auto& [path, content] : files_) paths.push_back(path);
  return paths;
}

void MemorySnapshotStorage::put(const std::string& path, Bytes content) {
  const std::lock_guard lock(mutex_);
  add_directories(parent_of(path));
  files_[path] = std::move(content);
}

std::optional<Bytes> MemorySnapshotStorage::content(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  const auto at = files_.find(path);
  if (at == files_.end()) return std::nullopt;
  return at->second;
}

Result<std::unique_ptr<SnapshotFile>> MemorySnapshotStorage::create(const std::string& path) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::create, path));
  const std::string parent = parent_of(path);
  if (!parent.empty() && !directories_.contains(parent)) {
    return cannot("create", path, ENOENT, Errc::output_failed);
  }
  files_[path].clear();
  return std::unique_ptr<SnapshotFile>(std::make_unique<File>(*this, path));
}

Result<void> MemorySnapshotStorage::rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::rename, to));
  auto file = files_.extract(from);
  if (file.empty()) return cannot("rename", from, ENOENT, Errc::output_failed);
  files_[to] = std::move(file.mapped());
  return {};
}

Result<Bytes> MemorySnapshotStorage::read(const std::string& path, std::uint64_t offset,
                                          std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::read, path));
  const auto content = find(path);
  if (!content) return content.error();
  const Bytes& bytes = **content;
  if (offset > bytes.size() || size > bytes.size() - offset) {
    return Error{Errc::corrupt_data, "memory:" + path +
                                         " is truncated: " + std::to_string(bytes.size()) +
                                         " bytes, where byte " + std::to_string(offset) + " and " +
                                         std::to_string(size) + " from there are needed"};
  }
  return Bytes(bytes.data() + offset, bytes.data() + offset + size);
}

Result<std::uint64_t> MemorySnapshotStorage::size(const std::string& path) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::size, path));
  const auto content = find(path);
  if (!content) return content.error();
  return std::uint64_t{(*content)->size()};
}

Result<std::vector<StorageEntry>> MemorySnapshotStorage::list(const std::string& path) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::list, path));
  if (!path.empty() && !directories_.contains(path)) {
    return cannot("read", path, ENOENT, Errc::input_missing);
  }
  std::set<StorageEntry> entries;
  const std::size_t prefix = path.empty() ? 0 : path.size() + 1;
  for (const std::string& directory : directories_) {
    if (!directory.empty() && parent_of(directory) == path) {
      entries.insert({.name = directory.substr(prefix), .is_directory = true});
    }
  }
  for (const auto& [file, content] : files_) {
    if (parent_of(file) == path) entries.insert({.name = file.substr(prefix)});
  }
  return std::vector<StorageEntry>(entries.begin(), entries.end());
}

Result<void> MemorySnapshotStorage::remove(const std::string& path) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::remove, path));
  std::erase_if(
      files_, [&](const auto& file) { return file.first == path || is_inside(file.first, path); });
  std::erase_if(directories_, [&](const std::string& directory) {
    return directory == path || is_inside(directory, path);
  });
  return {};
}

Result<void> MemorySnapshotStorage::make_directories(const std::string& path) {
  const std::lock_guard lock(mutex_);
  WEIR_TRY(may(StorageCall::make_directories, path));
  add_directories(path);
  return {};
}

Result<void> MemorySnapshotStorage::may(StorageCall call, const std::string& path) const {
  if (!fault_) return {};
  auto error = fault_(call, path);
  if (!error) return {};
  return *std::move(error);
}

Result<const Bytes*> MemorySnapshotStorage::find(const std::string& path) const {
  const auto at = files_.find(path);
  if (at == files_.end()) return cannot("read", path, ENOENT, Errc::input_missing);
  return &at->second;
}

void MemorySnapshotStorage::add_directories(std::string path) {
  for (; !path.empty(); path = parent_of(path)) directories_.insert(path);
}

}  // namespace weir
