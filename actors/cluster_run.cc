#include "actors/cluster_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "actors/job_console.h"
#include "actors/printable.h"
#include "base/clock.h"
#include "base/options.h"
#include "base/random.h"
#include "dataflow/connectors/line_output.h"
#include "dataflow/plan/job_graph.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

// Looks often at first, so that short jobs end soon, then as often as people can read.
constexpr std::chrono::milliseconds first_look{5};
constexpr std::chrono::milliseconds longest_look{200};
constexpr int looks_in_vain_max = 3;

void pause(std::chrono::milliseconds time) {
  // Woken by signals, unlike a sleep.
  (void)::poll(nullptr, 0, static_cast<int>(time.count()));
}

enum class Choice { detach, cancel, go_on };

Choice ask_what_to_do(const std::string& program, OnInterrupt unasked) {
  if (isatty(STDIN_FILENO) == 0)
    return unasked == OnInterrupt::cancel ? Choice::cancel : Choice::detach;
  forget_interrupts();
  std::fprintf(stderr, "\n%s: leave the job running (d), cancel it (c), or go on watching (w)? ",
               program.c_str());
  char answer[64];
  if (std::fgets(answer, sizeof answer, stdin) == nullptr || interrupts() > 0)
    return Choice::detach;
  if (answer[0] == 'c' || answer[0] == 'C') return Choice::cancel;
  return answer[0] == 'w' || answer[0] == 'W' ? Choice::go_on : Choice::detach;
}

// Rows of print() as they come, with a word on those that are lost.
class PrintedReader {
 public:
  PrintedReader(ClusterClient& cluster, std::string program, JobId job)
      : cluster_(&cluster), program_(std::move(program)), job_(job) {}

  // Errc::output_failed if they cannot be shown.
  [[nodiscard]] Result<void> show_new() {
    const auto rows = cluster_->printed(job_, from_);
    if (!rows) return rows.error();
    WEIR_TRY(standard_output()->write(rows->text));
    from_ = rows->next;
    shown_ += static_cast<std::uint64_t>(std::ranges::count(rows->text, '\n'));
    if (rows->rows > shown_) {
      complain(program_, counted(rows->rows - shown_, "row") +
                             " came too fast to be shown here; the tasks' logs have them "
                             "(job logs " +
                             to_string(job_) + ")");
      shown_ = rows->rows;
    }
    return {};
  }

 private:
  ClusterClient* cluster_;
  std::string program_;
  JobId job_;
  std::uint64_t from_ = 0;
  std::uint64_t shown_ = 0;
};

// The program that runs, also when its file was replaced meanwhile.
constexpr const char* own_executable = "/proc/self/exe";

}  // namespace

Result<std::unique_ptr<ClusterClient>> connect_to_cluster(const std::string& program,
                                                          const std::string& address,
                                                          const std::string& secret_file) {
  const auto master = parse_endpoint(address);
  if (!master) return Error{Errc::bad_option, "--cluster: " + master.error().message};
  ClusterToken token;
  if (!secret_file.empty()) {
    const auto secret = read_secret_file(secret_file);
    if (!secret) return Error{Errc::bad_option, "--secret-file: " + secret.error().message};
    if (const auto readers = find_secret_readers(secret_file))
      complain(program, "warning: " + *readers);
    token = *secret;
  }
  return ClusterClient::connect(*master, token);
}

namespace {

// What makes the program do the same on a worker as here; uploads its files.
Result<JobProgram> make_program(ClusterClient& cluster, const CommandLine& line,
                                const JobInputs& inputs) {
  std::error_code gone;
  JobProgram program{.executable = {},
                     .name = line.program,
                     .job_name = line.job_name,
                     .parallelism = line.parallelism,
                     .max_parallelism = line.max_parallelism,
                     .chaining = line.chaining,
                     .options = inputs.options,
                     .working_directory = fs::current_path(gone).string(),
                     .files = {}};
  const auto upload = [&](const std::string& path, const std::string& what) {
    auto blob = cluster.upload(path);
    if (!blob) blob = Error{blob.error().code, "cannot ship " + what + ": " + blob.error().message};
    return blob;
  };
  for (const std::string& path : inputs.ships) {
    auto blob = upload(path, path);
    if (!blob) return blob.error();
    program.files.push_back({path, *std::move(blob)});
  }
  auto executable = upload(own_executable, "the program");
  if (!executable) return executable.error();
  program.executable = *std::move(executable);
  return program;
}

// Options come from a command line or a file, and go into every message that starts a task process.
Result<void> check_options(const std::map<std::string, GivenOption>& options) {
  constexpr std::size_t bytes_max = std::size_t{1} << 20;
  std::size_t bytes = 0;
  const std::string* longest = nullptr;
  std::size_t longest_bytes = 0;
  for (const auto& [name, given] : options) {
    const std::size_t size = name.size() + given.text.size() + given.file.size();
    bytes += size;
    if (size <= longest_bytes) continue;
    longest = &name;
    longest_bytes = size;
  }
  if (bytes <= bytes_max) return {};
  return Error{Errc::bad_option,
               "the job's options have " + size_text(bytes) + ", the longest of them --" +
                   cut_to(*longest, 40) + ": at most " + size_text(bytes_max) +
                   " are possible; put long values into a file and job.ship() it"};
}

// The job is known by its id, so asking again does not run it twice.
Result<void> submit(ClusterClient& cluster, JobId job, const JobGraph& graph,
                    const JobSettings& settings, const JobProgram& program) {
  constexpr int tries = 2;
  Result<void> submitted;
  for (int i = 0; i < tries; ++i) {
    submitted = cluster.submit(job, graph, settings, program);
    if (submitted || submitted.error().code != Errc::cluster_unreachable) break;
  }
  return submitted;
}

int exit_code_of(const Error& error) {
  const bool wrong_call = error.code == Errc::bad_option || error.code == Errc::invalid_plan ||
                          error.code == Errc::too_large;
  return wrong_call ? exit_usage : exit_failed;
}

}  // namespace

int run_on_cluster(const CommandLine& line, const JobInputs& inputs, const PhysicalPlan& plan,
                   bool prints_rows) {
  // From before the job exists: an interrupt in between would leave it running unnoticed.
  count_interrupts();
  const auto give_up = [&line](const Error& error) {
    complain(line.program, error.message);
    return exit_code_of(error);
  };
  if (const auto possible = check_options(inputs.options); !possible)
    return give_up(possible.error());
  auto cluster = connect_to_cluster(line.program, line.cluster, line.secret_file);
  if (!cluster) return give_up(cluster.error());
  const auto program = make_program(**cluster, line, inputs);
  if (!program) return give_up(program.error());
  if (interrupts() > 0) return exit_interrupted;
  const JobId job{fresh_seed()};
  const auto submitted = submit(**cluster, job, make_job_graph(plan), line.settings, *program);
  if (!submitted && submitted.error().code == Errc::cluster_unreachable) {
    return give_up({submitted.error().code, submitted.error().message +
                                                "; the job may have been accepted: job --cluster " +
                                                line.cluster + " wait " + to_string(job)});
  }
  if (!submitted) {
    return give_up({submitted.error().code, "the job was refused: " + submitted.error().message});
  }
  if (line.detached) {
    std::printf("%s\n", to_string(job).c_str());
    return std::fflush(stdout) == 0 ? exit_finished : exit_failed;
  }
  complain(line.program, "submitted as job " + to_string(job));
  return watch_job(**cluster, line.program, job, prints_rows, OnInterrupt::cancel);
}

int watch_job(ClusterClient& cluster, const std::string& program, JobId job, bool prints_rows,
              OnInterrupt on_interrupt) {
  TerminalProgress terminal(prints_rows);
  PrintedReader printed(cluster, program, job);
  const MonotonicTime begin = system_clock().now();
  std::chrono::milliseconds look = first_look;
  bool cancelled = false;
  int in_vain = 0;
  std::string waited_for;
  std::string told_restart;
  std::optional<Error> cannot_show;  // rows, which the job's own client must not lose
  count_interrupts();                // again, for those who watch a job only
  report_closed_pipes();
  while (true) {
    if (interrupts() > 0 && !cancelled) {
      terminal.clear();
      switch (ask_what_to_do(program, on_interrupt)) {
        case Choice::detach:
          complain(program, "the job goes on as " + to_string(job));
          return exit_interrupted;
        case Choice::cancel:
          cancelled = true;
          if (const auto done = cluster.cancel(job); !done) complain(program, done.error().message);
          break;
        case Choice::go_on:
          forget_interrupts();
          break;
      }
    }
    const auto progress = cluster.progress(job);
    const bool has_ended = progress && is_terminal(progress->state);
    auto shown = progress ? Result<void>() : Result<void>(progress.error());
    if (progress && !cannot_show) shown = printed.show_new();
    if (!shown && shown.error().code == Errc::output_failed) {
      cannot_show = shown.error();
      terminal.clear();
      complain(program, cannot_show->message);
      if (on_interrupt == OnInterrupt::detach) {
        complain(program, "the job goes on as " + to_string(job));
        return exit_failed;
      }
      if (const auto done = cluster.cancel(job); !done) complain(program, done.error().message);
      shown = {};
    }
    if (!shown) {
      if (++in_vain < looks_in_vain_max) continue;
      terminal.clear();
      complain(program, shown.error().message + "; the job goes on if its master does: job wait " +
                            to_string(job));
      return exit_failed;
    }
    in_vain = 0;
    if (progress->last_restart != told_restart) {
      told_restart = progress->last_restart;
      terminal.clear();
      complain(program, told_restart);
    }
    terminal.show(*progress);
    if (!terminal.is_shown() && progress->waiting_for != waited_for) {
      waited_for = progress->waiting_for;
      if (!waited_for.empty()) complain(program, "waits for " + waited_for);
    }
    if (has_ended) break;
    pause(look);
    look = std::min(2 * look, longest_look);
  }
  terminal.clear();
  const auto answer = cluster.details(job);
  if (!answer) {
    complain(program, answer.error().message);
    return exit_failed;
  }
  const JobOutcome& outcome = answer->details->status;
  if (outcome.error) {
    complain(program, outcome.error->message + words_on_kept_checkpoint(outcome));
    return cancelled ? exit_interrupted : exit_failed;
  }
  if (outcome.state == JobState::canceled) {
    complain(program, "the job was cancelled" + words_on_kept_checkpoint(outcome));
    return cancelled ? exit_interrupted : exit_failed;
  }
  summarize(program,
            {.records_read = outcome.progress.records_read,
             .bad_records = outcome.progress.bad_records,
             .late_records_dropped = outcome.progress.late_records_dropped,
             .records_ahead = outcome.progress.records_ahead,
             .counters = outcome.progress.counters,
             .duration = system_clock().now() - begin,
             .restarts = outcome.progress.restarts},
            true);
  for (const JobException& exception : answer->details->exceptions) {
    if (exception.task == last_checkpoint)
      complain(program, "the last checkpoint was not stored: " + exception.error.message);
  }
  return cannot_show ? exit_failed : exit_finished;
}

}  // namespace weir
