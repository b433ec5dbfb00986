// Decides which checkpoints stay: while a job runs, and when it has ended.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "snapshot/checkpoint_settings.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

enum class JobEnd : std::uint8_t { finished, failed, canceled };

// Whether a job's checkpoints stay when it ends so.
[[nodiscard]] bool outlives_job(ExternalizedRetention retention, JobEnd end);

// One that is found in a job's directory.
struct FoundCheckpoint {
  CheckpointId id{};
  bool complete = false;  // it has a manifest
  friend bool operator==(const FoundCheckpoint&, const FoundCheckpoint&) = default;
};
// Ascending. A job without directory has none.
[[nodiscard]] Result<std::vector<FoundCheckpoint>> find_checkpoints(
    SnapshotStorage& storage, const std::string& job_directory);

// Which of them can go: all but the newest `retained` complete ones and those under way. Half-written and aborted ones
// are among them.
[[nodiscard]] std::vector<CheckpointId> dispensable(const std::vector<FoundCheckpoint>& found,
                                                    std::uint32_t retained,
                                                    const std::set<CheckpointId>& under_way);

// Removes what is dispensable; the manifest goes first, so that what is half removed is not taken for whole. Goes on after
// a failure and returns the first.
[[nodiscard]] Result<void> remove_dispensable(SnapshotStorage& storage,
                                              const std::string& job_directory,
                                              std::uint32_t retained,
                                              const std::set<CheckpointId>& under_way);
// The same for one checkpoint.
[[nodiscard]] Result<void> remove_checkpoint(SnapshotStorage& storage,
                                             const std::string& directory);
// To be called once all tasks have ended: what remains is what outlives the job, without half-written checkpoints and
// orphans, or nothing at all, not even the directory.
[[nodiscard]] Result<void> clean_up_after_job(SnapshotStorage& storage,
                                              const std::string& job_directory,
                                              const CheckpointSettings& settings, JobEnd end);

}  // namespace weir
