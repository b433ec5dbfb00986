// Nodes that come and go, in any order and by any means.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class Nodes : public testing::Test {
 protected:
  explicit Nodes(TestClusterOptions options = {.slots = 1}) : cluster_(std::move(options)) {}

  [[nodiscard]] Command job() const {
    return {test_job("misbehaving"), "--output", cluster_.file("out"), "--parallelism", "2"};
  }
  JobId submit_endless_job() {
    Command command = job();
    command.insert(command.end(), {"--records", "0", "--rate", "1000"});
    const JobId job = cluster_.submit(command);
    EXPECT_TRUE(cluster_.runs(job));
    return job;
  }
  void expect_failed(JobId job, const testing::Matcher<std::string>& why) {
    const JobOutcome outcome = cluster_.outcome(job);
    EXPECT_EQ(outcome.state, JobState::failed);
    EXPECT_THAT(outcome.error->message, why);
    EXPECT_TRUE(cluster_.is_empty(cluster_.file("out")));
  }
  void expect_that_a_new_job_runs() {
    const auto next = cluster_.run(job());
    EXPECT_EQ(next.exit_code, 0) << next.err;
    EXPECT_EQ(sorted_output(cluster_.file("out")).size(), 1000U);
    EXPECT_TRUE(cluster_.has_task_processes(0));
  }
  [[nodiscard]] std::string id_of(std::size_t worker) {
    const auto nodes = cluster_.connect()->nodes();
    for (const NodeStatus& status : nodes->nodes) {
      if (status.node.process == static_cast<std::uint64_t>(cluster_.worker(worker).process()))
        return status.node.id;
    }
    return "not registered";
  }

  TestCluster cluster_;
};

// Before the master has an address nobody can know it: it is started, ended, and started again there.
TEST_F(Nodes, may_start_before_their_master) {
  cluster_.master().kill();
  for (std::size_t i = 0; i < 2; ++i) {
    cluster_.start_worker(i);
    ASSERT_TRUE(
        soon([&] { return cluster_.worker(i).err().find("tries again") != std::string::npos; }));
  }
  cluster_.start_master();
  EXPECT_TRUE(cluster_.has_workers(2));
  expect_that_a_new_job_runs();
}

TEST_F(Nodes, a_worker_that_is_asked_to_stop_leaves_the_list_at_once) {
  const auto cluster = cluster_.connect();
  cluster_.worker(0).send_signal(SIGTERM);
  EXPECT_EQ(cluster_.worker(0).exit_code(), 0);
  EXPECT_EQ(cluster->nodes()->nodes.size(), 2U);  // the other one, and the master
  EXPECT_THAT(cluster_.master().err(), HasSubstr("has left"));
}

TEST_F(Nodes, a_worker_that_is_asked_to_stop_ends_its_jobs_with_that_word) {
  const JobId job = submit_endless_job();
  const std::string id = id_of(1);
  cluster_.worker(1).send_signal(SIGTERM);
  EXPECT_EQ(cluster_.worker(1).exit_code(), 0);
  EXPECT_TRUE(cluster_.has_task_processes(0));
  expect_failed(job, HasSubstr("worker " + id + " has left"));
  cluster_.start_worker(1);
  ASSERT_TRUE(cluster_.has_workers(2));
  expect_that_a_new_job_runs();
}

TEST_F(Nodes, a_killed_worker_takes_its_task_processes_along_and_comes_back) {
  for (std::size_t victim = 0; victim < 2; ++victim) {
    const JobId job = submit_endless_job();
    const std::string id = id_of(victim);
    const std::vector<pid_t> processes = cluster_.task_processes_of(victim);
    ASSERT_EQ(processes.size(), 1U);
    cluster_.worker(victim).kill();
    EXPECT_TRUE(soon([&] { return figures_of(processes[0]).threads == 0; }, 5s));
    expect_failed(job, AllOf(HasSubstr(id), HasSubstr("gone")));
    EXPECT_TRUE(cluster_.has_task_processes(0));
    cluster_.start_worker(victim);
    ASSERT_TRUE(cluster_.has_workers(2));
    expect_that_a_new_job_runs();
    std::filesystem::remove_all(cluster_.file("out"));
  }
}

// Nobody can go on from what the job has written by then, and its task processes alone are left to remove it.
TEST_F(Nodes, a_master_that_ends_leaves_no_hidden_output) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    for (const bool with_checkpoints : {false, true}) {
      SCOPED_TRACE(std::to_string(signal) + (with_checkpoints ? " with checkpoints" : ""));
      const std::string output = cluster_.file("out");
      Command command{
          test_job("golden"), "--job", "timers",        "--records", "400000", "--rate", "40000",
          "--output",         output,  "--parallelism", "2"};
      if (with_checkpoints)
        command.insert(command.end(), {"--checkpoint-interval", "200ms", "--checkpoint-dir",
                                       cluster_.file("checkpoints")});
      const JobId job = cluster_.submit(command);
      ASSERT_TRUE(cluster_.runs(job));
      // Both processes have written something.
      ASSERT_TRUE(
          soon([&] { return std::filesystem::exists(output) && files_below(output) >= 2; }));
      cluster_.master().send_signal(signal);
      EXPECT_TRUE(cluster_.has_task_processes(0));
      std::error_code gone;  // with the last of its files
      for (const auto& entry : std::filesystem::directory_iterator(output, gone))
        EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
      cluster_.master().kill();
      cluster_.start_master();
      ASSERT_TRUE(cluster_.has_workers(2));
      std::filesystem::remove_all(output);
    }
  }
}

TEST_F(Nodes, that_are_all_killed_at_once_leave_nothing_and_come_back) {
  (void)submit_endless_job();
  cluster_.worker(0).send_signal(SIGKILL);
  cluster_.master().send_signal(SIGKILL);
  cluster_.worker(1).send_signal(SIGKILL);
  EXPECT_TRUE(cluster_.has_task_processes(0));
  cluster_.worker(0).kill();
  cluster_.worker(1).kill();
  cluster_.start_master();
  cluster_.start_worker(0);
  cluster_.start_worker(1);
  ASSERT_TRUE(cluster_.has_workers(2));
  expect_that_a_new_job_runs();
}

TEST_F(Nodes, a_master_that_is_killed_and_comes_back_gets_its_workers_back) {
  (void)submit_endless_job();
  cluster_.master().kill();
  EXPECT_TRUE(cluster_.has_task_processes(0));
  cluster_.start_master();
  EXPECT_TRUE(cluster_.has_workers(2));
  EXPECT_TRUE(cluster_.connect()->jobs()->running.empty());
  expect_that_a_new_job_runs();
}

TEST_F(Nodes, a_master_that_is_asked_to_stop_ends_jobs_and_workers_wait_for_the_next) {
  (void)submit_endless_job();
  cluster_.master().send_signal(SIGTERM);
  EXPECT_EQ(cluster_.master().exit_code(), 0);
  EXPECT_TRUE(cluster_.has_task_processes(0));
  EXPECT_TRUE(cluster_.worker(0).is_running());
  cluster_.start_master();
  EXPECT_TRUE(cluster_.has_workers(2));
  expect_that_a_new_job_runs();
}

class FrozenNodes : public Nodes {
 protected:
  FrozenNodes() : Nodes({.slots = 1, .heartbeat_interval = "200ms", .heartbeat_timeout = "2s"}) {}
};

TEST_F(FrozenNodes, a_frozen_worker_is_given_up_and_told_so_when_it_thaws) {
  const JobId job = submit_endless_job();
  const std::string id = id_of(0);
  cluster_.worker(0).freeze();
  const MonotonicTime begin = system_clock().now();
  expect_failed(job, AllOf(HasSubstr("worker " + id), HasSubstr("silent for over 2 s")));
  EXPECT_LT(system_clock().now() - begin, patience_factor * 10s);
  EXPECT_EQ(cluster_.connect()->nodes()->nodes.size(), 2U);
  cluster_.worker(0).send_signal(SIGCONT);
  EXPECT_TRUE(cluster_.has_workers(2));
  EXPECT_TRUE(cluster_.has_task_processes(0));
  EXPECT_TRUE(soon([&] {
    return cluster_.worker(0).err().find("given this worker up") != std::string::npos;
  })) << cluster_.worker(0).err();
  expect_that_a_new_job_runs();
}

TEST_F(FrozenNodes, a_worker_that_is_frozen_for_a_moment_goes_on) {
  const JobId job = submit_endless_job();
  cluster_.worker(0).freeze();
  std::this_thread::sleep_for(700ms);
  cluster_.worker(0).send_signal(SIGCONT);
  std::this_thread::sleep_for(2500ms);  // longer than the timeout
  EXPECT_TRUE(cluster_.runs(job));
  cluster_.cancel(job);
  EXPECT_EQ(cluster_.outcome(job).state, JobState::canceled);
}

TEST_F(FrozenNodes, a_frozen_task_process_fails_its_job_and_is_killed) {
  const JobId job = submit_endless_job();
  const JobDetails details = cluster_.details(job);
  freeze(static_cast<pid_t>(details.hosts[1].process));
  expect_failed(job, HasSubstr("the task process on node " + details.hosts[1].node));
  EXPECT_TRUE(cluster_.has_task_processes(0));
  expect_that_a_new_job_runs();
}

TEST_F(FrozenNodes, a_frozen_worker_that_is_killed_is_gone) {
  const JobId job = submit_endless_job();
  cluster_.worker(1).freeze();
  cluster_.worker(1).kill();
  expect_failed(job, HasSubstr("worker"));
  cluster_.start_worker(1);
  ASSERT_TRUE(cluster_.has_workers(2));
  EXPECT_TRUE(cluster_.has_task_processes(0));
  expect_that_a_new_job_runs();
}

TEST_F(FrozenNodes, a_frozen_master_is_left_and_found_again_when_it_thaws) {
  const JobId job = submit_endless_job();
  cluster_.master().freeze();
  EXPECT_TRUE(cluster_.has_task_processes(0));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(soon([&] {
      return cluster_.worker(i).err().find("the master has not answered for 1 s") !=
             std::string::npos;
    }));
  }
  cluster_.master().send_signal(SIGCONT);
  EXPECT_TRUE(cluster_.has_workers(2));
  expect_failed(job, AllOf(HasSubstr("gave this master up"), HasSubstr("stopped or overloaded")));
  expect_that_a_new_job_runs();
}

}  // namespace
}  // namespace weir
