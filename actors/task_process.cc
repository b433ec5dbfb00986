#include "actors/task_process.h"

#include <cxxabi.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <caf/all.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>

#include "actors/messages.h"
#include "actors/networked_system_config.h"
#include "actors/print_buffer.h"
#include "actors/run.h"
#include "actors/task_host.h"
#include "base/codec.h"
#include "base/error_text.h"
#include "base/memory_limit.h"
#include "base/system_error.h"
#include "net/control_socket.h"
#include "net/gate.h"
#include "net/liveness_watch.h"
#include "net/tcp_data_plane.h"

namespace weir {
namespace {

constexpr int exit_done = 0;
constexpr int exit_failed = 1;
constexpr std::chrono::seconds host_answer_timeout{10};
// What an orderly end may take when the worker wants it.
constexpr std::chrono::seconds leave_timeout{2};

int fail(const Error& error) {
  std::fprintf(stderr, "task process: %s\n", error.message.c_str());
  return exit_failed;
}

Result<TaskProcessStart> read_start_file(const std::filesystem::path& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return system_error("cannot open " + path.string(), errno, Errc::input_missing);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return from_bytes<TaskProcessStart>(std::as_bytes(std::span(text)));
}

// Nothing, or what follows for relative paths from the lack of the client's directory.
std::string lack_of_directory(const TaskProcessStart& start) {
  if (start.in_clients_directory) return {};
  if (start.program.working_directory.empty())
    return "the directory that the job was submitted from had been removed";
  return "node " + start.node + " cannot enter '" + start.program.working_directory +
         "', the directory that the job was submitted from";
}

// Of a path or a pattern that means something else in another directory.
std::optional<Error> find_misplaced_path(const TaskProcessStart& start, const PhysicalPlan& plan) {
  const std::string lack = lack_of_directory(start);
  if (lack.empty()) return {};
  for (const LogicalNode& node : plan.logical.nodes) {
    for (const std::string& path : node.paths) {
      if (std::filesystem::path(path).is_absolute()) continue;
      return Error{Errc::bad_option,
                   lack + ": the relative path '" + path + "' of '" + node.name +
                       "' needs it; give an absolute path, or submit from a directory that all "
                       "nodes have"};
    }
  }
  return {};
}

Result<std::shared_ptr<const PhysicalPlan>> build_plan(const TaskProcessStart& start,
                                                       const std::function<void(Job&)>& describe) {
  const JobProgram& program = start.program;
  Job job(program.job_name, Options(program.options), start.shipped);
  try {
    describe(job);
  } catch (const std::exception& e) {
    const std::string lack = lack_of_directory(start);
    return shortened(
        {Errc::plan_mismatch, std::string("describing the job failed on the worker: ") + e.what() +
                                  (lack.empty() ? "" : " (" + lack + ")")});
  } catch (...) {
    return Error{Errc::plan_mismatch,
                 "describing the job failed on the worker with something that is not a "
                 "std::exception"};
  }
  auto plan = make_plan(job, {.parallelism = program.parallelism,
                              .max_parallelism = program.max_parallelism,
                              .chaining = program.chaining});
  if (!plan) return plan;
  if (fingerprint(make_job_graph(**plan)) != start.fingerprint) {
    return Error{Errc::plan_mismatch,
                 "plan_mismatch: " + program.name +
                     " describes another plan on the worker than it did at submission: describe "
                     "must depend on nothing but the job's options"};
  }
  if (const auto misplaced = find_misplaced_path(start, **plan)) return *misplaced;
  return plan;
}

// Of what no Result can tell any more: a thread that is lacking, in CAF or elsewhere, an exception in a thread of the
// user's. A lack of memory is told as that, all else by the C++ library's own handler.
[[noreturn]] void say_why_and_end() {
  const auto ran_out = [](const std::string& what) {
    std::fprintf(stderr, "task process: out of memory (%s)%s\n", what.c_str(),
                 memory_limit_words().c_str());
    std::_Exit(exit_failed);
  };
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc& e) {
    ran_out(e.what());
  } catch (const std::system_error& e) {
    if (tells_of_no_memory(e.code())) ran_out(e.what());
  } catch (...) {
  }
  __gnu_cxx::__verbose_terminate_handler();
  std::abort();
}

// User code may call exit(), and what is static would be destroyed below the threads that still run.
void exit_without_destructors() {
  ::on_exit(
      [](int code, void*) {
        std::fflush(nullptr);
        std::_Exit(code);
      },
      nullptr);
}

bool is_refused(const Endpoint& master) {
  const auto connected =
      connect_to(master.host, master.port, system_clock().now() + std::chrono::seconds(1));
  return !connected && connected.error().code == Errc::cluster_unreachable;
}

// Ends the process with its TaskHost, or when the worker closes the pipe: in order if that is quick.
class Leaving {
 public:
  enum class Why : std::uint8_t { asked_by_worker, host_ended };

  // From the liveness watch's thread.
  void on_worker_gone() { say(Why::asked_by_worker); }
  // From the TaskHost's.
  void on_host_ended() {
    say(Why::host_ended);
    ended_.set_value();
  }
  // Each once.
  [[nodiscard]] Why wait() { return left_.get_future().get(); }
  void wait_for_host() { ended_.get_future().wait(); }

 private:
  void say(Why why) {
    if (!said_.exchange(true)) left_.set_value(why);
  }

  std::promise<Why> left_;
  std::promise<void> ended_;
  std::atomic<bool> said_{false};
};

class TaskProcess {
 public:
  TaskProcess(TaskProcessStart start, Result<std::shared_ptr<const PhysicalPlan>> plan,
              std::shared_ptr<PrintBuffer> printed, Logger logger)
      : start_(std::move(start)),
        plan_(std::move(plan)),
        printed_(std::move(printed)),
        config_({.threads = 0, .connection_timeout = 2 * start_.heartbeat_timeout}),
        system_(config_),
        gate_(system_, start_.token, logger) {
    engine_.logger = std::move(logger);
    engine_.heartbeat_interval = start_.heartbeat_interval;
    engine_.heartbeat_timeout = start_.heartbeat_timeout;
  }

  // Until the TaskHost has ended.
  Result<void> run(std::shared_ptr<Leaving> leaving) {
    const auto job_manager = find_job_manager();
    if (!job_manager) return job_manager.error();
    if (!plan_) {
      caf::anon_send(
          *job_manager,
          TaskHostStarted{start_.attempt, start_.host, {}, process(), {}, plan_.error()});
      // The message is on its way when an answer to a later one has come.
      (void)find_job_manager();
      return plan_.error();
    }
    host_ = spawn_actor<TaskHostHandle>(
        system_, engine_, Placement::own_thread, task_host, &engine_,
        TaskHostOptions{
            .job = start_.job,
            .attempt = start_.attempt,
            .host = start_.host,
            .plan = *plan_,
            .settings = start_.settings,
            .job_manager = *job_manager,
            .process = process(),
            .make_data_plane = [this](DataReceiver& receiver) { return listen(receiver); },
            .printed = printed_,
            .master_is_gone = [master = start_.master] { return is_refused(master); }});
    host_->attach_functor([leaving] { leaving->on_host_ended(); });
    if (leaving->wait() == Leaving::Why::asked_by_worker) {
      caf::anon_send(host_, EndTaskHost{EndTaskHost::Why::worker_gone});
      leaving->wait_for_host();
    }
    return {};
  }

 private:
  [[nodiscard]] static std::uint64_t process() { return static_cast<std::uint64_t>(getpid()); }

  Result<JobManagerHandle> find_job_manager() {
    if (!dispatcher_) {
      const auto found = gate_.connect(start_.master.host, start_.master.port);
      if (!found) return found.error();
      dispatcher_ = caf::actor_cast<DispatcherHandle>(*found);
    }
    caf::scoped_actor self(system_);
    Result<JobManagerHandle> result =
        Error{Errc::no_such_job, "the job has ended before its task process came up"};
    self->request(dispatcher_, host_answer_timeout, FindJobManager{start_.job})
        .receive(
            [&](const JobManagerFound& found) {
              if (found.job_manager) result = *found.job_manager;
            },
            [&](const caf::error& error) {
              result = Error{Errc::cluster_unreachable,
                             "the master at " + to_string(start_.master) +
                                 " does not answer: " + system_.render(error)};
            });
    return result;
  }

  Result<ListeningDataPlane> listen(DataReceiver& receiver) {
    TcpDataPlaneOptions options;
    options.listen_host = start_.listen_host;
    options.ports = start_.data_ports;
    options.advertise_host = start_.advertise_host;
    options.token = start_.token;
    options.job = start_.job;
    options.attempt = start_.attempt;
    options.host = start_.host;
    options.log = engine_.logger;
    auto plane = TcpDataPlane::start(std::move(options), receiver);
    if (!plane) return plane.error();
    const std::string address = to_string((*plane)->address());
    return ListeningDataPlane{*std::move(plane), address};
  }

  TaskProcessStart start_;
  Result<std::shared_ptr<const PhysicalPlan>> plan_;
  std::shared_ptr<PrintBuffer> printed_;
  EngineContext engine_;
  NetworkedSystemConfig config_;
  caf::actor_system system_;
  Gate gate_;
  DispatcherHandle dispatcher_;
  TaskHostHandle host_;
};

}  // namespace

Result<void> write_start_file(const std::filesystem::path& path, const TaskProcessStart& start) {
  const Bytes bytes = to_bytes(start);
  const auto failed = [&] {
    return Error{Errc::output_failed,
                 path.string() + ": " + std::generic_category().message(errno)};
  };
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed();
  std::size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t now = ::write(file, bytes.data() + written, bytes.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now < 0) {
      const Error error = failed();
      ::close(file);
      return error;
    }
    written += static_cast<std::size_t>(now);
  }
  ::close(file);
  return {};
}

std::uint64_t task_process_bytes_min() {
  // A small job has nine threads beside the scheduler's, whose stacks are all but 10 MB of what it takes (84 MB in all on
  // two cores); another one per source and committing sink. The rest is for records on their way.
  constexpr std::uint64_t own_threads = 10;
  constexpr std::uint64_t heap_bytes = 48 << 20;
  rlimit stack{};
  constexpr std::uint64_t usual_stack_bytes = 8 << 20;
  const bool known = ::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY;
  const std::uint64_t cores = std::max(1U, std::thread::hardware_concurrency());
  return heap_bytes + (cores + own_threads) * (known ? stack.rlim_cur : usual_stack_bytes);
}

int run_task_process(const std::filesystem::path& start_file,
                     const std::function<void(Job&)>& describe) {
  std::set_terminate(say_why_and_end);
  exit_without_destructors();
  auto pipe = take_liveness_pipe();
  auto start = read_start_file(start_file);
  if (!start) return fail(start.error());
  std::error_code ignored;
  std::filesystem::remove(start_file, ignored);  // it holds the cluster's token

  const auto leaving = std::make_shared<Leaving>();
  const auto printed = std::make_shared<PrintBuffer>(standard_output());
  redirect_standard_output(printed);
  auto watch = LivenessWatch::create(std::move(pipe), [leaving] {
    leaving->on_worker_gone();
    (void)std::promise<void>().get_future().wait_for(leave_timeout);
    std::_Exit(exit_done);  // user code does not let go
  });
  if (!watch) return fail(watch.error());

  const Logger logger = Logger::to_stderr(start->program.log_level);
  if (const std::string lack = lack_of_directory(*start); !lack.empty())
    logger.warning(lack + ": what the program opens by a relative path is looked for in /");
  auto plan = build_plan(*start, describe);
  // Left to the end of the process, whose threads may be in user code that never returns.
  auto* process = new TaskProcess(*std::move(start), std::move(plan), printed, logger);
  const auto result = process->run(leaving);
  if (!result) (void)fail(result.error());
  std::fflush(nullptr);
  std::_Exit(result ? exit_done : exit_failed);
}

}  // namespace weir
