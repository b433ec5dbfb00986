// Where the checkpoints of a job are kept.
#pragma once

#include <memory>

#include "actors/engine_context.h"
#include "base/result.h"
#include "snapshot/checkpoint_settings.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

// The engine's own storage if it has one, as in simulation; else the directory that the job names, which all nodes see.
[[nodiscard]] Result<std::shared_ptr<SnapshotStorage>> checkpoint_storage(
    const EngineContext& engine, const CheckpointSettings& settings);

}  // namespace weir
