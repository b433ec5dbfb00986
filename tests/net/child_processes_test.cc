#include "net/child_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "net/liveness_watch.h"
#include "tests/support/files.h"

namespace weir {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

template <class Condition>
bool soon(Condition condition, milliseconds within = seconds(20)) {
  const auto deadline = std::chrono::steady_clock::now() + within;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

bool process_exists(int process) {
  return ::kill(process, 0) == 0;
}

// Not even as a zombie that somebody still has to wait for.
bool process_runs(int process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(status, text);
  const auto state = text.rfind(") ");
  return state != std::string::npos && text[state + 2] != 'Z';
}

std::size_t entries_of(const char* directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}

// Keeps how children ended.
class Exits {
 public:
  ChildProcesses::OnExit recorder() {
    return [this](ChildId id, ChildExit exit) {
      const std::lock_guard lock(mutex_);
      exits_.emplace(id, std::move(exit));
      changed_.notify_all();
    };
  }
  ChildExit wait_for(ChildId id) {
    std::unique_lock lock(mutex_);
    const bool ended = changed_.wait_for(lock, seconds(30), [&] { return exits_.contains(id); });
    return ended ? exits_.at(id) : ChildExit{.last_stderr_lines = "the child did not end"};
  }
  std::size_t count() {
    const std::lock_guard lock(mutex_);
    return exits_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<ChildId, ChildExit> exits_;
};

class ChildProcessesTest : public testing::Test {
 protected:
  ChildSpec program(const std::string& path, std::vector<std::string> arguments = {}) const {
    return {.executable = path,
            .arguments = std::move(arguments),
            .stdout_file = files.file("out"),
            .stderr_file = files.file("err")};
  }
  ChildSpec shell(const std::string& script) const { return program("/bin/sh", {"-c", script}); }

  ChildId start(const ChildSpec& spec) {
    auto child = children->start(spec);
    EXPECT_TRUE(child) << (child ? "" : child.error().message);
    return child ? *child : ChildId{};
  }
  ChildExit run(const ChildSpec& spec) { return exits.wait_for(start(spec)); }
  std::string refusal(const ChildSpec& spec) {
    const auto child = children->start(spec);
    return child ? "started" : child.error().message;
  }
  std::string output() const { return read_file(files.file("out")); }
  bool said(const std::string& text) const { return output().find(text) != std::string::npos; }

  TemporaryDirectory files;
  Exits exits;
  std::unique_ptr<ChildProcesses> children = ChildProcesses::create(exits.recorder()).value();
};

TEST_F(ChildProcessesTest, an_exit_code_is_told) {
  const ChildExit exit = run(shell("exit 3"));
  EXPECT_EQ(exit.exit_code, 3);
  EXPECT_EQ(exit.signal, std::nullopt);
  EXPECT_EQ(describe(exit), "exited with code 3");
}

TEST_F(ChildProcessesTest, a_signal_is_told_by_number_and_name) {
  EXPECT_EQ(describe(run(shell("kill -SEGV $$"))), "was killed by signal 11 (SIGSEGV)");
  EXPECT_EQ(describe(run(shell("kill -ABRT $$"))), "was killed by signal 6 (SIGABRT)");
}

TEST_F(ChildProcessesTest, a_kill_by_somebody_else_names_the_usual_suspect) {
  EXPECT_EQ(
      describe(run(shell("kill -KILL $$"))),
      "was killed by signal 9 (SIGKILL), by somebody or, when memory runs out, by the kernel");
}

TEST_F(ChildProcessesTest, the_last_lines_of_standard_error_are_told) {
  EXPECT_EQ(run(shell("echo one >&2; echo two >&2; exit 1")).last_stderr_lines, "one\ntwo");
  const auto many = run(shell("i=1; while [ $i -le 30 ]; do echo line $i >&2; i=$((i+1)); done"));
  EXPECT_EQ(lines_of(many.last_stderr_lines).size(), 20U);
  EXPECT_EQ(lines_of(many.last_stderr_lines).front(), "line 11");
  EXPECT_EQ(lines_of(many.last_stderr_lines).back(), "line 30");
}

TEST_F(ChildProcessesTest, long_last_lines_are_cut_to_four_kilobytes_of_whole_lines) {
  const auto exit =
      run(shell("i=0; while [ $i -lt 9 ]; do printf '%01000d\\n' $i >&2; "
                "i=$((i+1)); done"));
  const auto lines = lines_of(exit.last_stderr_lines);
  EXPECT_EQ(lines.size(), 4U);
  for (const auto& line : lines) EXPECT_EQ(line.size(), 1000U);
}

TEST_F(ChildProcessesTest, what_an_earlier_child_wrote_to_the_same_file_is_not_told) {
  run(shell("echo earlier >&2"));
  EXPECT_EQ(run(shell("exit 1")).last_stderr_lines, "");
  EXPECT_EQ(run(shell("echo later >&2")).last_stderr_lines, "later");
  EXPECT_EQ(read_file(files.file("err")), "earlier\nlater\n");
}

TEST_F(ChildProcessesTest, standard_output_is_appended_to_its_file) {
  run(shell("echo first"));
  run(shell("echo second"));
  EXPECT_EQ(output(), "first\nsecond\n");
}

TEST_F(ChildProcessesTest, name_arguments_environment_and_directory_arrive) {
  ::setenv("WEIR_TEST_REPLACED", "old", 1);
  ChildSpec spec = shell("echo $0 $1 \"$WEIR_TEST_ADDED\" $WEIR_TEST_REPLACED; pwd");
  spec.shown_name = "weir: a task";
  spec.arguments.insert(spec.arguments.end(), {"zero", "a b"});
  spec.environment = {{"WEIR_TEST_ADDED", "x=y z"}, {"WEIR_TEST_REPLACED", "new"}};
  spec.working_directory = "/usr";
  run(spec);
  EXPECT_EQ(output(), "zero a b x=y z new\n/usr\n");
}

TEST_F(ChildProcessesTest, the_shown_name_is_what_the_system_lists) {
  ChildSpec spec = shell("cat /proc/$$/cmdline | tr '\\0' '|'");
  spec.shown_name = "weir task 7";
  run(spec);
  EXPECT_THAT(output(), testing::StartsWith("weir task 7|"));
}

TEST_F(ChildProcessesTest, standard_input_is_empty) {
  run(shell("cat; echo end"));
  EXPECT_EQ(output(), "end\n");
}

TEST_F(ChildProcessesTest, no_descriptor_but_the_liveness_pipe_is_inherited) {
  const FileDescriptor leaky(::open("/dev/null", O_RDONLY));  // not close-on-exec
  run(program("/bin/ls", {"/proc/self/fd"}));
  EXPECT_EQ(output(), "0\n1\n2\n3\n4\n");  // 4 is the directory that ls reads
}

TEST_F(ChildProcessesTest, signals_arrive_even_if_this_process_ignores_and_blocks_them) {
  ::signal(SIGUSR1, SIG_IGN);
  sigset_t usr2;
  ::sigemptyset(&usr2);
  ::sigaddset(&usr2, SIGUSR2);
  ::pthread_sigmask(SIG_BLOCK, &usr2, nullptr);
  EXPECT_EQ(run(shell("kill -USR1 $$")).signal, SIGUSR1);
  EXPECT_EQ(run(shell("kill -USR2 $$")).signal, SIGUSR2);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST_F(ChildProcessesTest, the_kernel_takes_a_child_first_when_memory_runs_out) {
  run(shell("cat /proc/self/oom_score_adj"));
  EXPECT_EQ(output(), "500\n");
}

TEST_F(ChildProcessesTest, why_a_program_cannot_be_started_is_said_word_for_word) {
  const std::string missing = files.file("missing");
  EXPECT_EQ(refusal(program(missing)), "cannot start " + missing + ": No such file or directory");

  const std::string not_executable = files.write("not_executable", "#!/bin/sh\n");
  EXPECT_EQ(refusal(program(not_executable)),
            "cannot start " + not_executable + ": Permission denied");

  const std::string no_program = files.write("no_program", "neither ELF nor script");
  ::chmod(no_program.c_str(), 0755);
  EXPECT_EQ(refusal(program(no_program)), "cannot start " + no_program + ": Exec format error");

  const std::string no_interpreter = files.write("no_interpreter", "#!/no/such/interpreter\n");
  ::chmod(no_interpreter.c_str(), 0755);
  EXPECT_EQ(refusal(program(no_interpreter)),
            "cannot start " + no_interpreter +
                ": No such file or directory (it is there, but not the interpreter or loader that "
                "it names)");

  EXPECT_EQ(refusal(program("/")), "cannot start /: Permission denied");
  EXPECT_EQ(exits.count(), 0U);
}

TEST_F(ChildProcessesTest, why_files_and_directory_cannot_be_used_is_said_word_for_word) {
  ChildSpec spec = shell("true");
  spec.working_directory = "/no/such/directory";
  EXPECT_EQ(refusal(spec), "cannot start /bin/sh in /no/such/directory: No such file or directory");
  spec = shell("true");
  spec.stdout_file = "/no/such/directory/out";
  EXPECT_EQ(refusal(spec), "cannot open /no/such/directory/out: No such file or directory");
  spec = shell("true");
  spec.stderr_file = files.file("");
  EXPECT_EQ(refusal(spec), "cannot open " + files.file("") + ": Is a directory");
}

TEST_F(ChildProcessesTest, a_missing_shared_library_is_told_in_the_loaders_words) {
  const std::string source =
      files.write("main.c", "extern int f(void); int main() { return f(); }");
  const std::string library = files.write("f.c", "int f(void) { return 0; }");
  const std::string so = files.file("libweirgone.so");
  const std::string binary = files.file("needs_library");
  const std::string build = "cc -shared -fPIC -o " + so + " " + library + " && cc -o " + binary +
                            " " + source + " -L" + files.file("") + " -lweirgone && rm " + so;
  ASSERT_EQ(std::system(build.c_str()), 0);
  const ChildExit exit = run(program(binary));
  EXPECT_EQ(describe(exit), "exited with code 127");
  EXPECT_EQ(exit.last_stderr_lines,
            binary +
                ": error while loading shared libraries: libweirgone.so: cannot open shared "
                "object file: No such file or directory");
}

TEST_F(ChildProcessesTest, a_memory_limit_ends_the_child_alone_and_is_named) {
  const std::string source = files.write(
      "hog.cc",
      "#include <vector>\n"
      "int main() { std::vector<std::vector<char>> all; while (true) all.emplace_back(1 << 20); }");
  const std::string binary = files.file("hog");
  ASSERT_EQ(std::system(("c++ -o " + binary + " " + source).c_str()), 0);
  ChildSpec spec = program(binary);
  spec.memory_limit_bytes = 64 << 20;
  const ChildExit exit = run(spec);
  EXPECT_EQ(describe(exit),
            "ran into its memory limit of 64 MiB and was killed by signal 6 (SIGABRT)");
  EXPECT_THAT(exit.last_stderr_lines, HasSubstr("std::bad_alloc"));
  EXPECT_EQ(run(shell("exit 0")).exit_code, 0);
}

TEST_F(ChildProcessesTest, a_child_that_watches_its_pipe_leaves_when_asked) {
  const ChildId child = start(shell("echo started; cat <&3; echo leaving; exit 4"));
  ASSERT_TRUE(soon([&] { return said("started"); }));
  children->ask_to_leave(child);
  EXPECT_EQ(exits.wait_for(child).exit_code, 4);
  EXPECT_EQ(output(), "started\nleaving\n");
}

TEST_F(ChildProcessesTest, the_environment_names_the_liveness_pipe) {
  run(shell("echo $WEIR_LIVENESS_FD"));
  EXPECT_EQ(output(), std::to_string(liveness_fd) + "\n");
}

TEST_F(ChildProcessesTest, a_child_that_does_not_leave_is_killed_after_its_grace) {
  const ChildId child =
      start(shell("echo started; trap '' TERM INT; while true; do sleep 1; done"));
  ASSERT_TRUE(soon([&] { return said("started"); }));
  const auto before = std::chrono::steady_clock::now();
  children->leave_then_kill(child, milliseconds(200));
  EXPECT_EQ(describe(exits.wait_for(child)), "was killed by signal 9 (SIGKILL)");
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(200));
}

TEST_F(ChildProcessesTest, killing_a_child_kills_what_it_has_started) {
  const ChildId child = start(shell("sleep 1000 & echo $!; wait"));
  ASSERT_TRUE(soon([&] { return said("\n"); }));
  const int grandchild = std::stoi(output());
  children->kill(child);
  const ChildExit exit = exits.wait_for(child);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_TRUE(exit.killed_on_request);
  EXPECT_TRUE(soon([&] { return !process_runs(grandchild); }));
}

TEST_F(ChildProcessesTest, what_a_child_leaves_behind_is_killed_when_it_ends) {
  run(shell("sleep 1000 & echo $!"));
  const int grandchild = std::stoi(output());
  EXPECT_TRUE(soon([&] { return !process_runs(grandchild); }));
}

TEST_F(ChildProcessesTest, orders_for_a_child_that_has_ended_do_nothing) {
  const ChildId child = start(shell("true"));
  exits.wait_for(child);
  children->ask_to_leave(child);
  children->kill(child);
  children->leave_then_kill(child, milliseconds(0));
  EXPECT_EQ(children->process_id(child), std::nullopt);
  children->kill(ChildId{12345});
  EXPECT_EQ(exits.count(), 1U);
}

TEST_F(ChildProcessesTest, three_hundred_children_leave_no_descriptor_zombie_or_thread) {
  run(shell("true"));
  const std::size_t descriptors = entries_of("/proc/self/fd");
  const std::size_t threads = entries_of("/proc/self/task");
  std::vector<ChildId> ids;
  for (int i = 0; i < 300; ++i) ids.push_back(start(shell(i % 3 == 0 ? "cat <&3" : "true")));
  for (std::size_t i = 0; i < ids.size(); i += 3) children->ask_to_leave(ids[i]);
  for (const ChildId id : ids) EXPECT_EQ(exits.wait_for(id).exit_code, 0);
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(ChildProcessesTest, many_threads_may_start_children_at_once) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < 10; ++n) EXPECT_EQ(run(shell("exit 7")).exit_code, 7);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(exits.count(), 80U);
}

TEST_F(ChildProcessesTest, a_program_written_just_now_starts_while_others_do) {
  std::thread others([this] {
    for (int n = 0; n < 50; ++n) run(shell("true"));
  });
  for (int n = 0; n < 50; ++n) {
    const std::string script = files.write("script" + std::to_string(n), "#!/bin/sh\nexit 5\n");
    ::chmod(script.c_str(), 0755);
    EXPECT_EQ(run(program(script)).exit_code, 5);
  }
  others.join();
}

TEST_F(ChildProcessesTest, the_destructor_leaves_nothing_and_tells_of_all) {
  const ChildId polite = start(shell("echo one; cat <&3; exit 4"));
  const ChildId stubborn = start(shell("echo two; while true; do sleep 1; done"));
  ASSERT_TRUE(soon([&] { return said("one") && said("two"); }));
  const int process = children->process_id(stubborn).value();
  children.reset();
  EXPECT_EQ(exits.wait_for(polite).exit_code, 4);
  EXPECT_EQ(exits.wait_for(stubborn).signal, SIGKILL);
  EXPECT_FALSE(process_exists(process));
}

// A process between this one and the child, which then dies without having said anything.
TEST(ChildProcesses, children_die_with_a_parent_that_is_killed) {
  const TemporaryDirectory files;
  const pid_t parent = ::fork();
  if (parent == 0) {
    auto children = ChildProcesses::create([](ChildId, ChildExit) {}).value();
    const auto start = [&](const char* script) {
      (void)children->start({.executable = "/bin/sh",
                             .arguments = {"-c", script},
                             .stdout_file = files.file("out"),
                             .stderr_file = files.file("err")});
    };
    start("echo $$; exec sleep 1000");
    start("sh -c 'echo $$; cat <&3; exit 0'");  // not our child, but it watches the pipe
    ::pause();
  }
  const auto lines = [&] { return lines_of(read_file(files.file("out"))); };
  ASSERT_TRUE(soon([&] { return lines().size() == 2; }));
  const int child = std::stoi(lines()[0]);
  const int grandchild = std::stoi(lines()[1]);
  ASSERT_TRUE(process_runs(child));
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  EXPECT_TRUE(soon([&] { return !process_runs(child) && !process_runs(grandchild); }));
}

TEST(LivenessWatch, tells_when_the_other_end_closes) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  FileDescriptor write_end(ends[1]);
  std::atomic<int> calls = 0;
  const auto watch = LivenessWatch::create(FileDescriptor(ends[0]), [&] { ++calls; }).value();
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(calls, 0);
  write_end.close();
  EXPECT_TRUE(soon([&] { return calls == 1; }));
}

TEST(LivenessWatch, tells_nothing_when_it_is_destroyed) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const FileDescriptor write_end(ends[1]);
  std::atomic<int> calls = 0;
  LivenessWatch::create(FileDescriptor(ends[0]), [&] { ++calls; }).value().reset();
  EXPECT_EQ(calls, 0);
}

TEST(LivenessWatch, the_pipe_is_taken_out_of_the_environment) {
  EXPECT_FALSE(take_liveness_pipe().is_open());
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor write_end(ends[1]);
  ::setenv(liveness_variable, std::to_string(ends[0]).c_str(), 1);
  const FileDescriptor pipe = take_liveness_pipe();
  EXPECT_EQ(pipe.get(), ends[0]);
  EXPECT_EQ(::fcntl(pipe.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(std::getenv(liveness_variable), nullptr);
  for (const char* nonsense : {"", "x", "-1", "3x", "99999"}) {
    ::setenv(liveness_variable, nonsense, 1);
    EXPECT_FALSE(take_liveness_pipe().is_open()) << nonsense;
  }
}

}  // namespace
}  // namespace weir
