#include "actors/worker_node.h"

#include <unistd.h>

#include <algorithm>
#include <caf/all.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "actors/blocking_request.h"
#include "actors/engine_context.h"
#include "actors/networked_system_config.h"
#include "actors/process_task_hosts.h"
#include "actors/task_manager.h"
#include "base/random.h"
#include "net/blob_store.h"
#include "net/gate.h"

namespace weir {
namespace {

constexpr std::chrono::seconds master_answer_timeout{5};
constexpr std::chrono::milliseconds first_pause{100};
constexpr std::chrono::milliseconds longest_pause{2'000};

// Trying again does not help.
bool is_final(const Error& error) {
  return error.code == Errc::bad_option;
}

}  // namespace

class WorkerNode::Loop {
 public:
  Loop(WorkerNodeOptions options, std::shared_ptr<BlobStore> blobs)
      : options_(std::move(options)),
        blobs_(std::move(blobs)),
        node_id_("w-" + to_string(JobId{fresh_seed()}).substr(0, 8)) {
    engine_.logger = options_.logger;
    engine_.heartbeat_interval = options_.heartbeat_interval;
    engine_.heartbeat_timeout = options_.heartbeat_timeout;
    thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  std::optional<Error> wait(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [this] { return ended_.has_value(); });
    return ended_;
  }

 private:
  void run() {
    std::chrono::milliseconds pause = first_pause;
    std::string told;
    while (!is_stopping()) {
      registered_ = false;
      const auto end = live_one_registration();
      if (is_stopping()) return;
      if (registered_) pause = first_pause;
      if (end && is_final(*end)) {
        const std::scoped_lock lock(mutex_);
        ended_ = *end;
        changed_.notify_all();
        return;
      }
      if (end && (registered_ || end->message != told)) {
        options_.logger.warning(end->message + "; tries again");
        told = end->message;
      }
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, pause, [this] { return stopping_; });
      pause = std::min(2 * pause, longest_pause);
    }
  }

  // Everything anew, CAF too: a system that has lost a peer remembers handles and half-open connections of it.
  std::optional<Error> live_one_registration() {
    NetworkedSystemConfig config(
        {.threads = 1, .connection_timeout = 2 * options_.heartbeat_timeout});
    caf::actor_system system(config);
    Gate gate(system, options_.token, options_.logger);
    const auto found = gate.connect(options_.master.host, options_.master.port);
    if (!found) return found.error();
    const std::string name = "the master at " + to_string(options_.master);
    const auto master = ask_and_wait<MasterInfo>(system, caf::actor_cast<DispatcherHandle>(*found),
                                                 name, master_answer_timeout, QueryMaster{});
    if (!master) return master.error();

    auto hosts =
        ProcessTaskHosts::create(system, engine_, master->blobs,
                                 {.blobs = blobs_,
                                  .jobs_directory = options_.data_directory / "jobs",
                                  .log_directory = options_.log_directory,
                                  .master = options_.master,
                                  .token = options_.token,
                                  .node = node_id_,
                                  .listen_host = options_.listen_host,
                                  .data_ports = options_.data_ports,
                                  .advertise_host = options_.advertise_host,
                                  .memory_bytes_per_slot = options_.memory_bytes / options_.slots,
                                  .log_level = options_.task_log_level});
    if (!hosts) return hosts.error();
    const std::string advertised =
        options_.advertise_host.empty() ? options_.listen_host : options_.advertise_host;
    const RegistrationId registration{fresh_seed()};
    auto task_manager_handle = spawn_actor<TaskManagerHandle>(
        system, engine_, Placement::own_thread, task_manager, &engine_,
        TaskManagerOptions{.registration = registration,
                           .node = {.id = node_id_,
                                    .role = "worker",
                                    .address = advertised,
                                    .version = WEIR_VERSION,
                                    .process = static_cast<std::uint64_t>(getpid()),
                                    .slots = options_.slots,
                                    .memory_bytes = options_.memory_bytes},
                           .resource_manager = master->resource_manager,
                           .launcher = *hosts,
                           .on_end = [this](const Error& why) { on_registration_end(why); }});
    options_.logger.info("worker " + node_id_ + " connected to the master at " +
                         to_string(options_.master));
    registered_ = true;
    std::optional<Error> failure;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || registration_end_.has_value(); });
      failure = std::exchange(registration_end_, std::nullopt);
    }
    if (!failure) {
      (void)ask_and_wait<HeartbeatAnswer>(system, master->resource_manager, name,
                                          master_answer_timeout,
                                          DeregisterTaskManager{registration});
    }
    caf::anon_send_exit(task_manager_handle, caf::exit_reason::user_shutdown);
    engine_.own_threads->wait_until_none();
    return failure;
  }

  void on_registration_end(const Error& why) {
    {
      const std::scoped_lock lock(mutex_);
      registration_end_ = why;
    }
    changed_.notify_all();
  }

  bool is_stopping() {
    const std::scoped_lock lock(mutex_);
    return stopping_;
  }

  WorkerNodeOptions options_;
  EngineContext engine_;
  std::shared_ptr<BlobStore> blobs_;
  std::string node_id_;
  bool registered_ = false;  // of the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::optional<Error> registration_end_;
  std::optional<Error> ended_;
  std::thread thread_;
};

Result<std::unique_ptr<WorkerNode>> WorkerNode::start(WorkerNodeOptions options) {
  auto blobs = BlobStore::open(options.data_directory / "blobs");
  if (!blobs) return blobs.error();
  // Of a worker that was killed: the store's lock says that nobody else is here.
  std::error_code ignored;
  std::filesystem::remove_all(options.data_directory / "jobs", ignored);
  return std::unique_ptr<WorkerNode>(new WorkerNode(
      std::make_unique<Loop>(std::move(options), std::make_shared<BlobStore>(*std::move(blobs)))));
}

WorkerNode::WorkerNode(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
WorkerNode::~WorkerNode() = default;

std::optional<Error> WorkerNode::wait(std::chrono::milliseconds at_most) {
  return loop_->wait(at_most);
}

}  // namespace weir
