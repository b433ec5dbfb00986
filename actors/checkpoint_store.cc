#include "actors/checkpoint_store.h"

#include <utility>

#include "snapshot/checkpoint_layout.h"
#include "snapshot/restore.h"
#include "snapshot/retention.h"

namespace weir {

void CheckpointStore::begin(CheckpointStoreHandle::base* self,
                            std::shared_ptr<SnapshotStorage> storage, JobId job,
                            CheckpointSettings settings, JobManagerHandle job_manager, Logger log) {
  log_ = std::move(log);
  self_ = self;
  storage_ = std::move(storage);
  job_ = job;
  settings_ = std::move(settings);
  job_manager_ = std::move(job_manager);
}

void CheckpointStore::store(const StoreCheckpoint& request) {
  const CheckpointId id = request.manifest->id;
  CheckpointStored answer{id, {}};
  if (const auto written =
          write_manifest(*storage_, {checkpoint_directory(job_, id), *request.manifest});
      !written) {
    answer.error = written.error();
  }
  self_->send(job_manager_, std::move(answer));
}

void CheckpointStore::discard(const DiscardCheckpoint& request) {
  // If it fails, it is tried again at the end.
  (void)remove_checkpoint(*storage_, checkpoint_directory(job_, request.checkpoint));
}

void CheckpointStore::find(const FindCheckpoint& request) {
  CheckpointFound answer{request.region, {}, {}, {}, {}};
  auto found = latest_whole(*storage_, job_directory(job_), request.damaged, job_);
  if (!found) {
    answer.error = found.error();
  } else {
    for (const PassedOver& passed : found->passed_over) {
      const auto id = checkpoint_of_path(passed.directory);
      if (!id || *id > request.completed) continue;  // it was never complete, and is not missed
      answer.passed_over.push_back(passed.directory +
                                   " is not restored from: " + passed.reason.message);
    }
    if (found->checkpoint) {
      answer.directory = found->checkpoint->directory;
      for (const OperatorInManifest& op : found->checkpoint->manifest.operators) {
        if (!op.committables.empty()) answer.sinks.push_back(op.name);
      }
    }
  }
  self_->send(job_manager_, std::move(answer));
}

void CheckpointStore::end(const EndCheckpoints& request) {
  if (const auto cleaned =
          clean_up_after_job(*storage_, job_directory(job_), settings_, request.end);
      !cleaned)
    log_.warning("checkpoints of an ended job could not be removed: " + cleaned.error().message);
  self_->quit();
}

CheckpointStoreHandle::behavior_type checkpoint_store(
    CheckpointStoreHandle::stateful_pointer<CheckpointStore> self,
    std::shared_ptr<SnapshotStorage> storage, JobId job, CheckpointSettings settings,
    JobManagerHandle job_manager, Logger log) {
  auto* state = &self->state;
  state->begin(self, std::move(storage), job, std::move(settings), std::move(job_manager),
               std::move(log));
  return {
      [state](const StoreCheckpoint& m) { state->store(m); },
      [state](const DiscardCheckpoint& m) { state->discard(m); },
      [state](const FindCheckpoint& m) { state->find(m); },
      [state](const EndCheckpoints& m) { state->end(m); },
  };
}

}  // namespace weir
