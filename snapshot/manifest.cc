#include "snapshot/manifest.h"

#include <algorithm>

#include "snapshot/checkpoint_layout.h"

namespace weir {
namespace {

std::string metadata_path(const std::string& directory) {
  return directory + '/' + std::string(manifest_name);
}

Error about(const SnapshotStorage& storage, const std::string& path, const Error& error) {
  return {error.code, storage.root() + '/' + path + ' ' + error.message};
}

// The id is in the directory's name too, unless somebody has moved it.
bool is_where_it_belongs(const StoredCheckpoint& checkpoint) {
  const std::string& directory = checkpoint.directory;
  const auto id = checkpoint_of_path(directory);
  return !id || *id == checkpoint.manifest.id;
}

Result<void> write_and_rename(SnapshotStorage& storage, const std::string& directory,
                              const std::string& temporary, const Bytes& bytes) {
  auto file = storage.create(temporary);
  if (!file) return file.error();
  WEIR_TRY((*file)->write(bytes));
  WEIR_TRY((*file)->close());
  return storage.rename(temporary, metadata_path(directory));
}

}  // namespace

const OperatorInManifest* CheckpointManifest::find(const std::string& operator_name) const {
  const auto at = std::ranges::find(operators, operator_name, &OperatorInManifest::name);
  return at == operators.end() ? nullptr : &*at;
}

std::uint64_t CheckpointManifest::state_bytes() const {
  std::uint64_t sum = 0;
  for (const StateFile& file : files) sum += file.size;
  return sum;
}

Result<void> write_manifest(SnapshotStorage& storage, const StoredCheckpoint& checkpoint) {
  const auto bytes = encode_manifest(checkpoint.manifest);
  if (!bytes) return bytes.error();
  WEIR_TRY(storage.make_directories(checkpoint.directory));
  const std::string temporary = metadata_path(checkpoint.directory) + ".writing";
  const auto written = write_and_rename(storage, checkpoint.directory, temporary, *bytes);
  // It failed already: what the removal says adds nothing.
  if (!written) (void)storage.remove(temporary).has_value();
  return written;
}

Result<StoredCheckpoint> read_manifest(SnapshotStorage& storage, const std::string& directory) {
  const std::string path = metadata_path(directory);
  const auto size = storage.size(path);
  if (!size) return size.error();
  const auto bytes = storage.read(path, 0, *size);
  if (!bytes) return bytes.error();
  auto manifest = decode_manifest(*bytes);
  if (!manifest) return about(storage, path, manifest.error());
  StoredCheckpoint checkpoint{.directory = directory, .manifest = *std::move(manifest)};
  if (!is_where_it_belongs(checkpoint)) {
    return about(storage, path,
                 {Errc::corrupt_data, "is that of checkpoint " +
                                          std::to_string(checkpoint.manifest.id.value) +
                                          ": it has been moved here"});
  }
  return checkpoint;
}

Result<void> check_files(SnapshotStorage& storage, const StoredCheckpoint& checkpoint) {
  for (const StateFile& file : checkpoint.manifest.files) {
    if (file.name.empty()) continue;
    const std::string path = checkpoint.directory + '/' + file.name;
    const auto size = storage.size(path);
    if (!size) return size.error();
    if (*size == file.size) continue;
    return about(storage, path,
                 {Errc::corrupt_data,
                  (*size < file.size ? "is truncated: " : "is too long: ") + std::to_string(*size) +
                      " bytes, where the manifest has " + std::to_string(file.size)});
  }
  return {};
}

}  // namespace weir
