// docs/BAD_INPUT.md, "Checkpoints": what is said of mistakes and of a disk that is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace weir
