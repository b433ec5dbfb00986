// Where the checkpoints of a job are kept.
#pragma once

#include <memory>
#include <string>

#include "actors/engine_context.h"
#include "base/result.h"
#include "snapshot/checkpoint_settings.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

// The engine's own storage if it has one, as in simulation; else the directory that the job names, which all nodes see.
[[nodiscard]] Result<std::shared_ptr<SnapshotStorage>> checkpoint_storage(
    const EngineContext& engine, const CheckpointSettings& settings);

// A checkpoint's directory, and the storage that it is in.
struct CheckpointPlace {
  std::shared_ptr<SnapshotStorage> storage;
  std::string directory;
};
// An absolute path may be anywhere; else it is within the job's own storage.
[[nodiscard]] Result<CheckpointPlace> checkpoint_place(const EngineContext& engine,
                                                       const CheckpointSettings& settings,
                                                       const std::string& directory);

}  // namespace weir
