#include "tests/support/cluster.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

using std::chrono::milliseconds;

const std::string built = std::string(WEIR_BINARY_DIR) + "/";

// Between fork and exec only calls that are safe after a signal are.
[[noreturn]] void become(const std::vector<char*>& argv, const char* directory, int out, int err) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 ||
      ::dup2(err, STDERR_FILENO) < 0 || (*directory != '\0' && ::chdir(directory) != 0))
    ::_exit(126);
  ::execv(argv.front(), argv.data());
  ::_exit(127);
}

pid_t fork_and_execute(const Command& command, const std::string& log,
                       const std::string& directory) {
  constexpr int create = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  const int out = ::open((log + ".out").c_str(), create, 0600);
  const int err = ::open((log + ".err").c_str(), create, 0600);
  WEIR_CHECK(out >= 0 && err >= 0);
  Command owned = command;
  std::vector<char*> argv;
  for (std::string& argument : owned) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const pid_t process = ::fork();
  WEIR_CHECK(process >= 0);
  if (process == 0) become(argv, directory.c_str(), out, err);
  ::close(out);
  ::close(err);
  return process;
}

std::string command_line_of(pid_t process) {
  std::string text = read_file("/proc/" + std::to_string(process) + "/cmdline");
  std::ranges::replace(text, '\0', ' ');
  return text;
}

// The rest of the line of /proc/<process>/<file> that begins so.
std::string proc_line(pid_t process, const std::string& file, const std::string& begin) {
  std::ifstream lines("/proc/" + std::to_string(process) + "/" + file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return "0";
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> processes;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t process = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (error == std::errc{} && end == name.data() + name.size()) processes.push_back(process);
  }
  return processes;
}

}  // namespace

bool soon(const std::function<bool()>& condition, milliseconds within) {
  const MonotonicTime deadline = system_clock().now() + patience_factor * within;
  while (!condition()) {
    if (system_clock().now() > deadline) return false;
    ::usleep(5000);
  }
  return true;
}

RunningProgram::RunningProgram(const Command& command, std::string log,
                               const std::string& directory)
    : log_(std::move(log)), process_(fork_and_execute(command, log_, directory)) {}

RunningProgram::~RunningProgram() {
  kill();
}

std::string RunningProgram::out() const {
  return read_file(log_ + ".out");
}

std::string RunningProgram::err() const {
  return read_file(log_ + ".err");
}

std::optional<int> RunningProgram::exit_code(milliseconds within) {
  (void)soon(
      [this] {
        int status = 0;
        if (exit_code_ || ::waitpid(process_, &status, WNOHANG) != process_)
          return exit_code_.has_value();
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return true;
      },
      within);
  return exit_code_;
}

void RunningProgram::send_signal(int signal) const {
  if (!exit_code_) ::kill(process_, signal);
}

void RunningProgram::freeze() const {
  if (!exit_code_) weir::freeze(process_);
}

void RunningProgram::kill() {
  send_signal(SIGKILL);
  (void)exit_code();
}

// Only when a thread of it has run and taken the signal do the others stop: on a busy machine that may be a while.
void freeze(pid_t process) {
  ::kill(process, SIGSTOP);
  const std::filesystem::path threads = "/proc/" + std::to_string(process) + "/task";
  const auto is_stopped = [](const std::filesystem::path& thread) {
    std::ifstream stat(thread / "stat");
    const std::string text(std::istreambuf_iterator<char>(stat), {});
    const std::size_t state = text.rfind(')') + 2;  // behind the name
    return state < text.size() && text[state] == 'T';
  };
  EXPECT_TRUE(soon([&] {
    std::error_code ignored;
    return std::ranges::all_of(std::filesystem::directory_iterator(threads, ignored), is_stopped);
  }));
}

ProcessFigures figures_of(pid_t process) {
  ProcessFigures figures;
  figures.resident_kb = resident_kb(process);
  figures.private_kb = std::stol(proc_line(process, "status", "RssAnon:"));
  figures.threads = std::stoul(proc_line(process, "status", "Threads:"));
  std::error_code gone;
  for (fs::directory_iterator at("/proc/" + std::to_string(process) + "/fd", gone), end;
       !gone && at != end; at.increment(gone))
    ++figures.descriptors;
  return figures;
}

pid_t parent_of(pid_t process) {
  return std::stoi(proc_line(process, "status", "PPid:"));
}

std::size_t files_below(const std::string& directory) {
  std::size_t count = 0;
  std::error_code gone;
  for (fs::recursive_directory_iterator at(directory, gone), end; !gone && at != end;
       at.increment(gone))
    ++count;
  return count;
}

TestCluster::TestCluster(TestClusterOptions options) : options_(std::move(options)) {
  workers_.resize(options_.workers);
  if (!options_.secret.empty()) write("secret", options_.secret);
  if (!options_.starts) return;
  start_master();
  for (std::size_t i = 0; i < workers_.size(); ++i) start_worker(i);
  EXPECT_TRUE(has_workers(workers_.size()));
}

TestCluster::~TestCluster() {
  if (testing::Test::HasFailure()) {
    if (master_) std::cerr << "--- master\n" << master_->err();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i]) std::cerr << "--- worker " << i << '\n' << workers_[i]->err();
    }
  }
  workers_.clear();
  master_.reset();
  // Frozen ones, too, which cannot see that their worker is gone.
  for (const pid_t process : strays()) ::kill(process, SIGKILL);
  (void)soon([this] { return strays().empty(); });
}

Command TestCluster::node(const std::string& role) const {
  Command command{built + "tools/node",
                  "--role",
                  role,
                  "--heartbeat-interval",
                  options_.heartbeat_interval,
                  "--heartbeat-timeout",
                  options_.heartbeat_timeout};
  command.insert(command.end(), options_.node_arguments.begin(), options_.node_arguments.end());
  add_secret(command);
  return command;
}

void TestCluster::add_secret(Command& command) const {
  if (!options_.secret.empty()) command.insert(command.end(), {"--secret-file", file("secret")});
}

void TestCluster::start_master() {
  Command command = node("master");
  const std::string listen = address_.empty() ? "127.0.0.1:0" : address_;
  command.insert(command.end(), {"--data-dir", file("master"), "--listen", listen});
  master_.reset();
  master_ = std::make_unique<RunningProgram>(command, file("master-" + std::to_string(started_++)));
  constexpr std::string_view says = "master listens on ";
  ASSERT_TRUE(soon([&] { return master_->out().ends_with('\n') || !master_->is_running(); }));
  ASSERT_TRUE(master_->out().starts_with(says)) << master_->err();
  address_ = lines_of(master_->out()).front().substr(says.size());
}

void TestCluster::start_worker(std::size_t index) {
  Command command = node("worker");
  const std::string name = "worker-" + std::to_string(index);
  command.insert(command.end(), {"--data-dir", file(name), "--join", address_, "--slots",
                                 std::to_string(options_.slots)});
  command.insert(command.end(), options_.worker_arguments.begin(), options_.worker_arguments.end());
  workers_.at(index).reset();
  workers_[index] =
      std::make_unique<RunningProgram>(command, file(name + "-" + std::to_string(started_++)));
}

bool TestCluster::has_workers(std::size_t count) {
  const auto cluster = connect();
  return soon([&] {
    const auto nodes = cluster->nodes();
    return nodes && nodes->nodes.size() == count + 1;
  });
}

std::vector<pid_t> TestCluster::strays() const {
  std::vector<pid_t> found;
  for (const pid_t process : all_processes()) {
    const bool is_node =
        (master_ && process == master_->process()) ||
        std::ranges::any_of(workers_, [&](const auto& w) { return w && w->process() == process; });
    if (is_node || process == ::getpid() || parent_of(process) == ::getpid()) continue;
    if (command_line_of(process).find(directory_.file("")) != std::string::npos)
      found.push_back(process);
  }
  return found;
}

std::vector<pid_t> TestCluster::task_processes() const {
  std::vector<pid_t> found = strays();
  std::erase_if(found, [](pid_t process) {
    return command_line_of(process).find("--weir-task-host") == std::string::npos;
  });
  return found;
}

std::vector<pid_t> TestCluster::task_processes_of(std::size_t worker) const {
  std::vector<pid_t> found = task_processes();
  const pid_t parent = workers_.at(worker)->process();
  std::erase_if(found, [&](pid_t process) { return parent_of(process) != parent; });
  return found;
}

bool TestCluster::has_task_processes(std::size_t count, milliseconds within) {
  return soon([&] { return task_processes().size() == count; }, within);
}

bool TestCluster::is_empty(const std::string& output) const {
  return !fs::exists(output) || sorted_output(output).empty();
}

Command TestCluster::with_cluster(const Command& command) const {
  Command all = command;
  all.insert(all.end(), {"--cluster", address_});
  add_secret(all);
  return all;
}

ChildResult TestCluster::run(const Command& command) {
  const Command all = with_cluster(command);
  return run_program(all.front(), {all.begin() + 1, all.end()});
}

std::unique_ptr<RunningProgram> TestCluster::start(const Command& command,
                                                   const std::string& directory) {
  return std::make_unique<RunningProgram>(with_cluster(command),
                                          file("client-" + std::to_string(started_++)), directory);
}

JobId TestCluster::submit(const Command& command) {
  Command all = command;
  all.emplace_back("--detached");
  const ChildResult result = run(all);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto job = parse_job_id(result.out.substr(0, result.out.find('\n')));
  EXPECT_TRUE(job) << result.out;
  return job.value_or(JobId{});
}

std::unique_ptr<ClusterClient> TestCluster::connect() const {
  const ClusterToken token =
      options_.secret.empty() ? ClusterToken{} : *token_of_secret(options_.secret);
  std::unique_ptr<ClusterClient> client;
  // Again, if the master is too busy to answer in time.
  const bool is_connected = soon([&] {
    auto connected = ClusterClient::connect(*parse_endpoint(address_), token);
    if (connected) {
      client = *std::move(connected);
    } else {
      std::cerr << "no connection to the master: " << connected.error().message << '\n';
    }
    return client != nullptr;
  });
  // GoogleTest takes an exception for a failure of this test and goes on with the next one.
  if (!is_connected) throw std::runtime_error("no connection to the master");
  return client;
}

JobDetails TestCluster::details(JobId job) const {
  const auto cluster = connect();
  std::optional<JobDetails> details;
  const bool is_answered = soon([&] {
    auto answer = cluster->details(job);
    if (answer) details = *std::move(answer->details);
    return details.has_value();
  });
  if (!is_answered) throw std::runtime_error("no details of job " + to_string(job));
  return *std::move(details);
}

bool TestCluster::runs(JobId job) const {
  const auto cluster = connect();
  bool runs = false;
  (void)soon([&] {
    const auto progress = cluster->progress(job);
    runs = progress && progress->state == JobState::running &&
           progress->tasks_running == progress->tasks_total;
    return runs || (progress && is_terminal(progress->state));
  });
  return runs;
}

JobOutcome TestCluster::outcome(JobId job) const {
  const auto cluster = connect();
  JobOutcome outcome;
  EXPECT_TRUE(soon(
      [&] {
        const auto answer = cluster->details(job);
        if (answer) outcome = answer->details->status;
        return is_terminal(outcome.state);
      },
      std::chrono::seconds(60)));
  return outcome;
}

void TestCluster::cancel(JobId job) const {
  EXPECT_TRUE(connect()->cancel(job));
}

std::string test_job(const std::string& name) {
  return built + "tests/jobs/" + name;
}

std::string app(const std::string& name) {
  return built + "apps/" + name;
}

}  // namespace weir
