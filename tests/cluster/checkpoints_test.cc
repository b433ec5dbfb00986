// Jobs with checkpoints give the result that they would have given undisturbed, whatever is killed under them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/jobs/jobs_of_time.h"
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

  static std::string program_of(const std::string& job) {
    const bool is_of_time = std::ranges::find(jobs_of_time, job) != jobs_of_time.end();
    return test_job(is_of_time ? "golden_time" : "golden");
  }
  // What the job gives when nothing disturbs it.
  std::vector<std::string> expected(const std::string& job, const std::string& records) {
    const std::string here = cluster_.file("expected-" + job);
    const auto ran = run_program(program_of(job), {"--job", job, "--records", records, "--output",
                                                   here, "--parallelism", "2"});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return sorted_output(here);
  }
  [[nodiscard]] Command job(const std::string& name, const std::string& records,
                            std::uint64_t parallelism) const {
    return {program_of(name),
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
    EXPECT_EQ(hidden_files(), 0U);
    EXPECT_TRUE(soon([&] { return files_below(directory()) == 0; }))
        << "checkpoints of a finished job stay";
    EXPECT_TRUE(cluster_.has_task_processes(0));
  }
  [[nodiscard]] std::size_t hidden_files() const {
    std::size_t hidden = 0;
    for (const auto& entry : fs::recursive_directory_iterator(output()))
      hidden += entry.path().filename().string().starts_with('.') ? 1U : 0U;
    return hidden;
  }
  // What has completed by now is committed without them.
  [[nodiscard]] std::vector<pid_t> freeze_processes() const {
    std::vector<pid_t> processes = cluster_.task_processes();
    for (const pid_t process : processes) freeze(process);
    std::this_thread::sleep_for(300ms);
    return processes;
  }
  // Its processes stand still in the midst of writing. Just behind a checkpoint nothing may be written yet: then they
  // go on, and the answer is no.
  [[nodiscard]] bool is_frozen_with_hidden_files() {
    const auto processes = freeze_processes();
    if (hidden_files() > 0) return true;
    for (const pid_t process : processes) ::kill(process, SIGCONT);
    return false;
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
  // The job's processes are frozen first, so that no checkpoint completes meanwhile, and killed then. Returns its directory.
  template <class Damage>
  fs::path damage_the_newest(JobId job, Damage damage) {
    const auto processes = freeze_processes();
    const fs::path damaged = newest(job);
    damage(damaged);
    for (const pid_t process : processes) ::kill(process, SIGKILL);
    return damaged;
  }
  [[nodiscard]] bool is_told_to_be_passed_over(JobId job, const fs::path& checkpoint) {
    const JobDetails details = cluster_.details(job);
    return std::ranges::any_of(details.exceptions, [&](const JobException& exception) {
      return exception.error.message.find(checkpoint.filename().string() +
                                          " is not restored from") != std::string::npos;
    });
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

INSTANTIATE_TEST_SUITE_P(EachOf, GoldenJob,
                         testing::Values("words", "timers", "rules", "join", "sessions", "sliding",
                                         "windows", "intervals", "temporal", "async", "loop"),
                         [](const auto& test) { return test.param; });

// The apps read files in many small splits: readers ask for one all the time, also while barriers are under way.
class GoldenApp : public Checkpoints {
 protected:
  static constexpr std::size_t input_bytes = std::size_t{32} << 20;

  // Rows but for headers, of which each part file has one.
  [[nodiscard]] static std::vector<std::string> rows_in(const std::string& directory) {
    auto rows = sorted_output(directory);
    std::erase_if(rows, [](const std::string& row) { return row.starts_with("window_start,"); });
    return rows;
  }
  // In one process, undisturbed.
  std::vector<std::string> rows_of(Command command) {
    const std::string here = cluster_.file("here");
    command.insert(command.end(), {"--parallelism", "2", "--output", here});
    const auto ran = run_program(command.front(), {command.begin() + 1, command.end()});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return rows_in(here);
  }
  // Up to three kills, each behind a checkpoint; a fast machine may be done before the third.
  void expect_rows_whatever_is_killed(Command command, const std::vector<std::string>& rows) {
    const std::uint64_t seed = fresh_seed();
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::string parallelism = std::to_string(1 + random.below(4));
    command.insert(command.end(), {"--split-size", "4KB", "--output", output(), "--parallelism",
                                   parallelism, "--checkpoint-interval", "50ms", "--checkpoint-dir",
                                   directory(), "--restart-strategy", "fixed-delay",
                                   "--restart-attempts", "1000", "--restart-delay", "50ms"});
    const JobId id = cluster_.submit(command);
    std::uint64_t completed = 0;
    for (std::uint32_t kills = 0; kills < 3; ++kills) {
      JobDetails details;
      ASSERT_TRUE(soon([&] {
        details = cluster_.details(id);
        const bool goes_on = details.restores == kills &&
                             details.checkpoints.counts.completed > completed &&
                             details.status.state == JobState::running;
        return goes_on || is_terminal(details.status.state);
      }));
      if (is_terminal(details.status.state)) break;
      completed = details.checkpoints.counts.completed;
      const auto processes = cluster_.task_processes();
      if (!processes.empty()) ::kill(processes[random.below(processes.size())], SIGKILL);
      ASSERT_TRUE(soon([&] {
        details = cluster_.details(id);
        return details.restores > kills || is_terminal(details.status.state);
      }));
    }
    const JobOutcome outcome = cluster_.outcome(id);
    EXPECT_EQ(outcome.state, JobState::finished)
        << (outcome.error ? outcome.error->message : std::string());
    EXPECT_GE(cluster_.details(id).restores, 1U) << "the job was over before it was disturbed";
    EXPECT_EQ(outcome.progress.late_records_dropped, 0U);
    EXPECT_EQ(rows_in(output()), rows);
    EXPECT_EQ(hidden_files(), 0U);
  }
};

TEST_F(GoldenApp, word_count_gives_the_same_rows_when_its_processes_are_killed) {
  const std::string data = std::string(WEIR_SOURCE_DIR) + "/apps/data/word_count/";
  const std::string poem = read_file(data + "poem.txt") + "\n";
  const std::size_t times = input_bytes / poem.size();
  {
    std::ofstream text(cluster_.file("text.txt"));
    for (std::size_t i = 0; i < times; ++i) text << poem;
  }
  const Command command{app("word_count"), "--input", cluster_.file("text.txt")};
  std::vector<std::string> counted;
  for (const std::string& row : expected_rows(data + "expected.csv")) {
    const std::size_t comma = row.find(',');
    const std::uint64_t in_poem = std::stoull(row.substr(comma + 1));
    counted.push_back(row.substr(0, comma + 1) + std::to_string(in_poem * times));
  }
  ASSERT_EQ(rows_of(command), counted);
  expect_rows_whatever_is_killed(command, counted);
}

TEST_F(GoldenApp, hourly_visitors_gives_the_same_rows_when_its_processes_are_killed) {
  const std::string data = std::string(WEIR_SOURCE_DIR) + "/apps/data/hourly_visitors/";
  {
    std::ofstream log(cluster_.file("access.log"));
    constexpr int lines = input_bytes / 75;
    for (int i = 0; i < lines; ++i) {
      const int second = static_cast<int>(std::int64_t{i} * 86'400 / lines);  // of a day
      std::array<char, 100> line{};
      std::snprintf(
          line.data(), line.size(),
          "10.%d.%d.%d - - [17/May/2015:%02d:%02d:%02d +0000] \"GET / HTTP/1.1\" 200 512\n", i % 3,
          i / 3 % 4, i % 251, second / 3600, second / 60 % 60, second % 60);
      log << line.data();
    }
  }
  const Command command{app("hourly_visitors"), "--input", cluster_.file("access.log"), "--regions",
                        data + "regions.csv"};
  const auto rows = rows_of(command);
  ASSERT_EQ(rows.size(), 24U * 3U) << "plain, hills and summit, each hour";
  expect_rows_whatever_is_killed(command, rows);
}

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

void flip_a_bit(const fs::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const char byte = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 1));
}

TEST_F(Checkpoints, a_damaged_checkpoint_is_passed_over_loudly_for_the_one_before_it) {
  const auto rows = expected("join", "6000");
  Command command = job("join", "6000", 2);
  command.insert(command.end(), {"--retained-checkpoints", "3"});
  const JobId id = cluster_.submit(command);
  ASSERT_TRUE(has_completed(id, 3));
  const fs::path damaged =
      damage_the_newest(id, [](const fs::path& newest) { flip_a_bit(newest / "_metadata", 60); });
  expect_rows(id, rows);
  EXPECT_EQ(cluster_.details(id).restores, 1U);
  EXPECT_TRUE(is_told_to_be_passed_over(id, damaged));
}

TEST_F(Checkpoints, that_have_vanished_are_missed_loudly) {
  const auto rows = expected("join", "6000");
  const JobId id = cluster_.submit(job("join", "6000", 2));
  ASSERT_TRUE(has_completed(id, 3));
  (void)damage_the_newest(id, [](const fs::path& newest) {
    for (const auto& entry : fs::directory_iterator(newest.parent_path())) {
      if (entry.path().filename().string().starts_with("chk-")) fs::remove_all(entry.path());
    }
  });
  expect_rows(id, rows);
  const JobDetails details = cluster_.details(id);
  EXPECT_TRUE(std::ranges::any_of(details.exceptions, [](const JobException& exception) {
    return exception.error.message.find("which was complete, is no longer in") != std::string::npos;
  }));
  EXPECT_THAT(details.status.progress.last_restart, HasSubstr("begins again from nothing"));
}

// Who begins from it finds that out, and begins again.
TEST_F(Checkpoints, state_that_only_its_checksum_shows_to_be_damaged_is_passed_over_too) {
  const auto rows = expected("join", "6000");
  Command command = job("join", "6000", 2);
  command.insert(command.end(),
                 {"--retained-checkpoints", "3", "--checkpoint-inline-threshold", "1B"});
  const JobId id = cluster_.submit(command);
  ASSERT_TRUE(has_completed(id, 3));
  const fs::path damaged = damage_the_newest(id, [](const fs::path& newest) {
    for (const auto& entry : fs::directory_iterator(newest)) {
      if (entry.path().filename() != "_metadata") flip_a_bit(entry.path(), 0);
    }
  });
  expect_rows(id, rows);
  EXPECT_EQ(cluster_.details(id).restores, 2U);
  EXPECT_TRUE(is_told_to_be_passed_over(id, damaged));
}

// What no restart can mend ends the job, although it may restart as often as it likes.
class CheckpointsOfADoomedJob : public Checkpoints {
 protected:
  [[nodiscard]] Command doomed() const {
    Command command = job("timers", "300000", 2);
    std::ranges::replace(command, std::string("3000"), std::string("6000"));
    return command;
  }
  // Waits until some of its output is visible: a file that a checkpoint has the beginning of is ended by a restart from
  // that, and shown at the next one.
  [[nodiscard]] bool shows_rows() {
    const auto listed = [&] { return cluster_.connect()->jobs()->running; };
    if (!soon([&] { return listed().size() == 1; })) return false;
    id_ = listed().front().job;
    if (!has_completed(id_, 10)) return false;
    ::kill(cluster_.task_processes().at(0), SIGKILL);
    return soon([&] { return cluster_.details(id_).restores == 1; }) && is_up(id_) &&
           soon([&] { return !cluster_.is_empty(output()); }) &&
           has_completed(id_, cluster_.details(id_).checkpoints.counts.completed + 2);
  }
  void expect_end(RunningProgram& client, const std::string& why) {
    EXPECT_EQ(client.exit_code(), 1);
    EXPECT_THAT(client.err(), HasSubstr(why));
    EXPECT_TRUE(cluster_.has_task_processes(0));
  }

  JobId id_{};
};

TEST_F(CheckpointsOfADoomedJob, a_removed_output_directory_ends_it_with_the_reason) {
  const auto client = cluster_.start(doomed());
  ASSERT_TRUE(shows_rows());
  damage_the_newest(id_, [&](const fs::path&) { fs::remove_all(output()); });
  expect_end(*client, "output '" + output() + "/");
  EXPECT_THAT(client->err(),
              AllOf(HasSubstr("No such file or directory"), HasSubstr("; start the job anew")));
}

TEST_F(CheckpointsOfADoomedJob, damage_to_the_last_behind_visible_output_ends_it_naming_both) {
  const auto client = cluster_.start(doomed());
  ASSERT_TRUE(shows_rows());
  fs::path last;
  damage_the_newest(id_, [&](const fs::path& newest) {
    last = newest;
    fs::resize_file(last / "_metadata", 40);
  });
  expect_end(*client, last.filename().string() + " is not restored from");
  EXPECT_THAT(client->err(), AllOf(HasSubstr("the job cannot begin again from nothing"),
                                   HasSubstr("'out'"), HasSubstr("--overwrite")));
}

TEST_F(CheckpointsOfADoomedJob, damage_to_state_that_only_its_checksum_shows_ends_it) {
  Command command = doomed();
  command.insert(command.end(), {"--checkpoint-inline-threshold", "1B"});
  const auto client = cluster_.start(command);
  ASSERT_TRUE(shows_rows());
  damage_the_newest(id_, [&](const fs::path& newest) {
    for (const auto& entry : fs::directory_iterator(newest)) {
      if (entry.path().filename() == "_metadata") continue;
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      const std::string other(fs::file_size(entry.path()), '\x5a');
      file.write(other.data(), static_cast<std::streamsize>(other.size()));
    }
  });
  expect_end(*client, "is damaged: the checksum");
}

TEST_F(Checkpoints, each_restart_is_told_to_those_who_watch_the_job) {
  Command command = job("lanes", "3000", 1);
  command.insert(command.end(), {"--fail-at", "2000", "--marker", cluster_.file("marker")});
  const auto client = cluster_.run(command);
  EXPECT_EQ(client.exit_code, 0);
  EXPECT_THAT(client.err, HasSubstr("golden: restarts in 50 ms, attempt 2: user function of "
                                    "'second' threw an exception: fails once, at 2000"));
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

class KeptCheckpoint : public Checkpoints {
 protected:
  // A job that is cancelled once it has checkpoints, and the directory of these.
  std::string cancelled_job(const std::string& name, const std::string& records,
                            std::uint64_t parallelism) {
    Command command = job(name, records, parallelism);
    command.insert(command.end(), {"--checkpoint-retention", "retain-on-cancellation"});
    const JobId id = cluster_.submit(command);
    EXPECT_TRUE(has_completed(id, 3));
    cluster_.cancel(id);
    EXPECT_EQ(cluster_.outcome(id).state, JobState::canceled);
    return directory() + "/" + to_string(id);
  }
  // Its checkpoints go elsewhere, so that what becomes of those it began from can be seen.
  [[nodiscard]] Command job_from(const std::string& kept, const std::string& name,
                                 const std::string& records, std::uint64_t parallelism) const {
    Command command = job(name, records, parallelism);
    std::ranges::replace(command, directory(), directory() + "-of-second");
    command.insert(command.end(), {"--from", kept});
    return command;
  }
  void expect_rows_and_kept(JobId id, const std::vector<std::string>& rows, const std::string& kept,
                            std::size_t files) {
    const JobOutcome outcome = cluster_.outcome(id);
    EXPECT_EQ(outcome.state, JobState::finished)
        << (outcome.error ? outcome.error->message : std::string());
    EXPECT_EQ(sorted_output(output()), rows);
    EXPECT_EQ(hidden_files(), 0U);
    EXPECT_EQ(files_below(kept), files);
  }
};

class KeptCheckpointOf : public KeptCheckpoint, public testing::WithParamInterface<std::string> {};

TEST_P(KeptCheckpointOf, is_where_another_job_goes_on_at_another_parallelism) {
  const auto rows = expected(GetParam(), "6000");
  const std::string kept = cancelled_job(GetParam(), "6000", 2);
  const std::size_t files = files_below(kept);
  ASSERT_GT(files, 0U);
  for (const auto& row : sorted_output(output()))
    EXPECT_TRUE(std::ranges::binary_search(rows, row)) << row;
  const JobId id = cluster_.submit(job_from(kept, GetParam(), "6000", 3));
  ASSERT_TRUE(is_up(id));
  EXPECT_GE(cluster_.details(id).restores, 1U);
  expect_rows_and_kept(id, rows, kept, files);
}

// One reader has several shares of the source then, which cover the same times.
TEST_P(KeptCheckpointOf, is_where_a_job_with_fewer_tasks_goes_on) {
  const auto rows = expected(GetParam(), "6000");
  const std::string kept = cancelled_job(GetParam(), "6000", 3);
  const std::size_t files = files_below(kept);
  expect_rows_and_kept(cluster_.submit(job_from(kept, GetParam(), "6000", 1)), rows, kept, files);
}

INSTANTIATE_TEST_SUITE_P(EachJob, KeptCheckpointOf,
                         testing::Values("words", "timers", "rules", "join", "windows"),
                         [](const auto& test) { return test.param; });

// A first checkpoint of its own never comes: what it began from is all that there is.
TEST_F(KeptCheckpoint, is_gone_back_to_as_long_as_the_second_job_has_none_of_its_own) {
  const auto rows = expected("join", "6000");
  const std::string kept = cancelled_job("join", "6000", 2);
  const std::size_t files = files_below(kept);
  Command command = job_from(kept, "join", "6000", 1);
  std::ranges::replace(command, std::string("100ms"), std::string("1h"));
  const JobId id = cluster_.submit(command);
  for (std::uint32_t kills = 0; kills < 2; ++kills) {
    ASSERT_TRUE(is_up(id));
    for (const pid_t process : cluster_.task_processes()) ::kill(process, SIGKILL);
    ASSERT_TRUE(soon([&] { return cluster_.details(id).restores == kills + 2; }));
  }
  expect_rows_and_kept(id, rows, kept, files);
}

TEST_F(KeptCheckpoint, is_one_that_a_cancelled_second_job_leaves_as_it_was) {
  const auto rows = expected("join", "6000");
  const std::string kept = cancelled_job("join", "6000", 2);
  const std::size_t files = files_below(kept);
  Command command = job_from(kept, "join", "6000", 2);
  std::ranges::replace(command, std::string("100ms"), std::string("1h"));
  const JobId second = cluster_.submit(command);
  ASSERT_TRUE(is_up(second));
  cluster_.cancel(second);
  EXPECT_EQ(cluster_.outcome(second).state, JobState::canceled);
  expect_rows_and_kept(cluster_.submit(job_from(kept, "join", "6000", 2)), rows, kept, files);
}

TEST_F(KeptCheckpoint, needs_the_output_of_the_job_that_took_it) {
  const std::string kept = cancelled_job("join", "6000", 2);
  Command command = job_from(kept, "join", "6000", 2);
  std::ranges::replace(command, output(), cluster_.file("other"));
  const JobOutcome outcome = cluster_.outcome(cluster_.submit(command));
  EXPECT_EQ(outcome.state, JobState::failed);
  ASSERT_TRUE(outcome.error);
  EXPECT_THAT(outcome.error->message,
              AllOf(HasSubstr(cluster_.file("other") + "/"), HasSubstr("No such file")));
}

TEST_F(KeptCheckpoint, may_lack_the_state_of_a_step_and_the_step) {
  const auto rows = expected("join", "6000");
  const std::string kept = cancelled_job("join", "6000", 2);
  const std::size_t files = files_below(kept);
  Command command = job_from(kept, "join", "6000", 1);
  command.insert(command.end(), {"--more-steps", "true"});
  expect_rows_and_kept(cluster_.submit(command), rows, kept, files);
}

TEST_F(Checkpoints, leave_no_hidden_files_when_a_job_is_cancelled_while_it_waits_for_its_restart) {
  Command command = job("join", "100000", 2);
  std::ranges::replace(command, std::string("50ms"), std::string("1h"));
  const JobId id = cluster_.submit(command);
  ASSERT_TRUE(has_completed(id, 2));
  ASSERT_TRUE(soon([&] { return is_frozen_with_hidden_files(); }));
  for (const pid_t process : cluster_.task_processes()) ::kill(process, SIGKILL);
  ASSERT_TRUE(soon([&] { return cluster_.details(id).status.state == JobState::restarting; }));
  ASSERT_TRUE(cluster_.has_task_processes(0));
  ASSERT_GT(hidden_files(), 0U) << "the test would show nothing";
  cluster_.cancel(id);
  EXPECT_EQ(cluster_.outcome(id).state, JobState::canceled);
  EXPECT_EQ(hidden_files(), 0U);
  EXPECT_TRUE(soon([&] { return files_below(directory()) == 0; }));
  EXPECT_TRUE(cluster_.has_task_processes(0));
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
  cluster_.worker(0).freeze();
  for (const pid_t process : processes) freeze(process);
  ASSERT_TRUE(soon([&] { return cluster_.details(id).attempt.value > 1; }));
  cluster_.worker(0).send_signal(SIGCONT);
  for (const pid_t process : processes) ::kill(process, SIGCONT);
  expect_rows(id, rows);
}

// All take each other for lost when it wakes up, and none of them is.
TEST_F(FrozenWithCheckpoints, a_machine_that_sleeps_for_a_while_goes_on_from_the_last_checkpoint) {
  const auto rows = expected("timers", "12000");
  const JobId id = cluster_.submit(job("timers", "12000", 2));
  ASSERT_TRUE(has_completed(id, 2));
  std::vector<pid_t> all = cluster_.task_processes();
  all.insert(all.end(), {cluster_.worker(0).process(), cluster_.worker(1).process(),
                         cluster_.master().process()});
  for (const pid_t process : all) freeze(process);
  std::this_thread::sleep_for(6s);
  for (const pid_t process : all) ::kill(process, SIGCONT);
  expect_rows(id, rows);
}

}  // namespace
}  // namespace weir
