// TaskHosts as processes of their own, one per job and worker.
#pragma once

#include <caf/all.hpp>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "actors/blob_fetcher.h"
#include "actors/task_host_launcher.h"
#include "actors/task_process.h"
#include "net/blob_store.h"
#include "net/child_processes.h"

namespace weir {

struct ProcessTaskHostsOptions {
  std::shared_ptr<BlobStore> blobs;
  std::filesystem::path jobs_directory;  // start files and shipped files, a directory per job
  std::filesystem::path
      log_directory;  // what task processes write to stdout and stderr, a directory per job
  Endpoint master;
  ClusterToken token;
  std::string node;
  std::string listen_host;
  PortRange data_ports;
  std::string advertise_host;
  std::uint64_t memory_bytes_per_slot = 0;  // 0: unlimited
  LogLevel log_level = LogLevel::info;
};

// Fetches what a job consists of from the master, once per worker, and executes it. A thread fetches, for all hosts in
// turn; one starts those that have everything, which takes milliseconds; another watches the processes. Thread-safe. When
// it is destroyed no process is left.
class ProcessTaskHosts final : public TaskHostLauncher {
 public:
  // How long a process has to leave before it is killed.
  static constexpr std::chrono::seconds leave_grace{5};
  // Log directories of jobs that are kept; the oldest go first.
  static constexpr std::size_t logs_max = 100;

  // System and engine outlive it.
  [[nodiscard]] static Result<std::shared_ptr<ProcessTaskHosts>> create(
      caf::actor_system& system, const EngineContext& engine, BlobServerHandle blob_server,
      ProcessTaskHostsOptions options);
  ProcessTaskHosts(const ProcessTaskHosts&) = delete;
  ProcessTaskHosts& operator=(const ProcessTaskHosts&) = delete;
  ~ProcessTaskHosts() override;

  void start(const StartTaskHost& request, Ended ended) override;
  void release(JobId job) override;
  void release(JobId job, AttemptId attempt) override;
  [[nodiscard]] bool kill(JobId job, AttemptId attempt) override;
  [[nodiscard]] LogText read_log(const QueryLog& query) override;

 private:
  using Key = std::pair<JobId, AttemptId>;
  struct Host {
    StartTaskHost request;
    Ended ended;
    bool released = false;
    bool killed = false;
    ChildId child{};  // 0: not started yet
  };

  ProcessTaskHosts(caf::actor_system& system, const EngineContext& engine,
                   BlobServerHandle blob_server, ProcessTaskHostsOptions options);
  void run();
  void start_one(Key key);
  [[nodiscard]] Result<ChildSpec> prepare(const StartTaskHost& request);
  void on_fetched(Key key, const Result<void>& how);
  [[nodiscard]] std::filesystem::path path_of(const std::string& blob) const;
  [[nodiscard]] bool is_released(Key key);
  void release_locked(Host& host);
  void on_exit(ChildId child, const ChildExit& exit);
  [[nodiscard]] Error error_of(Key key, const ChildExit& exit);
  void end(Key key, std::optional<Error> error);
  void remove_old_logs();
  [[nodiscard]] std::filesystem::path log_file(JobId job, AttemptId attempt, HostIndex host,
                                               const char* stream) const;

  caf::actor_system* system_;
  const EngineContext* engine_;
  BlobServerHandle blob_server_;
  ProcessTaskHostsOptions options_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Host> hosts_;
  std::map<ChildId, Key> children_of_;
  std::map<ChildId, ChildExit> early_exits_;  // of children that the starter does not know yet
  std::deque<Key> to_start_;                  // bounded by the worker's slots
  bool stopping_ = false;

  std::unique_ptr<ChildProcesses> children_;
  std::unique_ptr<BlobFetcher> fetcher_;
  std::thread starter_;
};

}  // namespace weir
