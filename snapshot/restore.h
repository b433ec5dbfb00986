// Gives the instances of operators what a checkpoint has for them, whatever their number was when it was taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "snapshot/manifest.h"
#include "snapshot/snapshot_storage.h"
#include "state/keyed_table.h"
#include "state/snapshot.h"

namespace weir {

// An operator instance that wants its state.
struct RestoreTarget {
  std::string operator_name{};
  SubtaskIndex subtask{};
  std::uint32_t parallelism = 0;
  KeyGroupSlice slice{};  // its key groups; max_parallelism also for operators without keys
};

// Reads the state of one instance: the groups of its slice, from whichever instances had them; split lists dealt out
// round robin, or left with their instance if there are as many as before; union lists whole; broadcast state from one
// instance that has any. An operator that the checkpoint does not know, or that had finished, has no state.
//
// Errc::bad_option if the maximum parallelism has changed, input_missing if a file is not there, corrupt_data if one is
// damaged. Blocks on the disk; thread-safe.
[[nodiscard]] Result<RestoredState> restored_state(SnapshotStorage& storage,
                                                   const StoredCheckpoint& checkpoint,
                                                   const RestoreTarget& target);

// A checkpoint that cannot be restored, and why.
struct PassedOver {
  std::string directory{};
  Error reason;
  friend bool operator==(const PassedOver&, const PassedOver&) = default;
};
struct LatestCheckpoint {
  std::optional<StoredCheckpoint> checkpoint{};  // nothing if none is whole
  std::vector<PassedOver> passed_over{};  // newer ones, newest first; those without a manifest too
};

// The newest checkpoint of a job with a good manifest and all files, by presence and size, that is not known to be damaged.
// A job without directory has none. With `job`, those of other jobs are passed over; without, whoever has moved them knows.
[[nodiscard]] Result<LatestCheckpoint> latest_whole(
    SnapshotStorage& storage, const std::string& job_directory,
    const std::map<CheckpointId, Error>& damaged = {}, std::optional<JobId> job = {});

// The checkpoint that a directory is, or the newest whole one of the job whose directory it is. Errc::input_missing if
// there is none, else as of read_manifest and check_files; says what to give instead.
[[nodiscard]] Result<LatestCheckpoint> checkpoint_in(SnapshotStorage& storage,
                                                     const std::string& directory);

}  // namespace weir
