// Checkpoints in memory, for tests and the simulation: they can be damaged, and calls made to fail.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "snapshot/snapshot_storage.h"

namespace weir {

enum class StorageCall : std::uint8_t {
  create,
  write,
  close,
  rename,
  read,
  size,
  list,
  remove,
  make_directories
};

// Behaves as a directory does. Thread-safe.
class MemorySnapshotStorage final : public SnapshotStorage {
 public:
  // Asked before each call, with the path it is about; an error is what the call then returns. Must not call the
  // storage.
  using Fault = std::function<std::optional<Error>(StorageCall call, const std::string& path)>;
  void set_fault(Fault fault);
  // Writing more than this in all fails as a full disk does.
  void set_capacity(std::uint64_t bytes);

  // The paths of all files, sorted.
  [[nodiscard]] std::vector<std::string> files() const;
  // Puts a file there as it is, with its directories: damage, or what a crash has left.
  void put(const std::string& path, Bytes content);
  // Nothing if there is none.
  [[nodiscard]] std::optional<Bytes> content(const std::string& path) const;

  [[nodiscard]] std::string root() const override { return "memory:"; }
  [[nodiscard]] Result<std::unique_ptr<SnapshotFile>> create(const std::string& path) override;
  [[nodiscard]] Result<void> rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] Result<Bytes> read(const std::string& path, std::uint64_t offset,
                                   std::uint64_t size) override;
  [[nodiscard]] Result<std::uint64_t> size(const std::string& path) override;
  [[nodiscard]] Result<std::vector<StorageEntry>> list(const std::string& path) override;
  [[nodiscard]] Result<void> remove(const std::string& path) override;
  [[nodiscard]] Result<void> make_directories(const std::string& path) override;

 private:
  class File;
  // Each with mutex_ held.
  [[nodiscard]] Result<void> may(StorageCall call, const std::string& path) const;
  [[nodiscard]] Result<const Bytes*> find(const std::string& path) const;
  void add_directories(std::string path);

  mutable std::mutex mutex_;
  Fault fault_;
  std::uint64_t capacity_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t written_ = 0;
  std::map<std::string, Bytes> files_;
  std::set<std::string> directories_;  // without the root
};

}  // namespace weir
