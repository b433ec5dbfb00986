// A job of this program on a cluster, from the command line.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "actors/cluster_client.h"
#include "actors/command_line.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

// What travels with the program.
struct JobInputs {
  std::map<std::string, GivenOption>
      options;                     // of the job, by name; what are known to be paths, absolute
  std::vector<std::string> ships;  // paths of files
};

// Submits this program with its options and, unless detached, watches the job to its end: rows of print() on standard
// output; progress on a terminal; the job's id, and how it ended, on standard error. Rows that cannot be shown cancel the
// job. Returns the exit code.
[[nodiscard]] int run_on_cluster(const CommandLine& line, const JobInputs& inputs,
                                 const PhysicalPlan& plan, bool prints_rows);

// What an interrupt does to a watched job where nobody can be asked: its own client's cancels it, a mere onlooker's does not.
enum class OnInterrupt : std::uint8_t { cancel, detach };

// Watches a job that runs, or has run, on the cluster. Ctrl-C asks whether to leave it running or to cancel it, if there is
// a terminal to ask at. Returns the exit code.
[[nodiscard]] int watch_job(ClusterClient& cluster, const std::string& program, JobId job,
                            bool prints_rows, OnInterrupt on_interrupt);

// Where the master is, and the cluster's secret, as given on the command line of a program. Errc::bad_option.
[[nodiscard]] Result<std::unique_ptr<ClusterClient>> connect_to_cluster(
    const std::string& program, const std::string& address, const std::string& secret_file);

}  // namespace weir
