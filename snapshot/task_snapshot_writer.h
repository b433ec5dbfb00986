// Writes the frozen state of a task into a checkpoint.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "snapshot/snapshot_storage.h"
#include "snapshot/task_snapshot.h"
#include "state/snapshot.h"

namespace weir {

// One operator of the task's chain, as it was at the barrier.
struct OperatorFrozen {
  std::string operator_name{};
  SubtaskIndex subtask{};
  std::uint32_t parallelism = 0;
  std::uint32_t max_parallelism = 0;
  FrozenState state{};
};

// "task-1-0-attempt-3": no two writers of a checkpoint share a file.
[[nodiscard]] std::string state_file_name(SnapshotTaskId task, AttemptId attempt);

// Writes everything into one file of the directory, which is made if it is missing, or keeps it inline if it is no more
// than the threshold. Holds about one key group, or the threshold, in memory. What it returns lacks committables and
// times. On failure (Errc::output_failed; Errc::user_code if encoding threw; Errc::cancelled soon after a stop was
// requested) no file is left.
//
// Blocks on the disk. Each frozen state is read here, by this thread.
[[nodiscard]] Result<TaskSnapshot> write_task_snapshot(SnapshotStorage& storage,
                                                       const std::string& directory,
                                                       const std::string& file_name,
                                                       std::vector<OperatorFrozen> operators,
                                                       std::uint64_t inline_threshold_bytes,
                                                       std::stop_token stop = {});

}  // namespace weir
