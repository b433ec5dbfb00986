// The checkpoints of a job, as `inspect checkpoints` tells them.
#pragma once

#include <string>

#include "actors/inspection.h"
#include "actors/inspection_json.h"

namespace weir {

// The last checkpoints, newest first, with how long each took and why the last one that failed did; what each task had
// to do with the newest that completed.
[[nodiscard]] std::string checkpoints_text(const JobSample& sample);
[[nodiscard]] std::string checkpoints_json(const JobSample& sample, JsonLayout layout);

}  // namespace weir
