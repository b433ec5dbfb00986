// The seam through which the engine reads time, so that tests and the simulation set it.
#pragma once

#include <chrono>

#include "base/time.h"

namespace weir {

// A point on a clock that never goes back, for measuring durations and deadlines within one
// process.
using MonotonicTime = std::chrono::steady_clock::time_point;

// Thread-safe. Outlives everything that reads it.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual MonotonicTime now() const = 0;
  [[nodiscard]] virtual ProcessingTime processing_time() const = 0;
};

// The machine's clocks. The only place that reads them, and that waits for them.
[[nodiscard]] const Clock& system_clock();

// Lets the calling thread wait, which must be one that may.
void pause_thread(Duration length);

// A clock that stands still until told otherwise. Not thread-safe.
class ManualClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return MonotonicTime{elapsed_}; }
  [[nodiscard]] ProcessingTime processing_time() const override {
    return {std::chrono::duration_cast<Duration>(elapsed_).count()};
  }
  void advance(std::chrono::nanoseconds by) { elapsed_ += by; }

 private:
  std::chrono::nanoseconds elapsed_{0};
};

}  // namespace weir
