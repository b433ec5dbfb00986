// Checkpoints in a directory of the local file system, or of one that is mounted on all nodes.
#pragma once

#include <filesystem>
#include <memory>

#include "snapshot/snapshot_storage.h"

namespace weir {

// Touches nothing yet. Files are synced when they are closed, directories when names in them change.
[[nodiscard]] std::unique_ptr<SnapshotStorage> make_file_snapshot_storage(
    std::filesystem::path root);

}  // namespace weir
