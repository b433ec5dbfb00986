#include "net/child_processes.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <deque>
#include <future>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/file_descriptor.h"
#include "base/system_error.h"
#include "net/spawn.h"

namespace weir {
namespace {

constexpr std::size_t last_lines_max = 20;
constexpr off_t last_bytes_max = 4096;

// A program that was written just now may be open in a process that another thread is about to
// start: it lets go within milliseconds.
constexpr int busy_retries_max = 50;
constexpr int busy_retry_ms = 20;

std::string last_lines(std::string text, bool begins_within_line) {
  if (begins_within_line) text.erase(0, text.find('\n') + 1);
  while (text.ends_with('\n')) text.pop_back();
  std::size_t begin = text.size();
  for (std::size_t lines = 0; lines < last_lines_max && begin != std::string::npos && begin > 0;
       ++lines) {
    begin = text.rfind('\n', begin - 1);
  }
  return begin == std::string::npos || begin == 0 ? text : text.substr(begin + 1);
}

// What has been written to the file from `begin` on, or the end of it. Empty if it cannot be read.
std::string tail_of(const std::filesystem::path& path, off_t begin) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return {};
  const off_t end = ::lseek(file.get(), 0, SEEK_END);
  const off_t from = std::max(begin, end - last_bytes_max);
  if (end <= from) return {};
  std::string text(static_cast<std::size_t>(end - from), '\0');
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), from);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return last_lines(std::move(text), from > begin);
}

// The words of the C++ library and of errno's ENOMEM.
bool tells_of_no_memory(std::string_view text) {
  return text.find("bad_alloc") != std::string_view::npos ||
         text.find("out of memory") != std::string_view::npos ||
         text.find("annot allocate memory") != std::string_view::npos;
}

std::string name_of_signal(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal)
                         : std::to_string(signal) + " (SIG" + std::string(name) + ')';
}

std::string how_it_ended(const ChildExit& exit) {
  if (exit.exit_code) return "exited with code " + std::to_string(*exit.exit_code);
  if (!exit.signal) return "ended, how is not known because this process ignores SIGCHLD";
  std::string text = "was killed by signal " + name_of_signal(*exit.signal);
  if (*exit.signal == SIGKILL && !exit.killed_on_request)
    text += ", by somebody or, when memory runs out, by the kernel";
  return text;
}

std::string text_of_bytes(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  return bytes % mebibyte == 0 ? std::to_string(bytes / mebibyte) + " MiB"
                               : std::to_string(bytes) + " bytes";
}

}  // namespace

std::string describe(const ChildExit& exit) {
  if (!exit.memory_limit_hit_bytes) return how_it_ended(exit);
  return "ran into its memory limit of " + text_of_bytes(*exit.memory_limit_hit_bytes) + " and " +
         how_it_ended(exit);
}

class ChildProcesses::Impl {
 public:
  Impl(OnExit on_exit, std::chrono::milliseconds last_grace, FileDescriptor wake)
      : on_exit_(std::move(on_exit)), last_grace_(last_grace), wake_(std::move(wake)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Impl() {
    WEIR_CHECK(std::this_thread::get_id() != thread_.get_id());
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      for (auto& [id, child] : children_) leave_then_kill(child, last_grace_);
    }
    wake();
    thread_.join();
  }

  Result<ChildId> start(const ChildSpec& spec) {
    WEIR_CHECK(std::this_thread::get_id() != thread_.get_id());
    Start order{&spec, {}};
    auto result = order.result.get_future();
    {
      const std::lock_guard lock(mutex_);
      WEIR_CHECK(!stopping_);
      starts_.push_back(&order);
    }
    wake();
    return result.get();
  }

  void ask_to_leave(ChildId id) {
    const std::lock_guard lock(mutex_);
    if (Child* child = find(id)) child->process.liveness.close();
  }

  void kill(ChildId id) {
    const std::lock_guard lock(mutex_);
    if (Child* child = find(id)) kill(*child);
  }

  void leave_then_kill(ChildId id, std::chrono::milliseconds grace) {
    {
      const std::lock_guard lock(mutex_);
      if (Child* child = find(id)) leave_then_kill(*child, grace);
    }
    wake();
  }

  std::optional<int> process_id(ChildId id) const {
    const std::lock_guard lock(mutex_);
    const auto found = children_.find(id);
    if (found == children_.end()) return std::nullopt;
    return found->second.process.process;
  }

 private:
  // In the frame of the thread that waits for its result, so there are never more than callers.
  struct Start {
    const ChildSpec* spec;
    std::promise<Result<ChildId>> result;
  };

  struct Child {
    SpawnedProcess process;
    std::filesystem::path stderr_file;
    std::optional<std::uint64_t> memory_limit_bytes;
    std::optional<MonotonicTime> kill_at;
    bool killed = false;
  };

  void run() {
    // Signals of this process are for its other threads.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (true) {
      serve_starts();
      std::vector<pollfd> watched;
      std::vector<ChildId> ids;
      int timeout_ms = -1;
      {
        const std::lock_guard lock(mutex_);
        if (!starts_.empty()) continue;
        if (stopping_ && children_.empty()) return;
        timeout_ms = kill_overdue();
        watched.push_back({wake_.get(), POLLIN, 0});
        for (const auto& [id, child] : children_) {
          watched.push_back({child.process.exited.get(), POLLIN, 0});
          ids.push_back(id);
        }
      }
      const int ready = ::poll(watched.data(), watched.size(), timeout_ms);
      WEIR_CHECK(ready >= 0 || errno == EINTR || errno == ENOMEM);
      if (ready <= 0) continue;
      if (watched.front().revents != 0) swallow_wakes();
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (watched[i + 1].revents != 0) reap(ids[i]);
      }
    }
  }

  void serve_starts() {
    std::deque<Start*> starts;
    {
      const std::lock_guard lock(mutex_);
      starts.swap(starts_);
    }
    // Without the lock: loading a program may take long, and others want to kill meanwhile.
    for (Start* order : starts) order->result.set_value(start_now(*order->spec));
  }

  Result<ChildId> start_now(const ChildSpec& spec) {
    for (int retries = 0; retries < busy_retries_max; ++retries) {
      auto spawned = spawn(spec);
      if (!spawned) return spawned.error();
      if (spawned->executable_busy) {
        ::poll(nullptr, 0, busy_retry_ms);
        continue;
      }
      const std::lock_guard lock(mutex_);
      const ChildId id{++last_id_};
      children_.emplace(
          id, Child{std::move(*spawned), spec.stderr_file, spec.memory_limit_bytes, {}, false});
      return id;
    }
    return system_error("cannot start " + spec.executable.string(), ETXTBSY);
  }

  // Also how long poll may wait, in its terms. Requires the lock.
  int kill_overdue() {
    const MonotonicTime now = system_clock().now();
    std::optional<MonotonicTime> next;
    for (auto& [id, child] : children_) {
      if (!child.kill_at) continue;
      if (*child.kill_at <= now) {
        kill(child);
      } else {
        next = std::min(next.value_or(*child.kill_at), *child.kill_at);
      }
    }
    if (!next) return -1;
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*next - now).count());
  }

  void reap(ChildId id) { on_exit_(id, wait_for(id)); }

  // Requires that it has ended, so it does not block.
  ChildExit wait_for(ChildId id) {
    ChildExit exit;
    const Child child = [&] {
      const std::lock_guard lock(mutex_);
      auto ended = children_.extract(id);
      WEIR_CHECK(!ended.empty());
      const pid_t process = ended.mapped().process.process;
      // Before waiting: until then the number cannot belong to another group.
      ::kill(-process, SIGKILL);
      int status = 0;
      if (::waitpid(process, &status, 0) == process) {
        if (WIFEXITED(status)) exit.exit_code = WEXITSTATUS(status);
        if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
      }
      return std::move(ended.mapped());
    }();
    exit.killed_on_request = child.killed;
    exit.last_stderr_lines = tail_of(child.stderr_file, child.process.stderr_begin);
    if (exit.exit_code != 0 && tells_of_no_memory(exit.last_stderr_lines))
      exit.memory_limit_hit_bytes = child.memory_limit_bytes;
    return exit;
  }

  // The rest requires the lock.
  Child* find(ChildId id) {
    const auto found = children_.find(id);
    return found == children_.end() ? nullptr : &found->second;
  }

  static void kill(Child& child) {
    child.kill_at.reset();
    child.killed = true;
    ::kill(-child.process.process, SIGKILL);
  }

  static void leave_then_kill(Child& child, std::chrono::milliseconds grace) {
    child.process.liveness.close();
    const MonotonicTime at = system_clock().now() + grace;
    if (!child.killed) child.kill_at = std::min(child.kill_at.value_or(at), at);
  }

  void wake() {
    const std::uint64_t one = 1;
    WEIR_CHECK(::write(wake_.get(), &one, sizeof(one)) == sizeof(one));
  }
  void swallow_wakes() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(wake_.get(), &count, sizeof(count));
  }

  const OnExit on_exit_;
  const std::chrono::milliseconds last_grace_;
  const FileDescriptor wake_;  // eventfd
  mutable std::mutex mutex_;   // guards the following
  bool stopping_ = false;
  std::deque<Start*> starts_;
  std::map<ChildId, Child> children_;
  std::uint64_t last_id_ = 0;
  std::thread thread_;
};

Result<std::unique_ptr<ChildProcesses>> ChildProcesses::create(
    OnExit on_exit, std::chrono::milliseconds last_grace) {
  WEIR_CHECK(on_exit != nullptr);
  FileDescriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake.is_open()) return system_error("cannot watch child processes", errno);
  try {
    auto impl = std::make_unique<Impl>(std::move(on_exit), last_grace, std::move(wake));
    return std::unique_ptr<ChildProcesses>(new ChildProcesses(std::move(impl)));
  } catch (const std::system_error& e) {
    return system_error("cannot watch child processes: no thread", e.code().value());
  }
}

ChildProcesses::ChildProcesses(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ChildProcesses::~ChildProcesses() = default;

Result<ChildId> ChildProcesses::start(const ChildSpec& spec) {
  return impl_->start(spec);
}
void ChildProcesses::ask_to_leave(ChildId child) {
  impl_->ask_to_leave(child);
}
void ChildProcesses::kill(ChildId child) {
  impl_->kill(child);
}
void ChildProcesses::leave_then_kill(ChildId child, std::chrono::milliseconds grace) {
  impl_->leave_then_kill(child, grace);
}
std::optional<int> ChildProcesses::process_id(ChildId child) const {
  return impl_->process_id(child);
}

}  // namespace weir
