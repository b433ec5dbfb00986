#include "actors/checkpoint_storage.h"

#include "snapshot/file_snapshot_storage.h"

namespace weir {

Result<std::shared_ptr<SnapshotStorage>> checkpoint_storage(const EngineContext& engine,
                                                            const CheckpointSettings& settings) {
  if (engine.snapshot_storage != nullptr) return engine.snapshot_storage;
  auto path = checkpoint_directory_path(settings.directory);
  if (!path) return path.error();
  return std::shared_ptr<SnapshotStorage>(make_file_snapshot_storage(*std::move(path)));
}

}  // namespace weir
