#include "actors/checkpoint_storage.h"

#include <filesystem>
#include <utility>

#include "snapshot/file_snapshot_storage.h"

namespace weir {

Result<std::shared_ptr<SnapshotStorage>> checkpoint_storage(const EngineContext& engine,
                                                            const CheckpointSettings& settings) {
  if (engine.snapshot_storage != nullptr) return engine.snapshot_storage;
  auto path = checkpoint_directory_path(settings.directory);
  if (!path) return path.error();
  return std::shared_ptr<SnapshotStorage>(make_file_snapshot_storage(*std::move(path)));
}

Result<CheckpointPlace> checkpoint_place(const EngineContext& engine,
                                         const CheckpointSettings& settings,
                                         const std::string& directory) {
  const std::filesystem::path path = directory;
  if (path.is_absolute()) {
    return CheckpointPlace{make_file_snapshot_storage(path.parent_path()),
                           path.filename().string()};
  }
  auto storage = checkpoint_storage(engine, settings);
  if (!storage) return storage.error();
  return CheckpointPlace{*std::move(storage), directory};
}

}  // namespace weir
