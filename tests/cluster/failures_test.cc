// What goes wrong in user code and in task processes ends its job with a word on how, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "actors/run.h"
#include "base/clock.h"
#include "base/random.h"
#include "dataflow/api/weir.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class Failures : public testing::Test {
 protected:
  // The nodes, which are running already, do not inherit the variable.
  explicit Failures(TestClusterOptions options = {.slots = 1}) : cluster_(std::move(options)) {
    ::setenv("WEIR_TEST_CLIENT", "1", 1);
  }
  ~Failures() override { ::unsetenv("WEIR_TEST_CLIENT"); }
  // Whatever has happened, the next job is not disturbed.
  void TearDown() override {
    if (IsSkipped()) return;
    // One worker may still be starting its process when what the other's did has ended the job.
    EXPECT_TRUE(soon([&] { return cluster_.strays().empty(); }));
    EXPECT_TRUE(cluster_.is_empty(output()));
    const auto next = cluster_.run(job("not"));
    EXPECT_EQ(next.exit_code, 0) << next.err;
    EXPECT_EQ(sorted_output(output()).size(), 1000U);
  }

  [[nodiscard]] std::string output() const { return cluster_.file("out"); }
  [[nodiscard]] Command job(const std::string& how) const {
    return {
        test_job("misbehaving"), "--misbehave", how, "--output", output(), "--parallelism", "2"};
  }
  [[nodiscard]] Command endless_job(const std::string& how = "not") const {
    Command command = job(how);
    command.insert(command.end(), {"--records", "0", "--rate", "1000"});
    return command;
  }
  // What the user is told of a job that fails.
  std::string failure_of(const Command& command) {
    const auto result = cluster_.run(command);
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_EQ(result.out, "");
    return result.err;
  }

  TestCluster cluster_;
};

TEST_F(Failures, an_exception_is_told_with_the_step_and_the_record_it_came_from) {
  EXPECT_THAT(failure_of(job("throw")),
              AllOf(HasSubstr("map"), HasSubstr("the record is not to my taste")));
}

TEST_F(Failures, something_thrown_that_is_no_exception_is_told_too) {
  EXPECT_THAT(failure_of(job("throw-number")), HasSubstr("map"));
}

TEST_F(Failures, an_exception_with_100_MB_of_words_is_told_in_its_first_ones) {
  const std::string told = failure_of(job("throw-long"));
  EXPECT_THAT(told.substr(0, 1000), HasSubstr("it began so xxx"));
  EXPECT_LT(told.size(), 1U << 20U);
}

TEST_F(Failures, a_segmentation_fault_is_told_by_its_name_with_the_last_words) {
  EXPECT_THAT(failure_of(job("segfault")),
              AllOf(HasSubstr("the task process of misbehaving on node w-"),
                    HasSubstr("was killed by signal 11 (SIGSEGV)"),
                    HasSubstr("the last lines on its stderr:\nabout to segfault")));
}

TEST_F(Failures, an_abort_is_told_by_its_name_with_the_last_lines_only) {
  EXPECT_THAT(failure_of(job("many-words")),
              AllOf(HasSubstr("was killed by signal 6 (SIGABRT)"), HasSubstr("line 4999 of many"),
                    HasSubstr("line 4980 of many"), Not(HasSubstr("line 4979 of many"))));
}

TEST_F(Failures, an_exit_is_told_with_its_code) {
  EXPECT_THAT(failure_of(job("exit")), HasSubstr("exited with code 3"));
}

TEST_F(Failures, an_exit_with_code_0_is_a_failure_too) {
  EXPECT_THAT(failure_of(job("exit-0")), HasSubstr("exited with code 0"));
}

TEST_F(Failures, a_program_that_breaks_on_the_worker_only_is_told_as_that) {
  EXPECT_THAT(failure_of(job("describe-throw")),
              HasSubstr("describing the job failed on the worker: not on this machine"));
  EXPECT_THAT(failure_of(job("describe-abort")), HasSubstr("was killed by signal 6 (SIGABRT)"));
}

TEST_F(Failures, a_program_that_describes_another_plan_on_the_worker_is_refused) {
  EXPECT_THAT(failure_of(job("describe-other")), HasSubstr("plan_mismatch"));
}

TEST_F(Failures, a_child_that_user_code_has_left_behind_goes_with_its_task_process) {
  const auto result = cluster_.run(job("leave-child"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(soon([&] { return cluster_.strays().empty(); }));
  std::filesystem::remove_all(output());
}

TEST_F(Failures, a_missing_shared_library_is_told_in_the_loaders_words) {
  const std::string source = cluster_.write("library.c", "int answer(void) { return 42; }\n");
  const std::string main =
      cluster_.write("main.c", "int answer(void); int main(void) { return answer(); }\n");
  const std::string so = cluster_.file("libweirgone.so");
  const std::string binary = cluster_.file("needs_library");
  const std::string build = "cc -shared -fPIC -o " + so + " " + source + " && cc -o " + binary +
                            " " + main + " " + so + " -Wl,-rpath," + cluster_.file("");
  ASSERT_EQ(std::system(build.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  std::filesystem::remove(so);

  Job job("any");
  job.source("numbers", from_sequence(1, 10)).to("out", discard());
  const auto graph = make_job_graph(**make_plan(job, {.parallelism = 1}));
  const auto client = cluster_.connect();
  const JobId id{fresh_seed()};
  JobProgram program;
  program.executable = *client->upload(binary);
  program.name = "needs_library";
  ASSERT_TRUE(client->submit(id, graph, {}, program));
  const JobOutcome outcome = cluster_.outcome(id);
  ASSERT_EQ(outcome.state, JobState::failed);
  EXPECT_THAT(outcome.error->message,
              AllOf(HasSubstr("exited with code 127"),
                    HasSubstr("needs_library: error while loading shared libraries: " + so +
                              ": cannot open shared object file: No such file or directory")));
}

TEST_F(Failures, a_killed_task_process_is_told_as_the_kernels_deed) {
  for (int round = 0; round < 2; ++round) {  // the first host has the coordinators, the second not
    const JobId job = cluster_.submit(endless_job());
    ASSERT_TRUE(cluster_.runs(job));
    const JobDetails details = cluster_.details(job);
    ASSERT_EQ(details.hosts.size(), 2U);
    ::kill(static_cast<pid_t>(details.hosts[static_cast<std::size_t>(round)].process), SIGKILL);
    const JobOutcome outcome = cluster_.outcome(job);
    EXPECT_EQ(outcome.state, JobState::failed);
    EXPECT_THAT(outcome.error->message,
                HasSubstr("on node " + details.hosts[static_cast<std::size_t>(round)].node +
                          " was killed by signal 9 (SIGKILL), by somebody or, when memory runs "
                          "out, by the kernel"));
    EXPECT_TRUE(cluster_.has_task_processes(0));
    EXPECT_TRUE(cluster_.is_empty(output()));
  }
}

TEST_F(Failures, task_processes_that_are_all_killed_at_once_end_the_job_once) {
  const JobId job = cluster_.submit(endless_job());
  ASSERT_TRUE(cluster_.runs(job));
  for (const pid_t process : cluster_.task_processes()) ::kill(process, SIGKILL);
  const JobOutcome outcome = cluster_.outcome(job);
  EXPECT_EQ(outcome.state, JobState::failed);
  EXPECT_THAT(outcome.error->message, HasSubstr("(SIGKILL)"));
}

TEST_F(Failures, a_process_that_is_killed_while_its_program_still_starts_fails_the_job) {
  const JobId job = cluster_.submit(endless_job("describe-wait"));
  ASSERT_TRUE(cluster_.has_task_processes(2));
  ::kill(cluster_.task_processes().front(), SIGKILL);
  EXPECT_THAT(cluster_.outcome(job).error->message, HasSubstr("(SIGKILL)"));
}

TEST_F(Failures, a_job_that_is_cancelled_while_its_program_still_starts_is_canceled) {
  const JobId job = cluster_.submit(endless_job("describe-wait"));
  ASSERT_TRUE(cluster_.has_task_processes(2));
  cluster_.cancel(job);
  EXPECT_EQ(cluster_.outcome(job).state, JobState::canceled);
}

TEST_F(Failures, user_code_that_loops_at_a_cancel_is_killed_after_a_grace_and_named) {
  const JobId job = cluster_.submit(endless_job("loop"));
  ASSERT_TRUE(cluster_.runs(job));
  ASSERT_TRUE(soon([&] { return cluster_.details(job).status.progress.records_read > 200; }));
  const MonotonicTime begin = system_clock().now();
  cluster_.cancel(job);
  const JobOutcome outcome = cluster_.outcome(job);
  const auto took = system_clock().now() - begin;
  EXPECT_GT(took, 4s);
  EXPECT_LT(took, patience_factor * 15s);
  EXPECT_EQ(outcome.state, JobState::canceled);
}

TEST_F(Failures, user_code_that_waits_at_another_tasks_failure_is_killed_too) {
  Command command = endless_job("wait");
  const JobId job = cluster_.submit(command);
  ASSERT_TRUE(cluster_.runs(job));
  ASSERT_TRUE(soon([&] { return cluster_.details(job).status.progress.records_read > 200; }));
  const JobDetails details = cluster_.details(job);
  ::kill(static_cast<pid_t>(details.hosts[0].process), SIGKILL);
  const JobOutcome outcome = cluster_.outcome(job);
  EXPECT_EQ(outcome.state, JobState::failed);
  EXPECT_THAT(outcome.error->message, HasSubstr("(SIGKILL)"));
}

class LimitedFailures : public Failures {
 protected:
  LimitedFailures() : Failures({.slots = 1, .worker_arguments = {"--memory", "256MB"}}) {}
};

TEST_F(LimitedFailures, allocation_without_end_ends_the_task_process_only_and_is_told_as_that) {
  if (has_sanitizer) GTEST_SKIP() << needs_memory;
  EXPECT_THAT(failure_of(job("allocate")),
              AnyOf(AllOf(HasSubstr("'map' ran out of memory"), HasSubstr("may have 256.0 MB")),
                    HasSubstr("ran into its memory limit of 256 MiB")));
}

TEST_F(LimitedFailures, what_lacks_memory_outside_of_user_functions_is_told_as_that) {
  if (has_sanitizer) GTEST_SKIP() << needs_memory;
  for (const char* how : {"allocate-elsewhere", "threads"}) {
    EXPECT_THAT(failure_of(job(how)), AllOf(HasSubstr("256"), HasSubstr("emory"))) << how;
  }
}

TEST(SideBySide, a_job_that_crashes_again_and_again_does_not_disturb_the_one_beside_it) {
  TestCluster cluster({.slots = 2});
  const std::size_t crashes = std::getenv("WEIR_LONG") != nullptr ? 100 : 30;
  const std::string rows = std::to_string(crashes * 300);
  const JobId steady = cluster.submit({test_job("misbehaving"), "--records", rows, "--rate", "1000",
                                       "--output", cluster.file("steady"), "--parallelism", "2"});
  ASSERT_TRUE(cluster.runs(steady));
  for (std::size_t i = 0; i < crashes; ++i) {
    const auto crashed = cluster.run({test_job("misbehaving"), "--misbehave", "segfault",
                                      "--output", cluster.file("out"), "--parallelism", "2"});
    ASSERT_EQ(crashed.exit_code, 1);
    ASSERT_THAT(crashed.err, HasSubstr("(SIGSEGV)"));
  }
  EXPECT_EQ(cluster.outcome(steady).state, JobState::finished);
  const JobDetails details = cluster.details(steady);
  EXPECT_EQ(details.attempt, AttemptId{1});
  EXPECT_TRUE(details.exceptions.empty());
  std::vector<std::string> expected;
  for (std::size_t i = 0; i < crashes * 300; ++i) expected.push_back(std::to_string(i) + ",\"\"");
  std::ranges::sort(expected);
  EXPECT_EQ(sorted_output(cluster.file("steady")), expected);
  EXPECT_TRUE(cluster.is_empty(cluster.file("out")));
}

}  // namespace
}  // namespace weir
