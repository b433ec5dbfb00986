// Jobs with checkpoints give the result that they would have given undisturbed, whatever is killed under them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/cluster.h"
#include "tests/support/expected_rows.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Checkpoints : public testing::Test {
 protected:
  explicit Checkpoints(TestClusterOptions options = {}) : cluster_(std::move(options)) {}

  [[nodiscard]] std::string output() const { return cluster_.file("out"); }
  [[nodiscard]] std::string directory() const { return cluster_.file("checkpoints"); }

  // What the job gives when nothing disturbs it.
  std::vector<std::string> expected(const std::string& job, const std::string& records) {
    const std::string here = cluster_.file("expected-" + job);
    const auto ran = run_program(test_job("golden"), {"--job", job, "--records", records,
                                                      "--output", here, "--parallelism", "2"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return sorted_output(here);
  }
  [[nodiscard]] Command job(const std::string& name, const std::string& records,
                            std::uint64_t parallelism) const {
    return {test_job("golden"),
            "--job",
            name,
            "--records",
            records,
            "--rate",
            "3000",
            "--output",
            output(),
            "--parallelism",
            std::to_string(parallelism),
            "--checkpoint-interval",
            "100ms",
            "--checkpoint-dir",
            directory(),
            "--restart-strategy",
            "fixed-delay",
            "--restart-attempts",
            "1000",
            "--restart-delay",
            "50ms"};
  }
  // Its tasks run, but for those that have finished.
  [[nodiscard]] bool is_up(JobId job) {
    return soon([&] {
      const JobDetails details = cluster_.details(job);
      return details.status.state == JobState::running &&
             std::ranges::all_of(details.tasks, [](const TaskInfo& task) {
               return task.state == TaskState::running || task.state == TaskState::finished;
             });
    });
  }
  [[nodiscard]] bool has_completed(JobId job, std::uint64_t count) {
    return soon([&] { return cluster_.details(job).checkpoints.counts.completed >= count; });
  }
  // One of the attempt that runs: those of the one before may still be on their way out, and nobody minds their end.
  void kill_a_process(JobId job, Random& random) {
    const auto hosts = cluster_.details(job).hosts;
    ASSERT_FALSE(hosts.empty());
    const auto process = static_cast<pid_t>(hosts[random.below(hosts.size())].process);
    ASSERT_GT(process, 0);
    ::kill(process, SIGKILL);
  }
  // The job has ended well, with these rows and nothing left behind.
  void expect_rows(JobId job, const std::vector<std::string>& rows) {
    const JobOutcome outcome = cluster_.outcome(job);
    EXPECT_EQ(outcome.state, JobState::finished)
        << (outcome.error ? outcome.error->message : std::string());
    EXPECT_EQ(sorted_output(output()), rows);
    for (const auto& entry : fs::recursive_directory_iterator(output()))
      EXPECT_FALSE(entry.path().filename().string().starts_with('.')) << entry.path();
    EXPECT_TRUE(soon([&] { return files_below(directory()) == 0; }))
        << "checkpoints of a finished job stay";
    EXPECT_TRUE(cluster_.has_task_processes(0));
  }
  // The newest checkpoint's directory.
  [[nodiscard]] fs::path newest(JobId job) const {
    fs::path newest;
    std::uint64_t highest = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(directory()) / to_string(job))) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("chk-") || !fs::exists(entry.path() / "_metadata")) continue;
      const std::uint64_t id = std::stoull(name.substr(4));
      if (id > highest) {
        highest = id;
        newest = entry.path();
      }
    }
    return newest;
  }

  TestCluster cluster_;
};

class GoldenJob : public Checkpoints, public testing::WithParamInterface<std::string> {};

TEST_P(GoldenJob, gives_the_same_rows_when_its_processes_are_killed) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto rows = expected(GetParam(), "6000");
  ASSERT_GT(rows.size(), 100U);
  const JobId id = cluster_.submit(job(GetParam(), "6000", 1 + random.below(4)));
  std::uint32_t kills = 0;
  for (; kills < 3; ++kills) {
    ASSERT_TRUE(is_up(id));
    const std::uint64_t before = cluster_.details(id).checkpoints.counts.completed;
    ASSERT_TRUE(has_completed(id, before + 1 + random.below(3)));
    ASSERT_NO_FATAL_FAILURE(kill_a_process(id, random));
    ASSERT_TRUE(soon([&] { return cluster_.details(id).restores == kills + 1; }));
  }
  expect_rows(id, rows);
  EXPECT_EQ(cluster_.details(id).restores, kills);
}

INSTANTIATE_TEST_SUITE_P(EachOf, GoldenJob, testing::Values("words", "timers", "rules", "join"),
                         [](const auto& test) { return test.param; });

TEST_F(Checkpoints, twenty_kills_of_processes_and_workers_change_no_row) {
  const std::uint64_t seed = fresh_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  const auto rows = expected("timers", "30000");
  const JobId id = cluster_.submit(job("timers", "30000", 3));
  for (int kill = 0; kill < 20; ++kill) {
    ASSERT_TRUE(is_up(id)) << "before kill " << kill;
    ASSERT_TRUE(has_completed(id, cluster_.details(id).checkpoints.counts.completed + 1));
    const auto restores = cluster_.details(id).restores;
    if (kill % 4 == 3) {
      const std::size_t worker = random.below(2);
      cluster_.worker(worker).kill();
      cluster_.start_worker(worker);
      ASSERT_TRUE(cluster_.has_workers(2));
    } else {
      ASSERT_NO_FATAL_FAILURE(kill_a_process(id, random));
    }
    ASSERT_TRUE(soon([&] { return cluster_.details(id).restores > restores; }));
  }
  expect_rows(id, rows);
  EXPECT_GE(cluster_.details(id).restores, 20U);
}

TEST_F(Checkpoints, a_pipeline_that_fails_leaves_the_attempt_of_one_beside_it_alone) {
  Command command = job("lanes", "3000", 2);
  command.insert(command.end(), {"--fail-at", "2000", "--marker", cluster_.file("marker")});
  const JobId id = cluster_.submit(command);
  EXPECT_EQ(cluster_.outcome(id).state, JobState::finished);
  for (const TaskInfo& task : cluster_.details(id).tasks) {
    const bool first = task.task.vertex.value < 2;
    EXPECT_EQ(task.attempt, AttemptId{first ? 1U : 2U}) << task.task.vertex.value;
  }
  for (const char* lane : {"first", "second"}) {
    const auto rows = sorted_output(output() + "/" + lane);
    ASSERT_EQ(rows.size(), 100U) << lane;
    for (const std::string& row : rows) EXPECT_THAT(row, testing::EndsWith(",30")) << lane;
  }
}

TEST_F(Checkpoints, a_damaged_checkpoint_is_passed_over_loudly_for_the_one_before_it) {
  const auto rows = expected("join", "6000");
  Command command = job("join", "6000", 2);
  command.insert(command.end(), {"--retained-checkpoints", "3"});
  const JobId id = cluster_.submit(command);
  ASSERT_TRUE(has_completed(id, 3));
  // Frozen, so that none completes meanwhile.
  const auto processes = cluster_.task_processes();
  for (const pid_t process : processes) ::kill(process, SIGSTOP);
  std::this_thread::sleep_for(300ms);
  const fs::path manifest = newest(id) / "_metadata";
  {
    std::fstream file(manifest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(60);
    const char byte = static_cast<char>(file.get());
    file.seekp(60);
    file.put(static_cast<char>(byte ^ 1));
  }
  for (const pid_t process : processes) ::kill(process, SIGKILL);
  expect_rows(id, rows);
  const JobDetails details = cluster_.details(id);
  EXPECT_EQ(details.restores, 1U);
  const bool told = std::ranges::any_of(details.exceptions, [&](const JobException& exception) {
    return exception.error.message.find(manifest.parent_path().filename().string()) !=
               std::string::npos &&
           exception.error.message.find("is not restored from") != std::string::npos;
  });
  EXPECT_TRUE(told);
}

TEST_F(Checkpoints, a_directory_that_cannot_be_written_is_refused_with_its_name) {
  Command command = job("join", "1000", 1);
  const std::string file = cluster_.write("a-file", "x");
  std::ranges::replace(command, directory(), file + "/below");
  const auto result = cluster_.run(command);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(file));
  EXPECT_TRUE(cluster_.is_empty(output()));
}

TEST_F(Checkpoints, are_not_kept_when_a_job_is_cancelled_unless_that_is_wanted) {
  for (const bool wanted : {false, true}) {
    Command command = job("join", "100000", 2);
    std::ranges::replace(command, output(), output() + (wanted ? "2" : "1"));
    if (wanted) command.insert(command.end(), {"--checkpoint-retention", "retain-on-cancellation"});
    const JobId id = cluster_.submit(command);
    ASSERT_TRUE(has_completed(id, 2));
    cluster_.cancel(id);
    EXPECT_EQ(cluster_.outcome(id).state, JobState::canceled);
    if (wanted) {
      EXPECT_FALSE(newest(id).empty());
    } else {
      EXPECT_TRUE(soon([&] { return files_below(directory()) == 0; }));
    }
  }
}

class FrozenWithCheckpoints : public Checkpoints {
 protected:
  FrozenWithCheckpoints()
      : Checkpoints({.heartbeat_interval = "200ms", .heartbeat_timeout = "2s"}) {}
};

TEST_F(FrozenWithCheckpoints, a_worker_that_freezes_is_replaced_and_what_it_says_later_is_refused) {
  const auto rows = expected("timers", "12000");
  const JobId id = cluster_.submit(job("timers", "12000", 2));
  ASSERT_TRUE(has_completed(id, 2));
  const auto processes = cluster_.task_processes_of(0);
  cluster_.worker(0).send_signal(SIGSTOP);
  for (const pid_t process : processes) ::kill(process, SIGSTOP);
  ASSERT_TRUE(soon([&] { return cluster_.details(id).attempt.value > 1; }));
  cluster_.worker(0).send_signal(SIGCONT);
  for (const pid_t process : processes) ::kill(process, SIGCONT);
  expect_rows(id, rows);
}

}  // namespace
}  // namespace weir
