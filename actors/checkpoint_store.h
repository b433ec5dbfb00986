// The actor that keeps the completed checkpoints of one job.
#pragma once

#include <caf/all.hpp>
#include <memory>
#include <string>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

// Beside the JobManager, with a thread of its own: it writes manifests, removes what is of no more use, and looks for
// the newest checkpoint that is whole.
class CheckpointStore {
 public:
  static constexpr const char* name = "checkpoint-store";

  void begin(CheckpointStoreHandle::base* self, std::shared_ptr<SnapshotStorage> storage, JobId job,
             CheckpointSettings settings, JobManagerHandle job_manager, Logger log);
  void store(const StoreCheckpoint& request);
  void discard(const DiscardCheckpoint& request);
  void find(const FindCheckpoint& request);
  void end(const EndCheckpoints& request);

 private:
  CheckpointStoreHandle::base* self_ = nullptr;
  std::shared_ptr<SnapshotStorage> storage_;
  JobId job_;
  CheckpointSettings settings_;
  JobManagerHandle job_manager_;
  Logger log_;
};

[[nodiscard]] CheckpointStoreHandle::behavior_type checkpoint_store(
    CheckpointStoreHandle::stateful_pointer<CheckpointStore> self,
    std::shared_ptr<SnapshotStorage> storage, JobId job, CheckpointSettings settings,
    JobManagerHandle job_manager, Logger log);

}  // namespace weir
