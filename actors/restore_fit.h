// Whether a job can begin from a checkpoint that may be another job's.
#pragma once

#include <string>

#include "base/result.h"
#include "dataflow/plan/job_graph.h"
#include "snapshot/manifest.h"

namespace weir {

// Steps are known by their names. One that the checkpoint does not know begins without state, but all state that it holds
// must have a step: Errc::state_mismatch names what has none. Errc::bad_option if the maximum parallelism of a step with
// keyed state has changed. `path` is the checkpoint's, for messages. Whether types fit shows when the steps are opened.
[[nodiscard]] Result<void> check_fits(const CheckpointManifest& manifest, const JobGraph& graph,
                                      const std::string& path);

}  // namespace weir
