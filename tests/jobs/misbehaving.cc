// A job that does on demand what jobs must not do: --misbehave HOW, when the record with the number --at comes by.
//
// Numbers are read by some subtasks and dealt out to others, which misbehave; then each is a row of --output. With a
// parallelism of two on two workers the job has two task processes, which exchange half of the records.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/launch.h"

using namespace weir;
using namespace std::chrono_literals;

// A sanitizer must leave its signal to the kernel, of whose deed the worker tells.
extern "C" {
#if defined(__SANITIZE_ADDRESS__)
const char* __asan_default_options() {  // NOLINT: its name
  return "handle_segv=0";
}
#elif defined(__SANITIZE_THREAD__)
const char* __tsan_default_options() {  // NOLINT: its name
  return "handle_segv=0";
}
#endif
}

namespace {

struct Row {
  std::uint64_t number = 0;
  std::string text;
};

// Stands for all that is static and that threads use.
struct UsedByThreads {
  ~UsedByThreads() {
    if (threads_run) std::abort();
  }
  std::atomic<bool> threads_run = false;
} used_by_threads;

[[noreturn]] void exit_beside_threads() {
  used_by_threads.threads_run = true;
  std::exit(3);
}

[[noreturn]] void loop_for_ever() {
  for (volatile bool loops = true; loops;) {
  }
  std::abort();
}

// Not of the optimiser's business, which knows what a null pointer leads to.
void touch_forbidden_memory() {
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

[[noreturn]] void allocate_without_end() {
  static std::vector<std::vector<char>> all;  // NOLINT
  while (true) all.emplace_back(std::size_t{4} << 20, 'x');
}

[[noreturn]] void start_threads_without_end() {
  while (true) std::thread([] { std::this_thread::sleep_for(1h); }).detach();
}

// A process of the process's own, which holds on to its output files and does not watch the liveness pipe.
void leave_a_child(const std::string& mark) {
  if (::fork() != 0) return;
  const std::string script = "sleep 1000; : " + mark;
  ::execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
  ::_exit(1);
}

void misbehave(const std::string& how, const std::string& mark) {
  std::fprintf(stderr, "about to %s\n", how.c_str());
  if (how == "throw") throw std::runtime_error("the record is not to my taste");
  if (how == "throw-number") throw 7;  // NOLINT: what nobody expects
  if (how == "throw-long") throw std::runtime_error("it began so " + std::string(100 << 20, 'x'));
  if (how == "segfault") touch_forbidden_memory();
  if (how == "abort") std::abort();
  if (how == "exit") exit_beside_threads();
  if (how == "exit-0") std::_Exit(0);
  if (how == "allocate") allocate_without_end();
  if (how == "allocate-elsewhere") std::thread(allocate_without_end).join();
  if (how == "threads") start_threads_without_end();
  if (how == "loop") loop_for_ever();
  if (how == "wait") std::this_thread::sleep_for(1h);
  if (how == "leave-child") leave_a_child(mark);
  if (how == "many-words") {
    for (int i = 0; i < 5000; ++i) std::fprintf(stderr, "line %d of many on standard error\n", i);
    std::abort();
  }
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Set in the client's environment alone.
bool is_client() {
  return std::getenv("WEIR_TEST_CLIENT") != nullptr;
}

void describe(Job& job) {
  const auto how = job.option<std::string>("misbehave", "throw, segfault, exit …", "not");
  const auto at = job.option<std::uint64_t>("at", "the record at which it does", 100);
  const auto count = job.option<std::uint64_t>("records", "how many; 0: without end", 1000);
  const auto rate = job.option<double>("rate", "records per second; 0: as fast as can be", 0);
  const auto bytes =
      job.option<ByteSize>("record-bytes", "size of the text in a record", {0}).bytes;
  const auto shipped = job.option<std::string>("ship", "a file whose text is in each row", "");
  const auto prints = job.option<bool>("print", "show rows, do not write them", false);
  const auto output =
      job.option<std::string>("output", "directory for the results; without: none", "");

  if (how == "describe-throw" && !is_client()) throw std::runtime_error("not on this machine");
  if (how == "describe-abort" && !is_client()) std::abort();
  if (how == "describe-wait" && !is_client()) std::this_thread::sleep_for(1h);
  if (how == "describe-other") {
    job.source(is_client() ? "here" : "there", from_sequence(1, 1)).to("nowhere", discard());
  }

  const std::string path = shipped.empty() ? "" : job.ship(shipped);
  GeneratorOptions generated;
  if (count > 0) generated.count = count;
  if (rate > 0) generated.records_per_second = rate;
  const auto rows = job.source("numbers", generator(
                                              [bytes](std::uint64_t number) {
                                                return Row{number, std::string(bytes, 'x')};
                                              },
                                              generated))
                        .rebalance()
                        .map([how, at, path, output](const Row& row) {
                          if (row.number == at) misbehave(how, output);
                          return path.empty() ? row : Row{row.number, content_of(path)};
                        });
  if (prints) {
    rows.to("out", print());
  } else if (output.empty()) {
    rows.to("out", discard());
  } else {
    rows.to("out", csv_files(output));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return launch(argc, argv, describe);
}
