// Where the parts of a job's checkpoints lie in the storage: the directory people know.
//
//   {root}/{job-id}/shared/ taskowned/ chk-N/_metadata and the tasks' files
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

inline constexpr std::string_view manifest_name = "_metadata";

// "00000000000000ff"
[[nodiscard]] std::string job_directory(JobId job);
// "00000000000000ff/chk-7"
[[nodiscard]] std::string checkpoint_directory(JobId job, CheckpointId id);
[[nodiscard]] std::string checkpoint_directory_in(const std::string& job_directory,
                                                  CheckpointId id);
// The id that the name of a directory has, "chk-7"; nothing if it is another kind of name.
[[nodiscard]] std::optional<CheckpointId> checkpoint_of(std::string_view name);

// The same of the last name in a path.
[[nodiscard]] std::optional<CheckpointId> checkpoint_of_path(std::string_view path);

// Makes the job's directory with shared/ and taskowned/. Those of checkpoints are made by whoever writes into them.
[[nodiscard]] Result<void> make_job_directories(SnapshotStorage& storage, JobId job);

}  // namespace weir
