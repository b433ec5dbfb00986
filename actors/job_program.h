// What a task process needs to build a job's plan again: the program and what it was called with.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/options.h"

namespace weir {

// A file that travels with a job.
struct ShippedFile {
  std::string path;  // as job.ship() was asked for it
  std::string blob;  // hex SHA-256 of its content
};

// Everything is resolved: no default is left to the worker.
struct JobProgram {
  std::string executable;  // blob
  std::string name;        // its file name, for messages
  std::string job_name;
  std::uint32_t parallelism = 1;
  std::optional<std::uint32_t> max_parallelism;
  bool chaining = true;
  std::map<std::string, GivenOption> options;  // of the job
  std::string working_directory;  // the client's; relative paths mean what they meant there
  std::vector<ShippedFile> files;
  LogLevel log_level = LogLevel::info;
};

}  // namespace weir
