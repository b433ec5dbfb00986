// Where checkpoints are kept: the seam between what a checkpoint consists of and a file system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace weir {

// A file that is being written. Without close(), or after a failure, it is removed when the object ends. Not
// thread-safe.
class SnapshotFile {
 public:
  virtual ~SnapshotFile() = default;
  [[nodiscard]] virtual Result<void> write(std::span<const std::byte> bytes) = 0;
  // What was written survives a loss of power once the directory is synced too: see rename. Once, as the last call.
  [[nodiscard]] virtual Result<void> close() = 0;
};

struct StorageEntry {
  std::string name;
  bool is_directory = false;
  friend auto operator<=>(const StorageEntry&, const StorageEntry&) = default;
};

// Paths are relative to the storage's root, their parts joined by '/'; "" is the root. Errors name the whole path and
// the system's reason: Errc::output_failed if something cannot be written, input_missing if it is not there,
// input_unreadable if it cannot be read. Calls block on the disk. Thread-safe.
class SnapshotStorage {
 public:
  virtual ~SnapshotStorage() = default;

  // For people: "/var/weir/checkpoints".
  [[nodiscard]] virtual std::string root() const = 0;

  // Replaces a file of that name. Its directory exists. The storage outlives the file.
  [[nodiscard]] virtual Result<std::unique_ptr<SnapshotFile>> create(const std::string& path) = 0;
  // Replaces a file of that name at once, and then makes both the new name and all else in its directory durable.
  [[nodiscard]] virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  // Exactly these bytes; Errc::corrupt_data if the file ends before.
  [[nodiscard]] virtual Result<Bytes> read(const std::string& path, std::uint64_t offset,
                                           std::uint64_t size) = 0;
  [[nodiscard]] virtual Result<std::uint64_t> size(const std::string& path) = 0;
  // Sorted by name.
  [[nodiscard]] virtual Result<std::vector<StorageEntry>> list(const std::string& path) = 0;
  // A file, or a directory with all that is in it. Nothing there is no error.
  [[nodiscard]] virtual Result<void> remove(const std::string& path) = 0;
  // With those above it, durably; those that exist are no error.
  [[nodiscard]] virtual Result<void> make_directories(const std::string& path) = 0;
};

// Whether the storage can be written: makes its root, and writes and removes a file there. For the moment when a job is
// submitted. The error says what to do.
[[nodiscard]] Result<void> check_writable(SnapshotStorage& storage);

}  // namespace weir
