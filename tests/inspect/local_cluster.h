// A master and workers as processes of this machine, for tests.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "tests/support/child_process.h"
#include "tests/support/files.h"
#include "tests/support/sanitizers.h"

namespace weir {

inline const std::string binaries = std::string(WEIR_BINARY_DIR) + "/";

// Whether it holds before the time is up; asked every few milliseconds. Under sanitizers patience_factor as long.
inline bool eventually(const std::function<bool()>& holds,
                       std::chrono::seconds at_most = std::chrono::seconds{30}) {
  const MonotonicTime deadline = system_clock().now() + patience_factor * at_most;
  while (!holds()) {
    if (system_clock().now() > deadline) return false;
    usleep(20'000);
  }
  return true;
}

// A program in the background that ends with its owner, or with the test.
class Background {
 public:
  Background(const std::string& program, std::vector<std::string> arguments,
             const std::string& output_file) {
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    process_ = fork();
    WEIR_CHECK(process_ >= 0);
    if (process_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int file = open(output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    kill(process_, SIGTERM);
    int status = 0;
    const bool ended = eventually([&] { return waitpid(process_, &status, WNOHANG) != 0; },
                                  std::chrono::seconds{10});
    if (ended) return;
    kill(process_, SIGKILL);
    waitpid(process_, &status, 0);
  }

 private:
  pid_t process_ = 0;
};

class LocalCluster {
 public:
  explicit LocalCluster(int workers) {
    nodes_.push_back(std::make_unique<Background>(
        binaries + "tools/node",
        std::vector<std::string>{"--role", "master", "--listen", "127.0.0.1:0", "--data-dir",
                                 files_.file("master")},
        files_.file("master.out")));
    const std::string announcement = "master listens on ";
    WEIR_CHECK(eventually([&] {
      const std::string text = read_file(files_.file("master.out"));
      const std::size_t at = text.find(announcement);
      const std::size_t end = text.find('\n', at);
      if (at == std::string::npos || end == std::string::npos) return false;
      address_ = text.substr(at + announcement.size(), end - at - announcement.size());
      return true;
    }));
    for (int i = 1; i <= workers; ++i) {
      const std::string name = "worker" + std::to_string(i);
      nodes_.push_back(std::make_unique<Background>(
          binaries + "tools/node",
          std::vector<std::string>{"--role", "worker", "--join", address_, "--slots", "1",
                                   "--memory", "0", "--data-dir", files_.file(name)},
          files_.file(name + ".out")));
    }
  }
  ~LocalCluster() {
    while (!nodes_.empty()) nodes_.pop_back();  // workers first
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] const TemporaryDirectory& files() const { return files_; }

  [[nodiscard]] ChildResult inspect(std::vector<std::string> arguments) const {
    return tool("inspect", std::move(arguments));
  }
  [[nodiscard]] ChildResult job(std::vector<std::string> arguments) const {
    return tool("job", std::move(arguments));
  }
  // Submits a job of tests/jobs; its id.
  [[nodiscard]] std::string submit(const std::string& program,
                                   std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--cluster", address_, "--detached"});
    const ChildResult result = run_program(binaries + "tests/jobs/" + program, arguments);
    WEIR_CHECK(result.exit_code == 0);
    return result.out.substr(0, result.out.find('\n'));
  }

 private:
  [[nodiscard]] ChildResult tool(const std::string& name,
                                 std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--cluster", address_});
    return run_program(binaries + "tools/" + name, arguments);
  }

  TemporaryDirectory files_;
  std::vector<std::unique_ptr<Background>> nodes_;
  std::string address_;
};

}  // namespace weir
