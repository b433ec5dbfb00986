// How long a job takes.
#pragma once

#include <cstdint>

#include "actors/run.h"
#include "base/check.h"
#include "bench/paired.h"
#include "dataflow/api/job.h"

namespace weir::bench {

// In seconds, in this process. Requires that it does not fail.
[[nodiscard]] inline double seconds_of(Job& job, std::uint32_t parallelism) {
  const double begin = seconds_now();
  const auto result = run(job, {.parallelism = parallelism, .max_parallelism = 128});
  const double seconds = seconds_now() - begin;
  WEIR_CHECK(result.has_value());
  return seconds;
}

}  // namespace weir::bench
