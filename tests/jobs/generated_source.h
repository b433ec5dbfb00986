// What jobs of tests read: generated records, as many and as fast as their options say.
#pragma once

#include <cstdint>
#include <string>

#include "actors/launch.h"
#include "tests/jobs/click.h"

namespace weir {

// Makes the sources of a job, all with --records and --rate.
class GeneratedSource {
 public:
  explicit GeneratedSource(Job& job) : job_(&job) {
    options_.count = job.option<std::uint64_t>("records", "how many of each source", 20'000);
    const auto rate = job.option<double>("rate", "records per second; 0: as fast as can be", 0);
    if (rate > 0) options_.records_per_second = rate;
  }

  // make(index) → the record.
  template <class Make>
  [[nodiscard]] auto operator()(const std::string& name, Make make) const {
    return job_->source(name, generator(make, options_));
  }

 private:
  Job* job_;
  GeneratorOptions options_;
};

}  // namespace weir
