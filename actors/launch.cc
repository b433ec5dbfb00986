#include "actors/launch.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>

#include "actors/cluster_run.h"
#include "actors/command_line.h"
#include "actors/job_console.h"
#include "actors/run.h"
#include "actors/task_process.h"
#include "base/standard_descriptors.h"

namespace weir {
namespace {

bool prints_rows(const PhysicalPlan& plan) {
  return std::ranges::any_of(plan.logical.nodes, [](const LogicalNode& node) {
    return node.role == StageRole::sink && node.kind == "print";
  });
}

Logger logger_of(const CommandLine& line) {
  return line.log_file.empty() ? Logger::to_stderr(line.log_level)
                               : Logger::to_file(line.log_file, line.log_level);
}

// Part files and checkpoints would be taken for each other's.
Result<void> check_checkpoint_directory(const CheckpointSettings& checkpoints,
                                        const PhysicalPlan& plan) {
  if (checkpoints.directory.empty()) return {};
  const std::filesystem::path kept = std::filesystem::path(checkpoints.directory) / "";
  for (const LogicalNode& node : plan.logical.nodes) {
    if (node.role != StageRole::sink) continue;
    for (const std::string& path : node.paths) {
      std::error_code gone;
      const auto output = std::filesystem::absolute(path, gone).lexically_normal() / "";
      if (gone || !kept.string().starts_with(output.string())) continue;
      return Error{Errc::bad_option, "--checkpoint-dir " + checkpoints.directory +
                                         " is in the output of '" + node.name + "', '" + path +
                                         "': give a directory beside it"};
    }
  }
  return {};
}

int run_described(const CommandLine& line, Job& job) {
  RunOptions options{.parallelism = line.parallelism,
                     .max_parallelism = line.max_parallelism,
                     .chaining = line.chaining,
                     .settings = line.settings,
                     .logger = logger_of(line),
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
  if (const auto apart = check_checkpoint_directory(line.settings.checkpoints, **plan); !apart) {
    complain(line.program, apart.error().message);
    return exit_usage;
  }
  const bool prints = prints_rows(**plan);
  if (!line.cluster.empty()) {
    return run_on_cluster(line, {.options = job.options().given(), .ships = job.ships()}, **plan,
                          prints);
  }
  if (line.detached) {
    complain(line.program, "--detached needs --cluster: a job in this process ends with it");
    return exit_usage;
  }
  TerminalProgress terminal(prints);
  options.on_progress = [&](const JobProgress& progress) {
    terminal.show(progress);
    return interrupts() == 0;
  };
  count_interrupts();
  const auto result = run(*plan, options);
  terminal.clear();
  if (!result) {
    complain(line.program, result.error().message);
    return interrupts() > 0 ? exit_interrupted : exit_failed;
  }
  summarize(line.program, *result, terminal.is_shown());
  return exit_finished;
}

// Empty if it is gone.
std::filesystem::path current_directory() {
  std::error_code gone;
  return std::filesystem::current_path(gone);
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
  open_missing_standard_descriptors();
  if (argc == 3 && std::string(argv[1]) == task_process_argument)
    return run_task_process(argv[2], describe);
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
  // Workers may have other directories than this one.
  Job job(line->job_name, Options(line->job_options), {},
          line->cluster.empty() ? std::filesystem::path() : current_directory());
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
