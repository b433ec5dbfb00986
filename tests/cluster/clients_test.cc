// What users see of a cluster: attached and detached clients, waiting, cancelling, rows of print().
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

class Clients : public testing::Test {
 protected:
  [[nodiscard]] Command job(const std::string& output = "out",
                            const std::string& parallelism = "2") const {
    return {test_job("misbehaving"), "--output", cluster_.file(output), "--parallelism",
            parallelism};
  }
  [[nodiscard]] Command endless_job(const std::string& output = "out",
                                    const std::string& parallelism = "2") const {
    Command command = job(output, parallelism);
    command.insert(command.end(), {"--records", "0", "--rate", "1000"});
    return command;
  }

  TestCluster cluster_{{.slots = 1}};
};

TEST_F(Clients, that_are_detached_print_the_jobs_id_and_nothing_else) {
  Command command = job();
  command.emplace_back("--detached");
  const auto client = cluster_.run(command);
  EXPECT_EQ(client.exit_code, 0);
  EXPECT_EQ(client.err, "");
  ASSERT_EQ(client.out.size(), 17U);
  const auto id = parse_job_id(client.out.substr(0, 16));
  ASSERT_TRUE(id);
  EXPECT_EQ(cluster_.outcome(*id).state, JobState::finished);
  EXPECT_EQ(sorted_output(cluster_.file("out")).size(), 1000U);
}

TEST_F(Clients, whose_master_dies_say_so) {
  const auto client = cluster_.start(endless_job());
  ASSERT_TRUE(cluster_.has_task_processes(2));
  cluster_.master().kill();
  EXPECT_EQ(client->exit_code(), 1);
  EXPECT_THAT(client->err(), AllOf(HasSubstr("misbehaving: the connection to the master at " +
                                             cluster_.address() + " was lost"),
                                   HasSubstr("job wait")));
}

TEST_F(Clients, that_find_no_master_say_so_soon) {
  cluster_.master().kill();
  const MonotonicTime begin = system_clock().now();
  const auto client = cluster_.run(job());
  EXPECT_EQ(client.exit_code, 1);
  EXPECT_THAT(client.err, AllOf(HasSubstr(cluster_.address()), HasSubstr("Connection refused"),
                                HasSubstr("node --role master --listen " + cluster_.address())));
  EXPECT_LT(system_clock().now() - begin, patience_factor * 10s);
}

TEST_F(Clients, that_are_interrupted_without_a_terminal_cancel_the_job) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto client = cluster_.start(endless_job());
    ASSERT_TRUE(cluster_.has_task_processes(2));
    client->send_signal(signal);
    EXPECT_EQ(client->exit_code(), 130);
    EXPECT_THAT(client->err(), HasSubstr("the job was cancelled"));
    EXPECT_TRUE(cluster_.has_task_processes(0));
    EXPECT_TRUE(cluster_.is_empty(cluster_.file("out")));
    EXPECT_EQ(cluster_.connect()->jobs()->ended.back().state, JobState::canceled);
  }
}

TEST_F(Clients, that_are_killed_leave_the_job_running) {
  const auto client = cluster_.start(endless_job());
  ASSERT_TRUE(cluster_.has_task_processes(2));
  client->kill();
  const auto jobs = cluster_.connect()->jobs();
  ASSERT_EQ(jobs->running.size(), 1U);
  EXPECT_TRUE(cluster_.runs(jobs->running[0].job));
  cluster_.cancel(jobs->running[0].job);
  EXPECT_EQ(cluster_.outcome(jobs->running[0].job).state, JobState::canceled);
}

TEST_F(Clients, are_shown_the_rows_that_the_job_prints) {
  Command command = job();
  command.insert(command.end(), {"--print", "true", "--records", "5000"});
  const auto client = cluster_.run(command);
  EXPECT_EQ(client.exit_code, 0);
  const auto said = lines_of(client.err);
  ASSERT_EQ(said.size(), 2U) << client.err;
  EXPECT_THAT(said[0], HasSubstr("misbehaving: submitted as job "));
  EXPECT_THAT(said[1], HasSubstr("FINISHED  5,000 records"));
  const auto rows = lines_of(client.out);
  EXPECT_EQ(rows.size(), 5000U);
  EXPECT_TRUE(rows.front().starts_with("1> ") || rows.front().starts_with("2> "));
}

TEST_F(Clients, are_shown_the_rows_that_were_printed_before_a_failure) {
  Command command = job();
  command.insert(command.end(),
                 {"--print", "true", "--rate", "500", "--misbehave", "throw", "--at", "600"});
  const auto client = cluster_.run(command);
  EXPECT_EQ(client.exit_code, 1);
  EXPECT_THAT(client.err, HasSubstr("the record is not to my taste"));
  EXPECT_GT(lines_of(client.out).size(), 100U);
}

// A shell gives the client a standard output that takes nothing, or nothing any more.
TEST_F(Clients, that_cannot_show_the_rows_fail_and_cancel_the_job) {
  const std::vector<std::pair<std::string, std::string>> outputs{
      {"exec \"$@\" > /dev/full", "No space left on device"},
      {"{ \"$@\"; echo $? >&2; } | true", "Broken pipe"}};
  for (const auto& [script, reason] : outputs) {
    Command command{"/bin/sh", "-c", script, "sh"};
    const Command printing = endless_job();
    command.insert(command.end(), printing.begin(), printing.end());
    command.insert(command.end(), {"--print", "true"});
    const auto client = cluster_.start(command);
    const auto code = client->exit_code();
    EXPECT_THAT(client->err(), AllOf(HasSubstr("cannot write to standard output: " + reason),
                                     HasSubstr("the job was cancelled")));
    EXPECT_TRUE(code == 1 || client->err().ends_with("\n1\n")) << client->err();
    EXPECT_TRUE(cluster_.has_task_processes(0));
    EXPECT_EQ(cluster_.connect()->jobs()->ended.back().state, JobState::canceled);
  }
}

TEST_F(Clients, whose_master_does_not_answer_say_what_may_be_the_matter) {
  const auto cluster = cluster_.connect();
  cluster_.master().freeze();
  const auto jobs = cluster->jobs();
  const auto other = cluster_.run(job());
  cluster_.master().send_signal(SIGCONT);
  EXPECT_THAT(jobs.error().message, HasSubstr("it may be stopped or overloaded"));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("stopped or overloaded"));
}

TEST_F(Clients, whose_jobs_want_more_than_there_is_do_not_hold_up_others) {
  const auto large = cluster_.start(endless_job("large", "3"));
  ASSERT_TRUE(soon([&] {
    return large->err().find("waits for 3 slots (2 free of 2), more than all workers have") !=
           std::string::npos;
  }));
  const auto small = cluster_.run(job("small"));
  EXPECT_EQ(small.exit_code, 0) << small.err;
  EXPECT_TRUE(large->is_running());
}

TEST_F(Clients, that_queue_behind_another_job_are_told_which) {
  const JobId running = cluster_.submit(endless_job("running", "1"));
  ASSERT_TRUE(cluster_.runs(running));
  const JobId wide = cluster_.submit(endless_job("wide", "2"));
  const auto behind = cluster_.start(job("behind", "1"));
  ASSERT_TRUE(soon([&] {
    return behind->err().find("waits for 1 slot (1 free of 2), behind job " + to_string(wide) +
                              ", which waits for 2; gives up at ") != std::string::npos;
  })) << behind->err();
  cluster_.cancel(wide);
  EXPECT_EQ(behind->exit_code(), 0) << behind->err();
}

TEST(ClientsOfAnEmptyCluster, are_told_how_to_start_a_worker) {
  TestCluster cluster({.workers = 0});
  const auto client =
      cluster.start({test_job("misbehaving"), "--slot-timeout", "2s", "--parallelism", "1"});
  EXPECT_EQ(client->exit_code(), 1);
  EXPECT_THAT(client->err(),
              HasSubstr("waits for 1 slot (0 free of 0), but there is no worker: start one with "
                        "node --role worker --join " +
                        cluster.address()));
  const auto job = cluster.connect()->jobs()->ended.at(0).job;
  ASSERT_EQ(cluster.details(job).exceptions.size(), 1U);
  EXPECT_EQ(cluster.details(job).exceptions[0].error.code, Errc::not_enough_slots);
  EXPECT_THAT(cluster.master().err(), HasSubstr("FAILED: no resources: the job waited 2 s"));
}

TEST_F(Clients, wait_for_slots_and_are_told_what_was_missing_when_they_give_up) {
  Command command = job("out", "3");
  command.insert(command.end(), {"--slot-timeout", "1s"});
  const auto client = cluster_.run(command);
  EXPECT_EQ(client.exit_code, 1);
  EXPECT_THAT(client.err,
              AllOf(HasSubstr("waits for 3 slots (2 free of 2)"),
                    HasSubstr("no resources: the job waited 1 s for 3 slots (2 free of 2)"),
                    HasSubstr("add slots or lower --parallelism")));
}

TEST_F(Clients, get_the_slots_of_a_job_that_ends_and_of_a_worker_that_comes) {
  const JobId first = cluster_.submit(endless_job("first"));
  ASSERT_TRUE(cluster_.runs(first));
  const auto second = cluster_.start(job());
  ASSERT_TRUE(soon(
      [&] { return second->err().find("waits for 2 slots (0 free of 2)") != std::string::npos; }));
  cluster_.cancel(first);
  EXPECT_EQ(second->exit_code(), 0) << second->err();

  cluster_.worker(1).kill();
  ASSERT_TRUE(cluster_.has_workers(1));
  const auto third = cluster_.start(job("third"));
  ASSERT_TRUE(soon(
      [&] { return third->err().find("waits for 2 slots (1 free of 1)") != std::string::npos; }));
  cluster_.start_worker(1);
  EXPECT_EQ(third->exit_code(), 0) << third->err();
}

// A shell starts them with all three closed, or some.
TEST_F(Clients, that_have_no_standard_descriptors_run_their_job_all_the_same) {
  int next = 0;
  for (const char* closed : {"<&- >&- 2>&-", ">&-", "<&- 2>&-"}) {
    Command command{"/bin/sh", "-c", std::string("exec \"$@\" ") + closed, "sh"};
    const Command of_job = job("out" + std::to_string(++next));
    command.insert(command.end(), of_job.begin(), of_job.end());
    EXPECT_EQ(cluster_.start(command)->exit_code(), 0) << closed;
    EXPECT_EQ(sorted_output(of_job[2]).size(), 1000U) << closed;
  }
}

TEST_F(Clients, that_wait_for_slots_can_be_interrupted) {
  const auto client = cluster_.start(endless_job("out", "3"));
  ASSERT_TRUE(soon([&] { return client->err().find("waits for") != std::string::npos; }));
  client->send_signal(SIGINT);
  EXPECT_EQ(client->exit_code(), 130) << client->err();
}

// A job that has lost a worker keeps the slots of the other.
TEST(SlotsOfARestartingJob, are_named_to_those_who_wait_beside_it_and_their_lack_fails_an_attempt) {
  TestCluster cluster({.slots = 1});
  const JobId job = cluster.submit({test_job("misbehaving"), "--output", cluster.file("first"),
                                    "--parallelism", "2", "--records", "0", "--rate", "1000",
                                    "--restart-strategy", "fixed-delay", "--restart-attempts", "2",
                                    "--restart-delay", "100ms", "--slot-timeout", "3s"});
  ASSERT_TRUE(cluster.runs(job));
  cluster.worker(1).kill();
  const auto other = cluster.start({test_job("misbehaving"), "--output", cluster.file("second"),
                                    "--parallelism", "1", "--records", "10"});
  EXPECT_TRUE(soon([&] {
    return other->err().find("waits for 1 slot (0 free of 1), beside job " + to_string(job) +
                             ", which keeps its slots while it waits for 1 more to restart") !=
           std::string::npos;
  })) << other->err();
  EXPECT_THAT(cluster.details(job).status.progress.waiting_for, HasSubstr("this attempt fails at"));
  EXPECT_EQ(cluster.outcome(job).state, JobState::failed);
  EXPECT_THAT(cluster.outcome(job).error->message, HasSubstr("no resources: the job waited 3 s"));
  std::vector<AttemptId> without_slots;
  for (const JobException& exception : cluster.details(job).exceptions) {
    if (exception.error.code == Errc::not_enough_slots) without_slots.push_back(exception.attempt);
  }
  EXPECT_EQ(without_slots, (std::vector<AttemptId>{{2}, {3}}));
  EXPECT_EQ(other->exit_code(), 0) << other->err();
}

TEST(TwoClients, at_once_have_their_jobs_run_side_by_side) {
  TestCluster cluster({.slots = 2});
  std::vector<std::unique_ptr<RunningProgram>> clients;
  for (const char* output : {"first", "second"}) {
    clients.push_back(cluster.start({test_job("misbehaving"), "--records", "2000", "--rate", "1000",
                                     "--output", cluster.file(output), "--parallelism", "2"}));
  }
  EXPECT_TRUE(cluster.has_task_processes(4));
  for (auto& client : clients) EXPECT_EQ(client->exit_code(), 0) << client->err();
  EXPECT_EQ(sorted_output(cluster.file("first")).size(), 2000U);
  EXPECT_EQ(sorted_output(cluster.file("first")), sorted_output(cluster.file("second")));
}

TEST(TwoClients, with_one_output_do_not_mix_their_rows) {
  TestCluster cluster({.slots = 2});
  std::vector<std::unique_ptr<RunningProgram>> clients;
  for (int i = 0; i < 2; ++i) {
    clients.push_back(cluster.start({test_job("misbehaving"), "--records", "1000", "--rate", "1000",
                                     "--output", cluster.file("out"), "--parallelism", "2"}));
  }
  int finished = 0;
  for (auto& client : clients) finished += client->exit_code() == 0 ? 1 : 0;
  EXPECT_GE(finished, 1);
  EXPECT_EQ(sorted_output(cluster.file("out")).size(), 1000U);
}

}  // namespace
}  // namespace weir
