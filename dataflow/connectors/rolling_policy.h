// When a writer ends a part file and begins another.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"

namespace weir {

// The default is Flink's for rows: a file goes on over checkpoints until it is large, old or
// inactive. Ages count only in a job with checkpoints: in one without, everything is shown at its
// end.
struct RollingPolicy {
  // A file that has become larger is ended.
  std::uint64_t part_bytes_max = std::uint64_t{128} * 1024 * 1024;
  // So is one whose first or last row was written so long ago.
  Duration age = std::chrono::seconds{60};
  Duration inactivity = std::chrono::seconds{60};
  // Ends every file at each checkpoint, and never for another reason, size included.
  bool at_every_checkpoint = false;

  [[nodiscard]] bool rolls_at_row(std::uint64_t bytes) const {
    return !at_every_checkpoint && bytes > part_bytes_max;
  }
  [[nodiscard]] bool rolls_at_checkpoint(std::uint64_t bytes) const {
    return at_every_checkpoint || bytes > part_bytes_max;
  }
  [[nodiscard]] bool rolls_at_time(ProcessingTime now, ProcessingTime first_row,
                                   ProcessingTime last_row) const {
    return !at_every_checkpoint && (now - first_row >= age || now - last_row >= inactivity);
  }
  // The first time at which rolls_at_time() if no row follows; max() if never.
  [[nodiscard]] ProcessingTime rolls_from(ProcessingTime first_row, ProcessingTime last_row) const {
    if (at_every_checkpoint) return ProcessingTime::max();
    return std::min(first_row + age, last_row + inactivity);
  }

  // Errc::invalid_plan, with `sink` at its beginning.
  [[nodiscard]] Result<void> check(const std::string& sink) const {
    if (age > Duration::zero() && inactivity > Duration::zero()) return {};
    return Error{Errc::invalid_plan,
                 sink + ": age and inactivity of a part file must be above 0 to roll it"};
  }
};

// For readers that want files in step with checkpoints.
[[nodiscard]] inline RollingPolicy roll_at_every_checkpoint() {
  RollingPolicy policy;
  policy.at_every_checkpoint = true;
  return policy;
}

}  // namespace weir
