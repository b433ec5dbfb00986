// What the tools show to people. Every function returns whole lines.
#pragma once

#include <string>
#include <vector>

#include "actors/diagnosis.h"
#include "actors/inspection.h"
#include "actors/job_status.h"
#include "base/time.h"

namespace weir {

[[nodiscard]] std::string nodes_text(const NodeList& nodes);
// `now` for how long those that run have done so.
[[nodiscard]] std::string jobs_text(const std::vector<JobDetails>& jobs, ProcessingTime now);
[[nodiscard]] std::string job_text(const JobSample& job, ProcessingTime now);
[[nodiscard]] std::string exceptions_text(const std::vector<JobException>& exceptions);
// The actors of a job: node, process, task, operators.
[[nodiscard]] std::string topology_text(const JobSample& sample);
[[nodiscard]] std::string channels_text(const JobSample& sample);
[[nodiscard]] std::string doctor_text(const JobSample& sample, const Diagnosis& diagnosis);

}  // namespace weir
