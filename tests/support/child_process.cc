#include "tests/support/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/check.h"
#include "base/clock.h"
#include "tests/support/sanitizers.h"

extern char** environ;

namespace weir {
namespace {

// A temporary file that has no name, for output of any length.
class Capture {
 public:
  Capture() : file_(std::tmpfile(), &std::fclose) { WEIR_CHECK(file_ != nullptr); }
  [[nodiscard]] int descriptor() const { return fileno(file_.get()); }
  [[nodiscard]] std::string text() const {
    std::string all;
    std::array<char, 4096> part{};
    std::rewind(file_.get());
    while (const std::size_t n = std::fread(part.data(), 1, part.size(), file_.get()))
      all.append(part.data(), n);
    return all;
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> file_;
};

pid_t start(const std::string& program, const std::vector<std::string>& arguments,
            const Capture& out, const Capture& err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.descriptor(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.descriptor(), STDERR_FILENO);
  std::vector<std::string> owned{program};
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : owned) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t process = 0;
  const int code = posix_spawn(&process, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  WEIR_CHECK(code == 0);
  return process;
}

}  // namespace

ChildResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                        const ChildOptions& options) {
  const Capture out;
  const Capture err;
  const pid_t process = start(program, arguments, out, err);
  const MonotonicTime deadline = system_clock().now() + patience_factor * options.timeout;
  ChildResult result;
  int status = 0;
  rusage usage{};
  while (wait4(process, &status, WNOHANG, &usage) == 0) {
    if (options.while_running) options.while_running(process);
    if (system_clock().now() > deadline && !result.timed_out) {
      result.timed_out = true;
      kill(process, SIGKILL);
    }
    usleep(2000);
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.peak_rss_kb = usage.ru_maxrss;
  result.out = out.text();
  result.err = err.text();
  return result;
}

long resident_kb(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

}  // namespace weir
