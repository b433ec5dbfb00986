// What a terminal shows while a job runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "actors/job_status.h"
#include "base/clock.h"

namespace weir {

// Makes the line from one report to the next: state, records and their rate, share of the input,
// watermark.
class ProgressLine {
 public:
  explicit ProgressLine(MonotonicTime begin) : last_time_(begin) {}

  [[nodiscard]] std::string text(const JobProgress& progress, MonotonicTime now);

 private:
  MonotonicTime last_time_;
  std::uint64_t last_records_ = 0;
};

// 1,234,567.
[[nodiscard]] std::string with_separators(std::uint64_t number);
// "1 row", "1,234 rows".
[[nodiscard]] std::string counted(std::uint64_t number, std::string_view what);

}  // namespace weir
