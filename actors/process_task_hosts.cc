#include "actors/process_task_hosts.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <system_error>
#include <vector>

#include "actors/blocking_request.h"
#include "actors/task_process.h"
#include "base/options.h"
#include "base/random.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds fetch_timeout{30};  // for one piece of a blob
constexpr std::size_t log_bytes_max = 256 * 1024;  // in one answer
// When the master is lost, and nobody but the task processes removes what they have written; see task_process.cc.
constexpr std::chrono::milliseconds last_grace{2'500};

Error cannot_create(const fs::path& path, const std::error_code& code) {
  return {Errc::output_failed, path.string() + ": cannot be created: " + code.message()};
}

bool can_enter(const fs::path& directory) {
  std::error_code code;
  return directory.is_absolute() && fs::is_directory(directory, code) &&
         ::access(directory.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::shared_ptr<ProcessTaskHosts>> ProcessTaskHosts::create(
    caf::actor_system& system, const EngineContext& engine, BlobServerHandle blob_server,
    ProcessTaskHostsOptions options) {
  for (const fs::path& directory : {options.jobs_directory, options.log_directory}) {
    std::error_code code;
    fs::create_directories(directory, code);
    if (code) return cannot_create(directory, code);
  }
  std::shared_ptr<ProcessTaskHosts> hosts(
      new ProcessTaskHosts(system, engine, std::move(blob_server), std::move(options)));
  auto children = ChildProcesses::create(
      [self = hosts.get()](ChildId child, const ChildExit& exit) { self->on_exit(child, exit); },
      last_grace);
  if (!children) return children.error();
  hosts->children_ = *std::move(children);
  hosts->fetcher_ = std::make_unique<BlobFetcher>(
      hosts->options_.blobs,
      [self = hosts.get()](const FetchChunk& query) {
        return ask_and_wait<BlobChunk>(*self->system_, self->blob_server_,
                                       "the master, which has the job's program,", fetch_timeout,
                                       query);
      },
      engine.logger);
  hosts->starter_ = std::thread([self = hosts.get()] { self->run(); });
  return hosts;
}

ProcessTaskHosts::ProcessTaskHosts(caf::actor_system& system, const EngineContext& engine,
                                   BlobServerHandle blob_server, ProcessTaskHostsOptions options)
    : system_(&system),
      engine_(&engine),
      blob_server_(std::move(blob_server)),
      options_(std::move(options)) {}

ProcessTaskHosts::~ProcessTaskHosts() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (auto& [key, host] : hosts_) host.released = true;
  }
  changed_.notify_all();
  fetcher_.reset();
  if (starter_.joinable()) starter_.join();
  children_.reset();
}

void ProcessTaskHosts::start(const StartTaskHost& request, Ended ended) {
  const Key key{request.job, request.attempt};
  {
    const std::scoped_lock lock(mutex_);
    hosts_.emplace(key, Host{request, std::move(ended), false, {}});
  }
  std::vector<std::string> blobs{request.program.executable};
  for (const ShippedFile& file : request.program.files) blobs.push_back(file.blob);
  fetcher_->fetch({.blobs = std::move(blobs),
                   .is_wanted = [this, key] { return !is_released(key); },
                   .done = [this, key](const Result<void>& how) { on_fetched(key, how); }});
}

void ProcessTaskHosts::on_fetched(Key key, const Result<void>& how) {
  if (!how) return end(key, how.error());
  {
    const std::scoped_lock lock(mutex_);
    to_start_.push_back(key);
  }
  changed_.notify_all();
}

void ProcessTaskHosts::release(JobId job) {
  const std::scoped_lock lock(mutex_);
  for (auto& [key, host] : hosts_) {
    if (key.first == job) release_locked(host);
  }
}

void ProcessTaskHosts::release(JobId job, AttemptId attempt) {
  const std::scoped_lock lock(mutex_);
  const auto found = hosts_.find({job, attempt});
  if (found != hosts_.end()) release_locked(found->second);
}

void ProcessTaskHosts::release_locked(Host& host) {
  if (std::exchange(host.released, true)) return;
  if (host.child.value != 0) children_->leave_then_kill(host.child, leave_grace);
}

bool ProcessTaskHosts::kill(JobId job, AttemptId attempt) {
  const std::scoped_lock lock(mutex_);
  const auto found = hosts_.find({job, attempt});
  if (found == hosts_.end()) return true;
  found->second.killed = true;
  if (found->second.child.value != 0) children_->kill(found->second.child);
  return true;
}

void ProcessTaskHosts::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !to_start_.empty(); });
    if (stopping_) return;
    const Key key = to_start_.front();
    to_start_.pop_front();
    lock.unlock();
    start_one(key);
    lock.lock();
  }
}

// A job may be released while its program is on its way: then it never starts.
void ProcessTaskHosts::start_one(Key key) {
  StartTaskHost request;
  {
    const std::scoped_lock lock(mutex_);
    request = hosts_.at(key).request;
  }
  const auto spec = prepare(request);
  if (!spec) return end(key, spec.error());
  if (is_released(key)) return end(key, {});
  // Without the lock, which the thread that starts it takes in on_exit.
  const auto child = children_->start(*spec);
  if (!child) return end(key, Error{Errc::process_lost, child.error().message});
  std::optional<ChildExit> exit;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto early = early_exits_.extract(*child)) {
      exit = early.mapped();
    } else {
      Host& host = hosts_.at(key);
      host.child = *child;
      children_of_[*child] = key;
      // What came while it was being started.
      if (host.released) children_->leave_then_kill(*child, leave_grace);
      if (host.killed) children_->kill(*child);
    }
  }
  if (exit) end(key, error_of(key, *exit));
}

// Requires that it was fetched, which has shown that it is one.
fs::path ProcessTaskHosts::path_of(const std::string& blob) const {
  return options_.blobs->path_of(*parse_blob_id(blob));
}

bool ProcessTaskHosts::is_released(Key key) {
  const std::scoped_lock lock(mutex_);
  return hosts_.at(key).released;
}

Result<ChildSpec> ProcessTaskHosts::prepare(const StartTaskHost& request) {
  const fs::path directory = options_.jobs_directory / to_string(request.job);
  const fs::path logs = options_.log_directory / to_string(request.job);
  remove_old_logs();
  for (const fs::path& path : {directory, logs}) {
    std::error_code code;
    fs::create_directories(path, code);
    if (code) return cannot_create(path, code);
  }
  const std::string label =
      std::to_string(request.attempt.value) + "-" + std::to_string(request.host.value);
  TaskProcessStart start{.job = request.job,
                         .attempt = request.attempt,
                         .host = request.host,
                         .settings = request.settings,
                         .program = request.program,
                         .fingerprint = request.fingerprint,
                         .in_clients_directory = can_enter(request.program.working_directory),
                         .shipped = {},
                         .master = options_.master,
                         .token = options_.token,
                         .node = options_.node,
                         .listen_host = options_.listen_host,
                         .data_ports = options_.data_ports,
                         .advertise_host = options_.advertise_host,
                         .heartbeat_interval = engine_->heartbeat_interval,
                         .heartbeat_timeout = engine_->heartbeat_timeout};
  start.program.log_level = options_.log_level;
  for (const ShippedFile& file : request.program.files)
    start.shipped[file.path] = path_of(file.blob).string();
  const fs::path start_file = directory / (label + ".start");
  WEIR_TRY(write_start_file(start_file, start));

  ChildSpec spec{.executable = path_of(request.program.executable),
                 .shown_name = request.program.name,
                 .arguments = {task_process_argument, start_file.string()},
                 .stdout_file = log_file(request.job, request.attempt, request.host, "stdout"),
                 .stderr_file = log_file(request.job, request.attempt, request.host, "stderr")};
  // Elsewhere never in a directory of the job's own: what user code wrote there by a relative path would go with it.
  spec.working_directory =
      start.in_clients_directory ? fs::path(request.program.working_directory) : fs::path("/");
  if (options_.memory_bytes_per_slot == 0) return spec;
  const std::uint64_t limit =
      options_.memory_bytes_per_slot * request.slots / std::max(1U, request.sharers);
  if (limit < task_process_bytes_min()) {
    return Error{
        Errc::bad_option,
        "node " + options_.node + " has " + size_text(options_.memory_bytes_per_slot) +
            " a slot for the " + std::to_string(request.sharers) +
            " independent pipelines of the job, " + size_text(limit) +
            " each, and a task process needs at least " + size_text(task_process_bytes_min()) +
            ": start nodes with more --memory (0: no limit), or make them jobs of their own"};
  }
  spec.memory_limit_bytes = limit;
  return spec;
}

void ProcessTaskHosts::on_exit(ChildId child, const ChildExit& exit) {
  Key key;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = children_of_.find(child);
    if (found == children_of_.end()) {  // start() has not returned yet
      early_exits_.emplace(child, exit);
      return;
    }
    key = found->second;
    children_of_.erase(found);
  }
  end(key, error_of(key, exit));
}

Error ProcessTaskHosts::error_of(Key key, const ChildExit& exit) {
  const std::scoped_lock lock(mutex_);
  std::string text = "the task process of " + hosts_.at(key).request.program.name + " on node " +
                     options_.node + " " + describe(exit);
  if (!exit.last_stderr_lines.empty())
    text += "; the last lines on its stderr:\n" + exit.last_stderr_lines;
  return {Errc::process_lost, std::move(text)};
}

void ProcessTaskHosts::end(Key key, std::optional<Error> error) {
  Ended ended;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = hosts_.find(key);
    if (found == hosts_.end()) return;
    if (found->second.released) error.reset();
    ended = std::move(found->second.ended);
    hosts_.erase(found);
    // Start files hold the cluster's token; with the last host of a job its directory goes.
    const auto next = hosts_.lower_bound({key.first, {}});
    if (next == hosts_.end() || next->first.first != key.first) {
      std::error_code ignored;
      fs::remove_all(options_.jobs_directory / to_string(key.first), ignored);
    }
  }
  ended(std::move(error));
}

fs::path ProcessTaskHosts::log_file(JobId job, AttemptId attempt, HostIndex host,
                                    const char* stream) const {
  return options_.log_directory / to_string(job) /
         ("attempt-" + std::to_string(attempt.value) + "-host-" + std::to_string(host.value) + "." +
          stream);
}

void ProcessTaskHosts::remove_old_logs() {
  std::error_code code;
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  for (const auto& entry : fs::directory_iterator(options_.log_directory, code)) {
    if (entry.is_directory(code)) all.emplace_back(entry.last_write_time(code), entry.path());
  }
  if (all.size() < logs_max) return;
  std::ranges::sort(all);
  for (std::size_t i = 0; i + logs_max <= all.size(); ++i) fs::remove_all(all[i].second, code);
}

LogText ProcessTaskHosts::read_log(const QueryLog& query) {
  // Both streams one after the other; the position counts through both.
  std::string text;
  for (const char* stream : {"stdout", "stderr"}) {
    std::ifstream file(log_file(query.job, query.attempt, query.host, stream), std::ios::binary);
    if (!file) continue;
    file.seekg(0, std::ios::end);
    const auto size = static_cast<std::uint64_t>(file.tellg());
    const std::uint64_t from = size > log_bytes_max ? size - log_bytes_max : 0;
    file.seekg(static_cast<std::streamoff>(from));
    if (from > 0) text += "[… " + size_text(from) + " before this are in the file]\n";
    text.append(std::istreambuf_iterator<char>(file), {});
  }
  if (text.empty() && !fs::exists(options_.log_directory / to_string(query.job))) {
    return {
        {},
        0,
        Error{Errc::input_missing, "node " + options_.node + " keeps no log of this job any more"}};
  }
  const std::uint64_t total = text.size();
  return {std::move(text), total, {}};
}

}  // namespace weir
