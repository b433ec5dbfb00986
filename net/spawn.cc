#include "net/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/system_error.h"

namespace weir {
namespace {

// Closed by a successful exec; until then the child says through it what failed.
constexpr int report_fd = liveness_fd + 1;
// Descriptors from here on are in nobody's way when the child arranges its own.
constexpr int first_free_fd = report_fd + 1;

enum class Step { parent, memory_limit, working_directory, descriptors, execute };

struct Report {
  Step step;
  int error;
};

// All that the child needs, prepared before it exists: between vfork and exec it shares this
// process's memory, and another thread may hold the allocator's lock.
struct Plan {
  pid_t parent;
  const char* executable;
  char* const* arguments;
  char* const* environment;
  const char* working_directory;  // null: stay
  const rlimit* memory_limit;     // null: none
  int stdin_fd;
  int stdout_fd;
  int stderr_fd;
  int liveness_fd;
  int report_fd;
};

[[noreturn]] void fail(Step step) {
  const Report report{step, errno};
  // Nobody is left to tell if it fails.
  [[maybe_unused]] const auto written = ::write(report_fd, &report, sizeof(report));
  _exit(127);
}

void arrange_descriptors(const Plan& plan) {
  const bool done =
      ::dup3(plan.report_fd, report_fd, O_CLOEXEC) >= 0 &&
      ::dup2(plan.stdin_fd, STDIN_FILENO) >= 0 && ::dup2(plan.stdout_fd, STDOUT_FILENO) >= 0 &&
      ::dup2(plan.stderr_fd, STDERR_FILENO) >= 0 && ::dup2(plan.liveness_fd, liveness_fd) >= 0 &&
      ::syscall(SYS_close_range, unsigned{first_free_fd}, ~0U, 0U) == 0;
  if (!done) fail(Step::descriptors);
}

void be_killed_with_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  errno = ESRCH;
  if (::getppid() != parent) fail(Step::parent);
}

void volunteer_for_the_oom_killer() {
  const int file = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const auto written = ::write(file, "500", 3);
  ::close(file);
}

// exec resets handlers by itself, but not what is ignored or blocked.
void default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Runs in the child, and so calls only what is safe in a signal handler.
[[noreturn]] void become(const Plan& plan) {
  arrange_descriptors(plan);
  be_killed_with_parent(plan.parent);
  ::setpgid(0, 0);
  volunteer_for_the_oom_killer();
  default_signals();
  if (plan.memory_limit != nullptr && ::setrlimit(RLIMIT_DATA, plan.memory_limit) != 0)
    fail(Step::memory_limit);
  if (plan.working_directory != nullptr && ::chdir(plan.working_directory) != 0)
    fail(Step::working_directory);
  ::execve(plan.executable, plan.arguments, plan.environment);
  fail(Step::execute);
}

// vfork: a fork would copy the page tables of a large process. This thread waits until the child
// has executed or ended; a handler must not run in the child meanwhile, hence the mask.
pid_t start(const Plan& plan) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t process = ::vfork();
  if (process == 0) become(plan);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return process;
}

// The descriptor, or a copy of it that the child's own do not overwrite.
FileDescriptor out_of_the_way(FileDescriptor fd) {
  if (!fd.is_open() || fd.get() >= first_free_fd) return fd;
  return FileDescriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first_free_fd));
}

FileDescriptor open_file(const char* path, int flags) {
  return out_of_the_way(FileDescriptor(::open(path, flags | O_CLOEXEC, 0644)));
}

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot create a pipe", errno);
  Pipe pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  pipe.read_end = out_of_the_way(std::move(pipe.read_end));
  pipe.write_end = out_of_the_way(std::move(pipe.write_end));
  if (!pipe.read_end.is_open() || !pipe.write_end.is_open())
    return system_error("cannot create a pipe", errno);
  return pipe;
}

// Null-terminated, as exec wants it; views into `texts`.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> arguments_of(const ChildSpec& spec) {
  std::vector<std::string> arguments{spec.shown_name.empty() ? spec.executable.string()
                                                             : spec.shown_name};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  return arguments;
}

std::vector<std::string> environment_of(const ChildSpec& spec) {
  auto own = spec.environment;
  own[liveness_variable] = std::to_string(liveness_fd);
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!own.contains(text.substr(0, text.find('=')))) environment.push_back(text);
  }
  for (const auto& [name, value] : own)
    environment.push_back(std::string(name).append("=").append(value));
  return environment;
}

Error explain(const Report& report, const ChildSpec& spec) {
  const std::string cannot_start = "cannot start " + spec.executable.string();
  switch (report.step) {
    case Step::parent:
      return {Errc::system, cannot_start + ": this process is ending"};
    case Step::memory_limit:
      return system_error(cannot_start + " with a memory limit", report.error);
    case Step::working_directory:
      return system_error(cannot_start + " in " + spec.working_directory.string(), report.error);
    case Step::descriptors:
      return system_error(cannot_start + ": cannot arrange its descriptors", report.error);
    case Step::execute:
      break;
  }
  Error error = system_error(cannot_start, report.error);
  std::error_code ignored;
  if (report.error == ENOENT && std::filesystem::exists(spec.executable, ignored))
    error.message += " (it is there, but not the interpreter or loader that it names)";
  return error;
}

}  // namespace

Result<SpawnedProcess> spawn(const ChildSpec& spec) {
  std::error_code no_working_directory;
  const auto executable = std::filesystem::absolute(spec.executable, no_working_directory);
  if (no_working_directory)
    return system_error("cannot start " + spec.executable.string(), no_working_directory.value());

  const FileDescriptor nothing = open_file("/dev/null", O_RDONLY);
  if (!nothing.is_open()) return system_error("cannot open /dev/null", errno);
  const int appended = O_WRONLY | O_CREAT | O_APPEND;
  const FileDescriptor out = open_file(spec.stdout_file.c_str(), appended);
  if (!out.is_open()) return system_error("cannot open " + spec.stdout_file.string(), errno);
  const FileDescriptor err = open_file(spec.stderr_file.c_str(), appended);
  if (!err.is_open()) return system_error("cannot open " + spec.stderr_file.string(), errno);
  struct stat err_status {};
  if (::fstat(err.get(), &err_status) != 0)
    return system_error("cannot examine " + spec.stderr_file.string(), errno);

  auto liveness = make_pipe();
  if (!liveness) return liveness.error();
  auto reports = make_pipe();
  if (!reports) return reports.error();

  std::vector<std::string> arguments = arguments_of(spec);
  std::vector<std::string> environment = environment_of(spec);
  const std::vector<char*> argument_pointers = pointers_to(arguments);
  const std::vector<char*> environment_pointers = pointers_to(environment);
  rlimit memory{};
  if (spec.memory_limit_bytes) memory = {*spec.memory_limit_bytes, *spec.memory_limit_bytes};
  const Plan plan{
      .parent = ::getpid(),
      .executable = executable.c_str(),
      .arguments = argument_pointers.data(),
      .environment = environment_pointers.data(),
      .working_directory =
          spec.working_directory.empty() ? nullptr : spec.working_directory.c_str(),
      .memory_limit = spec.memory_limit_bytes ? &memory : nullptr,
      .stdin_fd = nothing.get(),
      .stdout_fd = out.get(),
      .stderr_fd = err.get(),
      .liveness_fd = liveness->read_end.get(),
      .report_fd = reports->write_end.get(),
  };
  const pid_t process = start(plan);
  if (process < 0)
    return system_error("cannot start " + spec.executable.string() + ": no process", errno);
  reports->write_end.close();

  Report report{};
  ssize_t got = 0;
  do {
    got = ::read(reports->read_end.get(), &report, sizeof(report));
  } while (got < 0 && errno == EINTR);
  if (got == sizeof(report)) {
    ::waitpid(process, nullptr, 0);
    SpawnedProcess busy;
    busy.executable_busy = true;
    if (report.step == Step::execute && report.error == ETXTBSY) return busy;
    return explain(report, spec);
  }

  SpawnedProcess spawned;
  spawned.process = process;
  spawned.exited = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!spawned.exited.is_open()) {
    const int error = errno;
    ::kill(-process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    return system_error("cannot watch " + spec.executable.string(), error);
  }
  spawned.liveness = std::move(liveness->write_end);
  spawned.stderr_begin = err_status.st_size;
  return spawned;
}

}  // namespace weir
