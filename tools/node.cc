// A node of a cluster: master, worker, or both in one process.
#include <signal.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "actors/job_console.h"
#include "actors/master_node.h"
#include "actors/progress_line.h"
#include "actors/task_process.h"
#include "actors/worker_node.h"
#include "base/options.h"
#include "base/standard_descriptors.h"

namespace weir {
namespace {

struct NodeOptions {
  std::string role;
  std::string listen;
  std::string join;
  std::string advertise;
  std::string data_ports = "0";
  std::string data_directory;
  std::string log_directory;
  std::string secret_file;
  std::string memory;
  std::string log_level = "info";
  std::string heartbeat_interval = "1s";
  std::string heartbeat_timeout = "10s";
  std::uint32_t slots = std::max(1U, std::thread::hardware_concurrency());
};

int refuse(const std::string& text) {
  complain("node", text + " (--help lists the options)");
  return exit_usage;
}

// Why a machine of ours may still run out: the kernel, the node itself and file caches need the rest.
constexpr std::uint64_t memory_percent = 80;

std::uint64_t default_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;  // a sanitizer maps far more than there is
#endif
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return 0;
  return std::uint64_t{info.totalram} * info.mem_unit / 100 * memory_percent;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

bool is_wildcard(const std::string& host) {
  return host == "0.0.0.0" || host == "::" || host == "*";
}

std::string default_directory() {
  const char* user_directory = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  std::string base = user_directory != nullptr ? user_directory
                     : home != nullptr         ? std::string(home) + "/.local/state"
                                               : "/var/tmp";
  return base + "/weir";
}

// Runs until SIGTERM or SIGINT, or until the worker has given up.
int serve(std::unique_ptr<MasterNode> master, std::unique_ptr<WorkerNode> worker,
          const sigset_t& signals) {
  while (true) {
    const timespec a_while{0, 200'000'000};
    const int signal = sigtimedwait(&signals, nullptr, &a_while);
    if (signal > 0) break;
    if (worker == nullptr) continue;
    if (const auto error = worker->wait(std::chrono::milliseconds{0})) {
      complain("node", error->message);
      return exit_failed;
    }
  }
  worker.reset();
  master.reset();
  return exit_finished;
}

int run_node(int argc, char** argv) {
  NodeOptions options;
  CLI::App app("A node of a Weir cluster. A worker may be started before its master.", "node");
  app.set_version_flag("--version", std::string("node (weir " WEIR_VERSION ")"));
  app.add_option("--role", options.role, "master, worker, or both: a cluster of one machine")
      ->required()
      ->type_name("ROLE");
  app.add_option("--listen", options.listen,
                 "master: where clients and workers connect (default 127.0.0.1:7000); worker: the "
                 "address its task processes listen on for data (default 127.0.0.1)")
      ->type_name("HOST:PORT");
  app.add_option("--join", options.join, "worker: the master's address")->type_name("HOST:PORT");
  app.add_option("--slots", options.slots, "worker: tasks of one job side by side; default: cores")
      ->check(CLI::Range(1U, 10'000U))
      ->type_name("N");
  app.add_option("--memory", options.memory,
                 "worker: for all its task processes together, divided among slots; default: 80 % "
                 "of the machine's; 0: no limit")
      ->type_name("SIZE");
  app.add_option("--advertise", options.advertise,
                 "worker: the address by which other workers reach it; default: that of --listen")
      ->type_name("HOST");
  app.add_option("--data-ports", options.data_ports,
                 "worker: ports for data, one per running job; default: any")
      ->type_name("A-B");
  app.add_option("--data-dir", options.data_directory,
                 "where programs of jobs are kept, in master/ and worker/ below it; default: "
                 "~/.local/state/weir")
      ->type_name("DIR");
  app.add_option("--log-dir", options.log_directory,
                 "worker: where task processes' output is kept; default: logs in --data-dir")
      ->type_name("DIR");
  app.add_option("--secret-file", options.secret_file,
                 "what all nodes and clients of the cluster know; without it only loopback "
                 "addresses are allowed")
      ->type_name("FILE");
  app.add_option("--heartbeat-interval", options.heartbeat_interval, "default: 1s")
      ->type_name("TIME");
  app.add_option("--heartbeat-timeout", options.heartbeat_timeout,
                 "after what silence a node or task process counts as lost; default: 10s")
      ->type_name("TIME");
  app.add_option("--log-level", options.log_level, "debug, info, warning, error or off")
      ->type_name("LEVEL");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return exit_finished;
  } catch (const CLI::CallForVersion&) {
    std::puts("node (weir " WEIR_VERSION ")");
    return exit_finished;
  } catch (const CLI::ParseError& e) {
    return refuse(e.what());
  }

  const bool is_master = options.role == "master" || options.role == "both";
  const bool is_worker = options.role == "worker" || options.role == "both";
  if (!is_master && !is_worker)
    return refuse("--role is '" + options.role + "' but must be master, worker or both");
  if (options.role == "worker" && options.join.empty())
    return refuse("--join is missing: a worker needs its master's address");
  if (is_master && !options.join.empty())
    return refuse("--join is for workers; this is a " + options.role);
  const auto level = parse_log_level(options.log_level);
  if (!level) {
    return refuse("--log-level is '" + options.log_level +
                  "' but must be debug, info, warning, error or off");
  }
  const auto interval = parse_duration(options.heartbeat_interval);
  const auto timeout = parse_duration(options.heartbeat_timeout);
  if (!interval || interval->count() < 10)
    return refuse("--heartbeat-interval must be a time of at least 10ms, such as 1s");
  if (!timeout || *timeout < 3 * *interval)
    return refuse("--heartbeat-timeout must be at least three times --heartbeat-interval");

  Endpoint master_address{"127.0.0.1", 7000};
  std::string data_host = "127.0.0.1";
  if (is_master && !options.listen.empty()) {
    const auto endpoint = parse_endpoint(options.listen);
    const bool any_port = options.listen.ends_with(":0");
    if (!endpoint && !any_port) return refuse("--listen: " + endpoint.error().message);
    master_address =
        endpoint ? *endpoint : Endpoint{options.listen.substr(0, options.listen.size() - 2), 0};
    if (options.role == "both") data_host = master_address.host;
  } else if (!options.listen.empty()) {
    const auto endpoint = parse_endpoint(options.listen);
    data_host = endpoint ? endpoint->host : options.listen;
  }
  ClusterToken token;
  if (!options.secret_file.empty()) {
    const auto secret = read_secret_file(options.secret_file);
    if (!secret) return refuse("--secret-file: " + secret.error().message);
    if (const auto readers = find_secret_readers(options.secret_file))
      complain("node", "warning: " + *readers);
    token = *secret;
  } else if (!is_loopback(is_master ? master_address.host : data_host)) {
    return refuse(
        "--listen: without --secret-file only loopback addresses are allowed, since "
        "whoever reaches this port runs programs as you");
  }
  if (is_worker && is_wildcard(data_host) && options.advertise.empty())
    return refuse("--advertise is missing: other workers cannot dial " + data_host);

  std::optional<Endpoint> join;
  PortRange ports;
  std::uint64_t memory = default_memory();
  if (is_worker) {
    if (options.role == "worker") {
      const auto endpoint = parse_endpoint(options.join);
      if (!endpoint) return refuse("--join: " + endpoint.error().message);
      join = *endpoint;
    }
    const auto range = parse_port_range(options.data_ports);
    if (!range) return refuse("--data-ports: " + range.error().message);
    ports = *range;
    if (!options.memory.empty()) {
      const auto size = parse_size(options.memory);
      if (!size) return refuse("--memory: " + size.error().message);
      memory = *size;
    }
    const std::uint64_t of_a_slot = memory / options.slots;
    if (memory > 0 && of_a_slot < task_process_bytes_min()) {
      return refuse(
          "--memory " + size_text(memory) + " for --slots " + std::to_string(options.slots) +
          " is " + size_text(of_a_slot) + " a slot, and a task process needs at least " +
          size_text(task_process_bytes_min()) + ": give more memory (0: no limit) or fewer slots");
    }
  }

  // Before there are threads, which inherit it: signals are taken by serve() alone.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  const Logger logger = Logger::to_stderr(*level);
  // Task processes, which are told of them, run in other directories.
  const std::filesystem::path directory = std::filesystem::absolute(
      options.data_directory.empty() ? default_directory() : options.data_directory);
  const std::filesystem::path log_directory =
      options.log_directory.empty() ? directory / "worker" / "logs"
                                    : std::filesystem::absolute(options.log_directory);
  std::unique_ptr<MasterNode> master;
  if (is_master) {
    auto started = MasterNode::start({.listen = master_address,
                                      .token = token,
                                      .data_directory = directory / "master",
                                      .logger = logger,
                                      .heartbeat_interval = *interval,
                                      .heartbeat_timeout = *timeout});
    if (!started) {
      complain("node", started.error().message);
      return exit_failed;
    }
    master = *std::move(started);
    join = master->address();
    if (is_wildcard(join->host)) join->host = "127.0.0.1";
    std::printf("master listens on %s\n", to_string(master->address()).c_str());
    std::fflush(stdout);
  }
  std::unique_ptr<WorkerNode> worker;
  if (is_worker) {
    auto started = WorkerNode::start({.master = *join,
                                      .token = token,
                                      .slots = options.slots,
                                      .memory_bytes = memory,
                                      .listen_host = data_host,
                                      .advertise_host = options.advertise,
                                      .data_ports = ports,
                                      .data_directory = directory / "worker",
                                      .log_directory = log_directory,
                                      .task_log_level = *level,
                                      .logger = logger,
                                      .heartbeat_interval = *interval,
                                      .heartbeat_timeout = *timeout});
    if (!started) {
      complain("node", started.error().message);
      return exit_failed;
    }
    worker = *std::move(started);
    logger.info("offers " + counted(options.slots, "slot") +
                (memory == 0 ? " without a limit of memory (--memory)"
                             : " and " + size_text(memory) + " for task processes, " +
                                   size_text(memory / options.slots) + " a slot (--memory)"));
  }
  return serve(std::move(master), std::move(worker), signals);
}

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::open_missing_standard_descriptors();
  return weir::run_node(argc, argv);
}
