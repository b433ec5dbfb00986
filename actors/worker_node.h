// A worker node: a TaskManager for as long as there is a master, again and again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "net/endpoint.h"
#include "net/preamble.h"

namespace weir {

struct WorkerNodeOptions {
  Endpoint master;
  ClusterToken token;
  std::uint32_t slots = 1;
  std::uint64_t memory_bytes = 0;         // for all task processes together; 0: unlimited
  std::string listen_host = "127.0.0.1";  // for the data of task processes
  std::string advertise_host;             // what others reach them by; empty: listen_host
  PortRange data_ports;
  std::filesystem::path data_directory;
  std::filesystem::path log_directory;
  LogLevel task_log_level = LogLevel::info;
  Logger logger;
  Duration heartbeat_interval{1'000};
  Duration heartbeat_timeout{10'000};
};

// Connects to the master, whichever of the two starts first; registers; starts task processes on request. When the master
// is lost, or has given this worker up, all task processes end, and it begins again. One thread that it owns.
class WorkerNode {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WorkerNode>> start(WorkerNodeOptions options);
  WorkerNode(const WorkerNode&) = delete;
  WorkerNode& operator=(const WorkerNode&) = delete;
  // Tells the master that it leaves, ends all task processes.
  ~WorkerNode();

  // Waits until it has ended by itself, which it does only if trying again is of no use (another version, no Weir master there; a wrong secret looks like a master that is gone), at
  // most as long as given. The reason, if it has.
  [[nodiscard]] std::optional<Error> wait(std::chrono::milliseconds at_most);

 private:
  class Loop;
  explicit WorkerNode(std::unique_ptr<Loop> loop);
  std::unique_ptr<Loop> loop_;
};

}  // namespace weir
