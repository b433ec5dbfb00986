// Files and names that have been written and may still be lost with the machine.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/result.h"

namespace weir {

// Collected by the thread that writes, synced by one that may wait for the disk. A value that is moved from one to the
// other; not thread-safe.
class UnsyncedFiles {
 public:
  // With the descriptor by which it was written, or another of it, a failure to write back is sure to be reported. One
  // without is opened again. A file that is there already is not added again.
  void add(std::string path, FileDescriptor descriptor = {});
  // In which files were made.
  void add_directory(std::string path) { directories_.insert(std::move(path)); }

  [[nodiscard]] bool empty() const { return files_.empty() && directories_.empty(); }
  // How many files are held open.
  [[nodiscard]] std::size_t open_files() const { return open_files_; }
  [[nodiscard]] std::vector<std::string> paths() const;

  // Makes all of it durable and forgets it. Errc::output_failed, with file and system's reason, at the first failure.
  [[nodiscard]] Result<void> sync();

 private:
  std::map<std::string, FileDescriptor> files_;  // by path
  std::set<std::string> directories_;
  std::size_t open_files_ = 0;
};

}  // namespace weir
