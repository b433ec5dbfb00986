// Where an execution begins: nowhere, or at a checkpoint.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "dataflow/sink.h"
#include "snapshot/manifest.h"
#include "snapshot/snapshot_storage.h"
#include "state/snapshot.h"

namespace weir {

// A checkpoint's manifest, read once, with what is needed to read the rest. Cheap to copy; thread-safe.
class RestorePoint {
 public:
  RestorePoint() = default;  // begin anew
  // `directory` is that of the checkpoint, see CheckpointFound.
  [[nodiscard]] static Result<RestorePoint> read(std::shared_ptr<SnapshotStorage> storage,
                                                 const std::string& directory);

  // What a failure to begin there says of the checkpoint: Errc::checkpoint_damaged for corrupt data, since the master has
  // looked whether everything is there, and has not read it.
  [[nodiscard]] static Error about(Error error);

  [[nodiscard]] explicit operator bool() const { return content_ != nullptr; }
  // Each requires that this is a checkpoint.
  [[nodiscard]] Result<RestoredState> state_of(const std::string& operator_name,
                                               SubtaskIndex subtask, std::uint32_t parallelism,
                                               const KeyGroupSlice& keys) const;
  // Whether this subtask of each of the operators had finished; after a change of parallelism, whether all had.
  [[nodiscard]] bool has_finished(const std::vector<std::string>& operators, SubtaskIndex subtask,
                                  std::uint32_t parallelism) const;
  // Also of an operator without state; false if this is no checkpoint.
  [[nodiscard]] bool knows(const std::string& operator_name) const;
  // Null if it has none; lives as long as the restore point.
  [[nodiscard]] const Bytes* coordinator_state(const std::string& operator_name) const;
  [[nodiscard]] std::vector<Committable> committables(const std::string& operator_name) const;

 private:
  struct Content {
    std::shared_ptr<SnapshotStorage> storage;
    StoredCheckpoint checkpoint;
  };
  std::shared_ptr<const Content> content_;  // shared by the tasks of a host
};

}  // namespace weir
