// Programs started by this process, which do not outlive it and whose end it learns of at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace weir {

// Counts up from 1 with every child of a ChildProcesses; never used again, as process ids are.
using ChildId = StrongId<struct ChildTag, std::uint64_t>;

struct ChildSpec {
  std::filesystem::path executable = {};  // as it is, not looked up in PATH
  std::string shown_name = {};            // argv[0]; the executable's path if empty
  std::vector<std::string> arguments = {};
  std::map<std::string, std::string> environment = {};  // added to this process's, or replacing it
  // Created if missing, appended to. May be the same file.
  std::filesystem::path stdout_file = {};
  std::filesystem::path stderr_file = {};
  std::filesystem::path working_directory = {};  // this process's if empty
  // Of heap, data and private mappings (RLIMIT_DATA): allocations beyond it fail in the child.
  std::optional<std::uint64_t> memory_limit_bytes = {};
};

// How a child ended. Neither code nor signal: unknown, because this process ignores SIGCHLD.
struct ChildExit {
  std::optional<int> exit_code = {};
  std::optional<int> signal = {};
  bool killed_on_request = false;  // by ChildProcesses, whoever asked for it
  // Set if the child had this limit and its last words were that memory could not be allocated.
  std::optional<std::uint64_t> memory_limit_hit_bytes = {};
  // At most 20 lines and 4 KB of what has been appended to its stderr_file since it started.
  std::string last_stderr_lines = {};
};

// For people, to follow the child's name: "exited with code 3", "was killed by signal 11
// (SIGSEGV)". Without the last lines.
[[nodiscard]] std::string describe(const ChildExit& exit);

// What the child inherits to learn that it shall leave: the read end of a pipe into which nothing
// is written, and whose other end closes when ChildProcesses says so or its process ends, however.
// The number is in the environment too, so that a program can tell whether it was started so.
inline constexpr int liveness_fd = 3;
inline constexpr const char* liveness_variable = "WEIR_LIVENESS_FD";

// Starts, watches and ends children, on one thread of its own.
//
// A child gets: /dev/null as standard input, the two files, the liveness pipe, no other descriptor;
// every signal at its default and unblocked; a process group of its own; oom_score_adj 500, so that
// the kernel that lacks memory ends it before its parent. It is killed by the kernel if this
// process ends (PR_SET_PDEATHSIG); what it has started itself is not, and should watch the pipe.
// When it has ended by itself or otherwise, what is left of its process group is killed.
//
// Thread-safe, except that start and the destructor must not be called from `on_exit`.
class ChildProcesses {
 public:
  // Called once for every child started, on the thread of this object, also from the destructor;
  // it may come before start has returned. Must not throw, and should return soon.
  using OnExit = std::function<void(ChildId, ChildExit)>;

  // How long the destructor waits between asking and killing.
  static constexpr std::chrono::milliseconds default_last_grace{500};

  // Fails if the system gives no thread or descriptor.
  [[nodiscard]] static Result<std::unique_ptr<ChildProcesses>> create(
      OnExit on_exit, std::chrono::milliseconds last_grace = default_last_grace);
  ChildProcesses(const ChildProcesses&) = delete;
  ChildProcesses& operator=(const ChildProcesses&) = delete;
  // Asks all children to leave, kills those that do not, waits for all of them.
  ~ChildProcesses();

  // Returns when the program has been loaded or could not be: Errc::system with the path and the
  // system's reason. What its dynamic loader says comes later, as an exit.
  [[nodiscard]] Result<ChildId> start(const ChildSpec& spec);

  // The following do nothing if the child has ended.
  //
  // Closes the liveness pipe. A child that does not watch it stays.
  void ask_to_leave(ChildId child);
  // SIGKILL to its process group.
  void kill(ChildId child);
  // The one, and the other if the child is still there after `grace`.
  void leave_then_kill(ChildId child, std::chrono::milliseconds grace);

  // For logs; nothing once it has ended.
  [[nodiscard]] std::optional<int> process_id(ChildId child) const;

 private:
  class Impl;
  explicit ChildProcesses(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
