#include "actors/job_console.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "actors/printable.h"
#include "base/clock.h"

namespace weir {
namespace {

// How often the user has asked to stop. A signal handler can reach nothing but a global.
std::atomic<int> asked{0};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_interrupt(int /*signal*/) {
  if (asked.fetch_add(1) > 0) std::_Exit(exit_interrupted);
}

}  // namespace

void complain(const std::string& program, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), printable_lines(text).c_str());
}

void count_interrupts() {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  // Unless nohup wants it to be ignored.
  if (std::signal(SIGHUP, on_interrupt) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

void report_closed_pipes() {
  std::signal(SIGPIPE, SIG_IGN);
}

int interrupts() {
  return asked.load();
}

void forget_interrupts() {
  asked = 0;
}

TerminalProgress::TerminalProgress(bool prints_rows)
    : shown_(isatty(STDERR_FILENO) != 0 && !(prints_rows && isatty(STDOUT_FILENO) != 0)),
      line_(system_clock().now()) {}

void TerminalProgress::show(const JobProgress& progress) {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K%s", line_.text(progress, system_clock().now()).c_str());
  dirty_ = true;
}

void TerminalProgress::clear() {
  if (std::exchange(dirty_, false)) std::fputs("\r\033[K", stderr);
}

void summarize(const std::string& program, const JobResult& result, bool for_people) {
  if (result.bad_records > 0) {
    complain(program, counted(result.bad_records, "record") + " did not parse and " +
                          (result.bad_records == 1 ? "was" : "were") +
                          " skipped; --strict fails at the first");
  }
  if (result.late_records_dropped > 0) {
    complain(program, counted(result.late_records_dropped, "record") + " came too late and " +
                          (result.late_records_dropped == 1 ? "was" : "were") + " dropped");
  }
  if (result.records_ahead > 0) {
    complain(program,
             counted(result.records_ahead, "record") + " had a time too far ahead of this " +
                 "machine's clock and did not move the watermark; with_max_ahead(…) says " +
                 "how far is believed");
  }
  if (!for_people) return;
  const double seconds = std::chrono::duration<double>(result.duration).count();
  std::fprintf(stderr, "FINISHED  %s%s in %.2f s\n", counted(result.records_read, "record").c_str(),
               result.restarts > 0 ? " since the last restart," : "", seconds);
}

}  // namespace weir
