// What the programs that run or watch a job say to people: progress, mistakes, a summary; and how they are interrupted.
#pragma once

#include <cstdint>
#include <string>

#include "actors/job_status.h"
#include "actors/progress_line.h"
#include "actors/run.h"

namespace weir {

inline constexpr int exit_finished = 0;
inline constexpr int exit_failed = 1;
inline constexpr int exit_usage = 2;
inline constexpr int exit_interrupted = 130;

// "word_count: …" on standard error.
void complain(const std::string& program, const std::string& text);

// From now on SIGINT, SIGTERM and SIGHUP are counted; the second ends the process at once.
void count_interrupts();
// From now on writing to a pipe that nobody reads fails, and does not end the process.
void report_closed_pipes();
[[nodiscard]] int interrupts();
// Begins to count from 0 again.
void forget_interrupts();

// One line of the terminal that is written over until the job has ended; silent when nobody looks.
class TerminalProgress {
 public:
  // Rows of print() on the same terminal leave no place for it.
  explicit TerminalProgress(bool prints_rows);

  void show(const JobProgress& progress);
  void clear();
  [[nodiscard]] bool is_shown() const { return shown_; }

 private:
  bool shown_;
  bool dirty_ = false;
  ProgressLine line_;
};

// What was skipped or late; and, for people, that it is done.
void summarize(const std::string& program, const JobResult& result, bool for_people);

}  // namespace weir
