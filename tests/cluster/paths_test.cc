// Relative paths: they mean what they mean to the client, or nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/cluster.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;

// The master takes the job from a directory that is gone when the first worker comes.
class PathsOfALostDirectory : public testing::Test {
 protected:
  PathsOfALostDirectory() {
    cluster_.start_master();
    fs::create_directory(directory_);
  }

  // The job's error, if it fails.
  JobOutcome run_and_lose_directory(Command command) {
    command.emplace_back("--detached");
    const auto client = cluster_.start(command, directory_);
    EXPECT_EQ(client->exit_code(), 0) << client->err();
    fs::remove_all(directory_);
    cluster_.start_worker(0);
    const auto job = parse_job_id(client->out().substr(0, 16));
    EXPECT_TRUE(job) << client->out();
    return cluster_.outcome(*job);
  }

  TestCluster cluster_{{.workers = 1, .starts = false}};
  const std::string directory_ = cluster_.file("lost");
};

TEST_F(PathsOfALostDirectory, output_is_where_the_client_meant_it) {
  const auto outcome = run_and_lose_directory({app("word_count"), "--input",
                                               cluster_.write("words.txt", "to be or not to be"),
                                               "--output", "counts", "--parallelism", "1"});
  EXPECT_EQ(outcome.state, JobState::finished) << outcome.error->message;
  EXPECT_EQ(sorted_output(directory_ + "/counts").size(), 4U);
}

TEST_F(PathsOfALostDirectory, an_input_fails_the_job_with_node_directory_and_path) {
  const auto outcome =
      run_and_lose_directory({app("word_count"), "--input", "words.txt", "--output",
                              cluster_.file("out"), "--parallelism", "1"});
  ASSERT_EQ(outcome.state, JobState::failed);
  EXPECT_THAT(outcome.error->message,
              AllOf(HasSubstr("node w-"), HasSubstr("cannot enter '" + directory_ + "'"),
                    HasSubstr("the relative path 'words.txt' of 'lines'"),
                    HasSubstr("give an absolute path")));
}

TEST_F(PathsOfALostDirectory, which_the_client_had_lost_itself_blame_no_node) {
  cluster_.start_worker(0);
  const auto client = cluster_.start(
      {"/bin/sh", "-c", "rmdir \"$PWD\" && exec \"$@\"", "sh", app("word_count"), "--input",
       "words.txt", "--output", cluster_.file("out"), "--parallelism", "1"},
      directory_);
  EXPECT_EQ(client->exit_code(), 1);
  EXPECT_THAT(client->err(), AllOf(HasSubstr("submitted from had been removed: the relative path "
                                             "'words.txt' of 'lines' needs it"),
                                   testing::Not(HasSubstr("''"))));
}

TEST_F(PathsOfALostDirectory, an_output_of_the_programs_own_option_fails_the_job) {
  const auto outcome = run_and_lose_directory(
      {test_job("misbehaving"), "--output", "results", "--parallelism", "1"});
  ASSERT_EQ(outcome.state, JobState::failed);
  EXPECT_THAT(outcome.error->message, HasSubstr("the relative path 'results' of 'out'"));
}

TEST(PathsOfANode, may_be_relative) {
  TestCluster cluster({.workers = 1, .starts = false});
  cluster.start_master();
  const RunningProgram worker({std::string(WEIR_BINARY_DIR) + "/tools/node", "--role", "worker",
                               "--join", cluster.address(), "--slots", "1", "--data-dir", "here"},
                              cluster.file("worker"), cluster.file(""));
  const auto client = cluster.run({test_job("misbehaving"), "--output", cluster.file("out"),
                                   "--parallelism", "1", "--records", "10"});
  EXPECT_EQ(client.exit_code, 0) << client.err;
  EXPECT_TRUE(fs::exists(cluster.file("here/worker/blobs")));
}

}  // namespace
}  // namespace weir
