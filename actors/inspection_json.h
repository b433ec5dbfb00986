// What the tools give to programs: one JSON object each. Names are part of the product; counts are of the whole run, rates
// (…_per_second and the shares busy, backpressured, idle) of the time between two looks, null if there is only one.
#pragma once

#include <string>
#include <vector>

#include "actors/diagnosis.h"
#include "actors/inspection.h"
#include "actors/job_status.h"

namespace weir {

enum class JsonLayout { one_line, indented };

[[nodiscard]] std::string nodes_json(const NodeList& nodes, JsonLayout layout);
[[nodiscard]] std::string jobs_json(const std::vector<JobDetails>& jobs, JsonLayout layout);
[[nodiscard]] std::string job_json(const JobSample& job, JsonLayout layout);
[[nodiscard]] std::string exceptions_json(const JobDetails& job, JsonLayout layout);
[[nodiscard]] std::string topology_json(const JobSample& sample, JsonLayout layout);
[[nodiscard]] std::string channels_json(const JobSample& sample, JsonLayout layout);
[[nodiscard]] std::string doctor_json(const JobSample& sample, const Diagnosis& diagnosis,
                                      JsonLayout layout);

}  // namespace weir
