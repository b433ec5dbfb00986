// The command line of a job's program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/job_status.h"
#include "base/log.h"
#include "base/options.h"
#include "base/result.h"
#include "base/time.h"

namespace weir {

// What every job's program understands, and the rest, which belongs to the job.
struct CommandLine {
  std::string program;  // its file name
  std::string job_name;
  std::uint32_t parallelism = 1;
  std::optional<std::uint32_t> max_parallelism;
  bool chaining = true;
  bool explain = false;
  bool help = false;
  bool version = false;
  std::string cluster;      // HOST:PORT of a master; empty: run here
  std::string secret_file;  // of the cluster
  bool detached = false;
  JobSettings settings;
  LogLevel log_level = LogLevel::warning;
  std::string log_file;
  std::map<std::string, GivenOption> job_options;  // by name, without dashes
};

// The file name of the program that runs.
[[nodiscard]] std::string program_name(int argc, const char* const* argv);

// Reads arguments and, under them, the TOML file that --config names. `default_parallelism` is used
// without
// --parallelism. Errors name the argument, or file and key.
[[nodiscard]] Result<CommandLine> read_command_line(int argc, const char* const* argv,
                                                    std::uint32_t default_parallelism);

// The text of --help.
[[nodiscard]] std::string help_text(const CommandLine& command_line,
                                    const std::vector<DeclaredOption>& of_job);

}  // namespace weir
