// When a source with a rate puts out which record.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/time.h"
#include "dataflow/connectors/index_split.h"

namespace weir {

// The record of index i is due i / records_per_second after the start, whichever reader has it: so
// the rate is that of all readers together. A reader that was held up catches up; but one that
// resumes at index i starts with it, so that what would have been due while the job was down
// does not come in a burst.
//
// A pure function of the time passed in.
class Pacing {
 public:
  Pacing() = default;  // everything is due
  // Begins with that split, and may go on with others. Requires records_per_second > 0.
  Pacing(double records_per_second, MonotonicTime start, const IndexSplit& split);

  // How many of the split's next records are due; no more than `most`.
  [[nodiscard]] std::uint64_t due(const IndexSplit& split, MonotonicTime now,
                                  std::uint64_t most) const;
  // How long until the next one is: 0 if it is due, otherwise rounded up to what timers resolve. At
  // most a minute, so it may not be due then either.
  [[nodiscard]] Duration until_due(const IndexSplit& split, MonotonicTime now) const;

 private:
  // By how much the split's next record is late; negative if it is not due yet.
  [[nodiscard]] double nanoseconds_past_due(const IndexSplit& split, MonotonicTime now) const;

  double nanoseconds_per_record_ = 0;
  MonotonicTime start_;
  std::uint64_t first_index_ = 0;  // due at the start
};

}  // namespace weir
