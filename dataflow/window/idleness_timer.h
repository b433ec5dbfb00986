// Whether a stream has been without records for long enough to count as idle.
#pragma once

#include <algorithm>
#include <optional>

#include "base/time.h"

namespace weir {

// Looked at now and then: the first look that finds no record since the one before starts the timer, and the stream is idle once a
// later look finds more than the timeout gone (the rule of Apache Flink's WatermarksWithIdleness). A look that comes much later than it
// was due says that the task could not work, so it starts the timer anew: what waits for room is not idle.
//
// A pure state machine, not thread-safe.
class IdlenessTimer {
 public:
  // Requires timeout > 0.
  explicit IdlenessTimer(Duration timeout)
      : timeout_(timeout), interval_(std::clamp(timeout / 5, Duration{1}, look_interval_max)) {}

  void on_record() { active_ = true; }

  // Returns whether the stream is idle now.
  bool look(ProcessingTime now) {
    const bool missed = next_look_ && now - *next_look_ > std::max(interval_, lateness_allowed);
    next_look_ = now + interval_;
    if (active_) {
      active_ = idle_ = false;
      silent_since_.reset();
    } else if (missed) {
      silent_since_.reset();
    } else if (!silent_since_) {
      silent_since_ = now;
    } else {
      idle_ = idle_ || now - *silent_since_ > timeout_;
    }
    return idle_;
  }
  // In place of a look while nobody is to be read from: the time until the next one does not count.
  void skip(ProcessingTime now) {
    next_look_ = now + interval_;
    silent_since_.reset();
  }
  // When to look; nothing before the first look.
  [[nodiscard]] std::optional<ProcessingTime> next_look() const { return next_look_; }

 private:
  static constexpr Duration look_interval_max{200};  // Flink's auto-watermark interval
  static constexpr Duration lateness_allowed{200};

  Duration timeout_;
  Duration interval_;
  bool active_ = true;
  bool idle_ = false;
  std::optional<ProcessingTime> silent_since_;
  std::optional<ProcessingTime> next_look_;
};

}  // namespace weir
