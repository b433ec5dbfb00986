// A cluster of real processes, for tests: the built tools/node as master and as workers, and programs that submit jobs.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/cluster_client.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"

namespace weir {

// Whether it came true in time; asks every few milliseconds. Under sanitizers it may take patience_factor as long.
[[nodiscard]] bool soon(const std::function<bool()>& condition,
                        std::chrono::milliseconds within = std::chrono::seconds(20));

// What a command line is; the first is the program.
using Command = std::vector<std::string>;

// A program that runs beside the test, with its output in files. It is killed with its owner, and if the test's process
// dies.
class RunningProgram {
 public:
  // Output goes to <log>.out and <log>.err.
  RunningProgram(const Command& command, std::string log, const std::string& directory = {});
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram();

  [[nodiscard]] pid_t process() const { return process_; }
  [[nodiscard]] std::string out() const;
  [[nodiscard]] std::string err() const;
  [[nodiscard]] bool is_running() { return !exit_code(std::chrono::milliseconds(0)); }
  // Its exit code, 128 + signal if a signal ended it, if it ends in time.
  [[nodiscard]] std::optional<int> exit_code(
      std::chrono::milliseconds within = std::chrono::seconds(20));
  void send_signal(int signal) const;
  void freeze() const;  // see below
  // Waits until it is gone.
  void kill();

 private:
  std::string log_;
  pid_t process_ = 0;
  std::optional<int> exit_code_;
};

// Sends SIGSTOP and waits until none of its threads runs any more.
void freeze(pid_t process);

// What the kernel has of a process. All zero if it is gone.
struct ProcessFigures {
  long resident_kb = 0;
  long private_kb =
      0;  // of it, what it does not share with files: what its own allocations have grown to
  std::size_t threads = 0;
  std::size_t descriptors = 0;
};
[[nodiscard]] ProcessFigures figures_of(pid_t process);
[[nodiscard]] pid_t parent_of(pid_t process);
// Everything below a directory.
[[nodiscard]] std::size_t files_below(const std::string& directory);

struct TestClusterOptions {
  std::size_t workers = 2;
  std::uint32_t slots = 2;  // of each worker
  std::string heartbeat_interval = "1s";
  std::string heartbeat_timeout = "10s";
  std::vector<std::string> worker_arguments = {};
  std::vector<std::string> node_arguments = {};  // of the master, too
  std::string secret = {};                       // none: a cluster of loopback addresses needs none
  bool starts = true;                            // and waits until all workers are there
};

// Directories of its own below one temporary directory, by whose name all its processes are known. Prints the nodes' logs
// if the test has failed.
class TestCluster {
 public:
  explicit TestCluster(TestClusterOptions options = {});
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;
  ~TestCluster();

  // At the address it had before, if it had one.
  void start_master();
  // Also again, once it has ended; with the same directories.
  void start_worker(std::size_t index);
  // Waits until so many workers are registered, no more.
  [[nodiscard]] bool has_workers(std::size_t count);
  [[nodiscard]] RunningProgram& master() { return *master_; }
  [[nodiscard]] RunningProgram& worker(std::size_t index) { return *workers_.at(index); }
  [[nodiscard]] const std::string& address() const { return address_; }

  // Its task processes: those that run the program of a job from one of its data directories.
  [[nodiscard]] std::vector<pid_t> task_processes() const;
  [[nodiscard]] std::vector<pid_t> task_processes_of(std::size_t worker) const;
  [[nodiscard]] bool has_task_processes(
      std::size_t count, std::chrono::milliseconds within = std::chrono::seconds(20));
  // All processes that have the cluster's directory on their command line, but nodes and programs that it knows.
  [[nodiscard]] std::vector<pid_t> strays() const;

  // A name below the temporary directory, whose content is the test's.
  [[nodiscard]] std::string file(std::string_view name) const { return directory_.file(name); }
  std::string write(std::string_view name, std::string_view content) const {
    return directory_.write(name, content);
  }
  // Whether no part of a result can be seen there.
  [[nodiscard]] bool is_empty(const std::string& output) const;

  // A job's program with --cluster, to its end.
  [[nodiscard]] ChildResult run(const Command& command);
  [[nodiscard]] std::unique_ptr<RunningProgram> start(const Command& command,
                                                      const std::string& directory = {});
  // The same, detached: the job that it has become.
  [[nodiscard]] JobId submit(const Command& command);

  // A new connection, since the test may have ended the master meanwhile.
  [[nodiscard]] std::unique_ptr<ClusterClient> connect() const;
  [[nodiscard]] JobDetails details(JobId job) const;
  // Waits until all its tasks run; false if it ends before.
  [[nodiscard]] bool runs(JobId job) const;
  // Until it has ended; how.
  [[nodiscard]] JobOutcome outcome(JobId job) const;
  void cancel(JobId job) const;

 private:
  [[nodiscard]] Command node(const std::string& role) const;
  [[nodiscard]] Command with_cluster(const Command& command) const;
  void add_secret(Command& command) const;

  const TestClusterOptions options_;
  const TemporaryDirectory directory_;
  std::string address_;
  std::unique_ptr<RunningProgram> master_;
  std::vector<std::unique_ptr<RunningProgram>> workers_;
  std::size_t started_ = 0;  // programs, for the names of their logs
};

// Programs of tests/jobs, apps and tools, by their path.
[[nodiscard]] std::string test_job(const std::string& name);
[[nodiscard]] std::string app(const std::string& name);

}  // namespace weir
