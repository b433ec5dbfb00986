// What a job costs before it has done anything: time from process start to the first result, and
// resident memory.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "actors/run.h"
#include "base/check.h"
#include "bench/benchmarks.h"
#include "bench/limits/actor_chain.h"
#include "dataflow/api/weir.h"

extern char** environ;

namespace weir::bench {
namespace {

// A child that runs this program with an argument, and its standard output.
class Child {
 public:
  Child(const std::string& program, const std::string& role) {
    int ends[2];
    WEIR_CHECK(pipe2(ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::string argument = "--child=" + role;
    char* const arguments[] = {const_cast<char*>(program.c_str()), argument.data(), nullptr};
    WEIR_CHECK(posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ) == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    out_ = ends[0];
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(out_);
  }

  void wait_for_output() const {
    char byte = 0;
    WEIR_CHECK(read(out_, &byte, 1) == 1);
  }

  [[nodiscard]] double resident_mb() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string word; status >> word;) {
      if (word != "VmRSS:") continue;
      double kb = 0;
      status >> kb;
      return kb / 1024;
    }
    return 0;
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
};

Sample time_to_output(const std::string& program, const std::string& role) {
  const double begin = seconds_now();
  const Child child(program, role);
  child.wait_for_output();
  return {(seconds_now() - begin) * 1e3};
}

Sample memory_when_idle(const std::string& program, const std::string& role) {
  const Child child(program, role);
  std::this_thread::sleep_for(std::chrono::milliseconds{500});
  return {child.resident_mb()};
}

// source → keyed count → print, whose first line the parent waits for.
int run_first_result() {
  Job job("first_result");
  job.source("words", collection(std::vector<std::string>{"to", "be", "or", "not", "to", "be"}))
      .key_by(std::identity{})
      .count("count")
      .to("out", print());
  return run(job).has_value() ? 0 : 1;
}

int run_idle_job() {
  Job job("idle");
  job.source("ticks",
             generator([](std::uint64_t i) { return i; }, {.count = {}, .records_per_second = 1.0}))
      .key_by(std::identity{})
      .count("count")
      .to("out", discard());
  return run(job, {.parallelism = 2}).has_value() ? 0 : 1;
}

int run_bare_output() {
  std::puts("to,1");
  return 0;
}

}  // namespace

PairedBenchmark first_result(const std::string& program) {
  return {.name = "first_result",
          .unit = "ms",
          .what =
              "process start to the first row of a keyed count, against a process that prints it "
              "at once",
          .engine = [program] { return time_to_output(program, "first-result"); },
          .limit = [program] { return time_to_output(program, "bare-output"); }};
}

PairedBenchmark embedded_memory(const std::string& program) {
  return {.name = "embedded_memory",
          .unit = "MB",
          .what = "resident memory of a process with an idle job, against an idle actor system",
          .engine = [program] { return memory_when_idle(program, "idle-job"); },
          .limit = [program] { return memory_when_idle(program, "idle-actors"); }};
}

int run_child(const std::string& role) {
  if (role == "first-result") return run_first_result();
  if (role == "idle-job") return run_idle_job();
  if (role == "bare-output") return run_bare_output();
  if (role == "idle-actors") idle_actor_system();
  return 2;
}

}  // namespace weir::bench
