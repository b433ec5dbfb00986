#include "actors/cluster_run.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <future>
#include <optional>
#include <utility>

#include "actors/job_console.h"
#include "base/clock.h"
#include "base/random.h"
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

  [[nodiscard]] Result<void> show_new() {
    const auto rows = cluster_->printed(job_, from_);
    if (!rows) return rows.error();
    std::fwrite(rows->text.data(), 1, rows->text.size(), stdout);
    std::fflush(stdout);
    from_ = rows->next;
    shown_ += static_cast<std::uint64_t>(std::ranges::count(rows->text, '\n'));
    if (rows->rows > shown_) {
      complain(program_, with_separators(rows->rows - shown_) +
                             " rows came too fast to be shown here; the tasks' logs have them "
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

Result<std::unique_ptr<ClusterClient>> connect_to_cluster(const std::string& address,
                                                          const std::string& secret_file) {
  const auto master = parse_endpoint(address);
  if (!master) return Error{Errc::bad_option, "--cluster: " + master.error().message};
  ClusterToken token;
  if (!secret_file.empty()) {
    const auto secret = read_secret_file(secret_file);
    if (!secret) return Error{Errc::bad_option, "--secret-file: " + secret.error().message};
    token = *secret;
  }
  return ClusterClient::connect(*master, token);
}

int run_on_cluster(const CommandLine& line, const std::vector<std::string>& ships,
                   const PhysicalPlan& plan, bool prints_rows) {
  // From before the job exists: an interrupt in between would leave it running unnoticed.
  count_interrupts();
  auto cluster = connect_to_cluster(line.cluster, line.secret_file);
  if (!cluster) {
    complain(line.program, cluster.error().message);
    return cluster.error().code == Errc::bad_option ? exit_usage : exit_failed;
  }
  JobProgram program{.executable = {},
                     .name = line.program,
                     .job_name = line.job_name,
                     .parallelism = line.parallelism,
                     .max_parallelism = line.max_parallelism,
                     .chaining = line.chaining,
                     .options = line.job_options,
                     .working_directory = fs::current_path().string(),
                     .files = {}};
  const auto upload = [&](const std::string& path, const std::string& what) {
    auto blob = (*cluster)->upload(path);
    if (!blob) complain(line.program, "cannot ship " + what + ": " + blob.error().message);
    return blob;
  };
  for (const std::string& path : ships) {
    auto blob = upload(path, path);
    if (!blob) return exit_failed;
    program.files.push_back({path, *std::move(blob)});
  }
  auto executable = upload(own_executable, "the program");
  if (!executable) return exit_failed;
  program.executable = *std::move(executable);

  if (interrupts() > 0) return exit_interrupted;
  const JobId job{fresh_seed()};
  const auto submitted = (*cluster)->submit(job, make_job_graph(plan), line.settings, program);
  if (!submitted) {
    complain(line.program, "the master refused the job: " + submitted.error().message);
    return exit_failed;
  }
  if (line.detached) {
    std::printf("%s\n", to_string(job).c_str());
    return exit_finished;
  }
  if (isatty(STDERR_FILENO) != 0) complain(line.program, "submitted as job " + to_string(job));
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
  count_interrupts();  // again, for those who watch a job only
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
    auto shown = progress ? printed.show_new() : Result<void>(progress.error());
    if (!shown) {
      if (++in_vain < looks_in_vain_max) continue;
      terminal.clear();
      complain(program, shown.error().message + "; the job may go on: job wait " + to_string(job));
      return exit_failed;
    }
    in_vain = 0;
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
    complain(program, outcome.error->message);
    return cancelled ? exit_interrupted : exit_failed;
  }
  if (outcome.state == JobState::canceled) {
    complain(program, "the job was cancelled");
    return cancelled ? exit_interrupted : exit_failed;
  }
  summarize(program,
            {.records_read = outcome.progress.records_read,
             .bad_records = outcome.progress.bad_records,
             .late_records_dropped = outcome.progress.late_records_dropped,
             .duration = system_clock().now() - begin},
            terminal.is_shown());
  return exit_finished;
}

}  // namespace weir
