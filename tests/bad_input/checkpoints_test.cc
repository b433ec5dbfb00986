// docs/BAD_INPUT.md, "Checkpoints": what is said of mistakes and of a disk that is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "tests/support/child_process.h"
#include "tests/support/cluster.h"
#include "tests/support/files.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class BadCheckpoints : public testing::Test {
 protected:
  ChildResult run(std::vector<std::string> more, const std::string& job = "join") {
    std::vector<std::string> arguments{"--job",    job,      "--records",     "2000",
                                       "--output", output(), "--parallelism", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(test_job("golden"), arguments);
  }
  void expect_refused(std::vector<std::string> more, const std::string& text, int code = 2) {
    const auto result = run(std::move(more));
    EXPECT_EQ(result.exit_code, code) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(output()));
  }
  [[nodiscard]] std::string output() const { return directory_.file("out"); }
  [[nodiscard]] std::string checkpoints() const { return directory_.file("checkpoints"); }

  const TemporaryDirectory directory_;
};

TEST_F(BadCheckpoints, an_interval_of_zero_or_less_or_too_little) {
  expect_refused({"--checkpoint-interval", "0s", "--checkpoint-dir", checkpoints()},
                 "--checkpoint-interval is '0s' but must be above 0");
  expect_refused({"--checkpoint-interval", "-5s", "--checkpoint-dir", checkpoints()},
                 "--checkpoint-interval is '-5s' but must be a duration");
  expect_refused({"--checkpoint-interval", "1ms", "--checkpoint-dir", checkpoints()},
                 "--checkpoint-interval is 1 ms: give at least 10 ms");
}

TEST_F(BadCheckpoints, an_interval_without_directory_and_a_directory_without_interval) {
  expect_refused({"--checkpoint-interval", "1s"}, "--checkpoint-interval needs --checkpoint-dir");
  expect_refused({"--checkpoint-dir", checkpoints()},
                 "--checkpoint-dir is given but --checkpoint-interval is not");
}

TEST_F(BadCheckpoints, a_directory_that_cannot_be_written_or_is_of_another_kind) {
  const std::string file = directory_.write("file", "x");
  expect_refused({"--checkpoint-interval", "1s", "--checkpoint-dir", file + "/below"},
                 "checkpoints cannot be kept in " + file + "/below", 1);
  expect_refused({"--checkpoint-interval", "1s", "--checkpoint-dir", "hdfs://host/path"},
                 "--checkpoint-dir is hdfs://host/path: only paths and file:/// are supported");
}

TEST_F(BadCheckpoints, a_directory_that_is_the_output_or_in_it) {
  for (const std::string& directory : {output(), output() + "/", output() + "/cp"}) {
    expect_refused({"--checkpoint-interval", "1s", "--checkpoint-dir", directory},
                   "is in the output of 'out'");
  }
  const auto beside =
      run({"--checkpoint-interval", "1s", "--checkpoint-dir", output() + "-checkpoints"});
  EXPECT_EQ(beside.exit_code, 0) << beside.err;
}

TEST_F(BadCheckpoints, other_options_that_cannot_be) {
  const std::vector<std::string> with{"--checkpoint-interval", "1s", "--checkpoint-dir",
                                      checkpoints()};
  const auto also = [&](std::vector<std::string> more) {
    more.insert(more.begin(), with.begin(), with.end());
    return more;
  };
  expect_refused(also({"--checkpoint-mode", "often"}), "must be exactly-once or at-least-once");
  expect_refused(also({"--retained-checkpoints", "0"}), "--retained-checkpoints is 0");
  expect_refused(also({"--max-concurrent-checkpoints", "0"}), "--max-concurrent-checkpoints is 0");
  expect_refused(also({"--restart-strategy", "always"}), "--restart-strategy is 'always'");
  expect_refused({"--restart-attempts", "3"}, "need a --restart-strategy, or checkpoints");
}

// Of a job that has failed and whose checkpoints were kept.
class BadFrom : public BadCheckpoints {
 protected:
  void SetUp() override {
    const auto failed = lanes({"--fail-at", "2500", "--rate", "3000", "--checkpoint-interval",
                               "50ms", "--checkpoint-dir", checkpoints(), "--restart-strategy",
                               "none", "--checkpoint-retention", "delete-on-cancellation"});
    ASSERT_EQ(failed.exit_code, 1);
    ASSERT_THAT(failed.err, HasSubstr("fails once, at 2500"));
    for (const auto& entry : std::filesystem::directory_iterator(checkpoints()))
      job_ = entry.path();
    for (const auto& entry : std::filesystem::directory_iterator(job_)) {
      if (std::filesystem::exists(entry.path() / "_metadata")) checkpoint_ = entry.path();
    }
    ASSERT_FALSE(checkpoint_.empty());
    before_ = content();
  }
  // As of the first time, so without failing again.
  ChildResult lanes(std::vector<std::string> more) {
    std::vector<std::string> arguments{"--job",    "lanes",  "--records", "3000",
                                       "--marker", marker(), "--output",  output()};
    if (std::ranges::find(more, "--parallelism") == more.end())
      more.insert(more.end(), {"--parallelism", "2"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(test_job("golden"), arguments);
  }
  void expect_refused(const std::string& from, const std::string& text,
                      std::vector<std::string> more = {}) {
    more.insert(more.end(), {"--from", from});
    const auto result = lanes(std::move(more));
    EXPECT_EQ(result.exit_code, 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(text));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(output()))
      EXPECT_FALSE(entry.is_regular_file()) << entry.path();
  }
  void change_manifest(std::size_t at, char to) const {
    std::fstream file(checkpoint_ / "_metadata", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(to);
  }
  [[nodiscard]] std::string marker() const { return directory_.file("marker"); }
  [[nodiscard]] std::map<std::string, std::string> content() const {
    std::map<std::string, std::string> content;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(job_)) {
      if (entry.is_regular_file()) content[entry.path().string()] = read_file(entry.path());
    }
    return content;
  }

  std::filesystem::path job_;         // the directory of its checkpoints
  std::filesystem::path checkpoint_;  // the newest
  std::map<std::string, std::string> before_;
};

TEST_F(BadFrom, is_none_if_it_is_right_in_whatever_way_it_is_written) {
  const std::vector<std::string> ways{job_.string(), checkpoint_.string() + "/",
                                      "file://" + checkpoint_.string()};
  std::uint32_t parallelism = 0;
  for (const std::string& way : ways) {
    std::filesystem::remove_all(output());
    const auto again = lanes({"--from", way, "--parallelism", std::to_string(++parallelism)});
    EXPECT_EQ(again.exit_code, 0) << again.err;
    for (const char* lane : {"/first", "/second"}) {
      const auto rows = sorted_output(output() + lane);
      ASSERT_EQ(rows.size(), 100U) << way << lane;
      for (const std::string& row : rows) EXPECT_THAT(row, testing::EndsWith(",30")) << way;
    }
    EXPECT_EQ(content(), before_) << "what a job began from is not its own to change";
  }
}

TEST_F(BadFrom, a_directory_that_is_not_there_or_has_no_checkpoint) {
  expect_refused(directory_.file("nowhere"), "there is no directory " + directory_.file("nowhere"));
  std::filesystem::create_directory(directory_.file("empty"));
  expect_refused(directory_.file("empty"),
                 directory_.file("empty") + " holds no checkpoint: give the directory of one");
  std::filesystem::remove(checkpoint_ / "_metadata");
  expect_refused(checkpoint_, checkpoint_.string() + " has no _metadata: it was never completed");
}

TEST_F(BadFrom, a_checkpoint_of_another_job) {
  const auto result = run({"--from", checkpoint_.string()}, "join");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(checkpoint_.string() + " is a checkpoint of job 'golden'"),
                    HasSubstr("'first', 'first count'"), HasSubstr("its steps are 'payments'"),
                    HasSubstr("name the steps as they were")));
}

TEST_F(BadFrom, a_checkpoint_of_a_newer_format) {
  change_manifest(8, 9);
  expect_refused(checkpoint_,
                 "_metadata is of format 9, and this version of weir reads formats up");
}

TEST_F(BadFrom, a_checkpoint_that_is_damaged) {
  change_manifest(100, static_cast<char>(read_file(checkpoint_ / "_metadata")[100] ^ 1));
  expect_refused(checkpoint_, checkpoint_.string() + "/_metadata is damaged");
}

TEST_F(BadFrom, another_maximum_parallelism) {
  expect_refused(checkpoint_, "give --max-parallelism 128", {"--max-parallelism", "64"});
}

TEST_F(BadFrom, a_file_system_of_another_kind) {
  const auto result = run({"--from", "hdfs://host/path"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--from is hdfs://host/path: only paths and file:/// are"));
}

// A file system of its own, of four pages.
class FullDisk : public BadCheckpoints {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(checkpoints());
    if (::mount("tmpfs", checkpoints().c_str(), "tmpfs", 0, "size=16k") != 0)
      GTEST_SKIP() << "only root may mount a small file system";
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) ::umount2(checkpoints().c_str(), MNT_DETACH);
  }
  ChildResult run_on_it(std::vector<std::string> more) {
    std::vector<std::string> arguments{"--job",
                                       "timers",
                                       "--records",
                                       "20000",
                                       "--rate",
                                       "20000",
                                       "--output",
                                       output(),
                                       "--parallelism",
                                       "2",
                                       "--checkpoint-interval",
                                       "100ms",
                                       "--checkpoint-dir",
                                       checkpoints() + "/cp",
                                       "--checkpoint-inline-threshold",
                                       "1B"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(test_job("golden"), arguments);
  }

 private:
  bool mounted_ = false;
};

TEST_F(FullDisk, fails_a_job_that_tolerates_no_failed_checkpoint_and_leaves_no_output) {
  const auto result = run_on_it({});  // restarts without end, if that could help
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("No space left on device"), HasSubstr(checkpoints()),
                                HasSubstr("--tolerable-checkpoint-failures")));
  EXPECT_FALSE(std::filesystem::exists(output()));
}

TEST_F(FullDisk, is_told_and_nothing_else_to_a_job_that_tolerates_it) {
  const auto result = run_on_it({"--tolerable-checkpoint-failures", "1000"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
  EXPECT_GT(sorted_output(output()).size(), 1000U);
}

// Rows of nothing but names, as of files that are too many.
class GreedyWriter final : public SinkOperator {
 public:
  explicit GreedyWriter(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr&, RowRange rows, Outputs&) override {
    return Progress{StepResult::done, rows.end};
  }
  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() override {
    return std::vector<Committable>{{Bytes(bytes_)}};
  }

 private:
  std::size_t bytes_;
};

class GreedyCommitter final : public SinkCommitter {
 public:
  [[nodiscard]] Result<void> prepare() override { return {}; }
  [[nodiscard]] Result<void> commit(const std::vector<Committable>&) override { return {}; }
  void abort() override {}
};

struct Greedy {
  std::size_t bytes_per_task;
  [[nodiscard]] std::string describe() const { return "greedy"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<GreedyWriter>(bytes_per_task);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const {
    return std::make_unique<GreedyCommitter>();
  }
};

Result<JobResult> run_greedy(std::size_t bytes_per_task, JobSettings settings = {}) {
  Job job("greedy");
  GeneratorOptions options{.count = settings.checkpoints.enabled() ? 1'000 : 10};
  if (settings.checkpoints.enabled()) options.records_per_second = 100;
  job.source("numbers", generator([](std::uint64_t i) { return i; }, options))
      .to("hoard", Greedy{bytes_per_task});
  return run(job, {.parallelism = 3, .settings = std::move(settings)});
}

constexpr std::size_t megabyte = std::size_t{1} << 20;

TEST(MoreThanAMessageHolds, to_commit_by_a_task_fails_the_job_and_names_the_sink) {
  const auto ran = run_greedy(33 * megabyte);
  ASSERT_FALSE(ran);
  const Error error = ran.error();
  EXPECT_EQ(error.code, Errc::too_large);
  EXPECT_THAT(error.message, AllOf(HasSubstr("a task of 'hoard' has 33.0 MB to commit at once"),
                                   HasSubstr("fewer and larger files")));
}

TEST(MoreThanAMessageHolds, to_commit_by_all_tasks_of_a_sink_fails_the_job_and_names_the_sink) {
  EXPECT_TRUE(run_greedy(10 * megabyte));
  const auto ran = run_greedy(25 * megabyte);
  ASSERT_FALSE(ran);
  const Error error = ran.error();
  EXPECT_EQ(error.code, Errc::too_large);
  EXPECT_THAT(error.message, HasSubstr("'hoard' has 75.0 MB to commit at once"));
}

TEST(MoreThanAMessageHolds, to_commit_at_a_checkpoint_is_no_failure_that_a_restart_mends) {
  const TemporaryDirectory directory;
  JobSettings settings;
  settings.checkpoints.interval = Duration{50};
  settings.checkpoints.directory = directory.file("checkpoints");
  settings.restarts = FixedDelayRestart{.attempts = 1'000, .delay = Duration{10}};
  const auto ran = run_greedy(25 * megabyte, settings);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Errc::too_large) << ran.error().message;
}

}  // namespace
}  // namespace weir
