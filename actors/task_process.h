// A program of a job, started by a worker to run the job's tasks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "actors/job_program.h"
#include "actors/job_status.h"
#include "base/ids.h"
#include "dataflow/api/job.h"
#include "net/endpoint.h"
#include "net/preamble.h"

namespace weir {

// What a worker tells the program, in a file that only its owner can read.
struct TaskProcessStart {
  JobId job;
  AttemptId attempt;
  HostIndex host;
  JobSettings settings;
  JobProgram program;
  std::uint64_t fingerprint = 0;
  // Whether the process runs in the client's directory, which this machine may lack.
  bool in_clients_directory = true;
  std::map<std::string, std::string>
      shipped;  // path as job.ship() was asked for it → where it is here
  Endpoint master;
  ClusterToken token;
  std::string node;         // the worker's id
  std::string listen_host;  // for data
  PortRange data_ports;
  std::string advertise_host;
  Duration heartbeat_interval{0};
  Duration heartbeat_timeout{0};
};

// The memory limit below which a task process does not come up: stacks of its threads, mostly, of which it has one per core
// of the machine and some more.
[[nodiscard]] std::uint64_t task_process_bytes_min();

// The argument before the file's name.
inline constexpr const char* task_process_argument = "--weir-task-host";

// Writes the file, for its owner only. Errc::output_failed.
[[nodiscard]] Result<void> write_start_file(const std::filesystem::path& path,
                                            const TaskProcessStart& start);

// The whole life of the process: builds the plan again, connects to the master, runs a TaskHost until the JobManager or the
// worker ends it. Returns the exit code; what went wrong is on stderr.
[[nodiscard]] int run_task_process(const std::filesystem::path& start_file,
                                   const std::function<void(Job&)>& describe);

}  // namespace weir
