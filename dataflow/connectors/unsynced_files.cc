#include "dataflow/connectors/unsynced_files.h"

#include "base/system_error.h"
#include "dataflow/connectors/part_files.h"

namespace weir {

void UnsyncedFiles::add(std::string path, FileDescriptor descriptor) {
  FileDescriptor& known = files_[std::move(path)];
  if (known.is_open() || !descriptor.is_open()) return;
  known = std::move(descriptor);
  ++open_files_;
}

std::vector<std::string> UnsyncedFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, descriptor] : files_) paths.push_back(path);
  paths.insert(paths.end(), directories_.begin(), directories_.end());
  return paths;
}

Result<void> UnsyncedFiles::sync() {
  auto all = std::exchange(*this, {});
  for (auto& [path, descriptor] : all.files_) {
    const auto failed = [&path = path](const std::string& what) {
      return output_failed(what, path, last_system_reason());
    };
    if (!descriptor.is_open())
      descriptor = FileDescriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!descriptor.is_open()) return failed("open");
    if (::fsync(descriptor.get()) != 0) return failed("sync");
    if (descriptor.close() != 0) return failed("close");
  }
  for (const std::string& directory : all.directories_) WEIR_TRY(sync_directory(directory));
  return {};
}

}  // namespace weir
