#include "actors/launch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>

#include "actors/command_line.h"
#include "actors/progress_line.h"
#include "actors/run.h"

namespace weir {
namespace {

constexpr int exit_finished = 0;
constexpr int exit_failed = 1;
constexpr int exit_usage = 2;
constexpr int exit_interrupted = 130;

// How often the user has asked to stop. A signal handler can reach nothing but a global.
std::atomic<int> interrupts{0};  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void on_interrupt(int /*signal*/) {
  if (interrupts.fetch_add(1) > 0) std::_Exit(exit_interrupted);
}

void complain(const std::string& program, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), text.c_str());
}

// One line of the terminal that is written over until the job has ended; silent when nobody looks.
class TerminalProgress {
 public:
  // Rows of print() on the same terminal leave no place for it.
  explicit TerminalProgress(bool prints_rows)
      : shown_(isatty(STDERR_FILENO) != 0 && !(prints_rows && isatty(STDOUT_FILENO) != 0)),
        line_(system_clock().now()) {}

  void show(const JobProgress& progress) {
    if (!shown_) return;
    std::fprintf(stderr, "\r\033[K%s", line_.text(progress, system_clock().now()).c_str());
    dirty_ = true;
  }
  void clear() {
    if (std::exchange(dirty_, false)) std::fputs("\r\033[K", stderr);
  }
  [[nodiscard]] bool is_shown() const { return shown_; }

 private:
  bool shown_;
  bool dirty_ = false;
  ProgressLine line_;
};

std::string counted_records(std::uint64_t count) {
  return with_separators(count) + (count == 1 ? " record" : " records");
}

void summarize(const CommandLine& line, const JobResult& result, bool for_people) {
  if (result.bad_records > 0) {
    complain(line.program, counted_records(result.bad_records) + " did not parse and " +
                               (result.bad_records == 1 ? "was" : "were") +
                               " skipped; --strict fails at the first");
  }
  if (result.late_records_dropped > 0) {
    complain(line.program, counted_records(result.late_records_dropped) + " came too late and " +
                               (result.late_records_dropped == 1 ? "was" : "were") + " dropped");
  }
  if (!for_people) return;
  const double seconds = std::chrono::duration<double>(result.duration).count();
  std::fprintf(stderr, "FINISHED  %s in %.2f s\n", counted_records(result.records_read).c_str(),
               seconds);
}

bool prints_rows(const PhysicalPlan& plan) {
  return std::ranges::any_of(plan.logical.nodes, [](const LogicalNode& node) {
    return node.role == StageRole::sink && node.kind == "print";
  });
}

int run_described(const CommandLine& line, Job& job) {
  RunOptions options{.parallelism = line.parallelism,
                     .max_parallelism = line.max_parallelism,
                     .chaining = line.chaining,
                     .settings = {.strict = line.strict},
                     .logger = line.log_file.empty()
                                   ? Logger::to_stderr(line.log_level)
                                   : Logger::to_file(line.log_file, line.log_level),
                     .on_progress = {}};
  const auto plan = make_plan(job, options);
  if (!plan) {
    complain(line.program, plan.error().message);
    return exit_usage;
  }
  if (line.explain) {
    std::fputs(explain(**plan).c_str(), stdout);
    return exit_finished;
  }
  TerminalProgress terminal(prints_rows(**plan));
  options.on_progress = [&](const JobProgress& progress) {
    terminal.show(progress);
    return interrupts.load() == 0;
  };
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
  const auto result = run(*plan, options);
  terminal.clear();
  if (!result) {
    complain(line.program, result.error().message);
    return interrupts.load() > 0 ? exit_interrupted : exit_failed;
  }
  summarize(line, *result, terminal.is_shown());
  return exit_finished;
}

// Describes the job; an exception of the user's becomes a message.
bool describe_safely(const CommandLine& line, Job& job, const std::function<void(Job&)>& describe) {
  try {
    describe(job);
    return true;
  } catch (const std::exception& e) {
    if (!line.help) complain(line.program, std::string("describing the job failed: ") + e.what());
  } catch (...) {
    if (!line.help)
      complain(line.program,
               "describing the job failed with something that is not a std::exception");
  }
  return false;
}

}  // namespace

int launch(int argc, char** argv, const std::function<void(Job&)>& describe) {
  const auto line =
      read_command_line(argc, argv, std::max(1U, std::thread::hardware_concurrency()));
  if (!line) {
    complain(program_name(argc, argv), line.error().message + " (--help lists the options)");
    return exit_usage;
  }
  if (line->version) {
    std::printf("%s (weir %s)\n", line->program.c_str(), WEIR_VERSION);
    return exit_finished;
  }
  Job job(line->job_name, Options(line->job_options));
  const bool described = describe_safely(*line, job, describe);
  if (line->help) {
    std::fputs(help_text(*line, job.options().declared()).c_str(), stdout);
    return exit_finished;
  }
  if (!described) return exit_failed;
  try {
    return run_described(*line, job);
  } catch (const std::exception& e) {  // from copying what the job was described with
    complain(line->program, std::string("starting the job failed: ") + e.what());
    return exit_failed;
  }
}

}  // namespace weir
