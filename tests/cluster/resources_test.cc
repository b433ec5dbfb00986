// What nodes offer and keep: memory, secrets, programs of jobs, and what dead processes have left there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "actors/task_process.h"
#include "net/blob_store.h"
#include "tests/support/cluster.h"
#include "tests/support/sanitizers.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ChildResult run_node(const std::vector<std::string>& arguments) {
  return run_program(std::string(WEIR_BINARY_DIR) + "/tools/node", arguments,
                     {.timeout = std::chrono::seconds(20)});
}

TEST(MemoryOfASlot, that_no_task_process_can_live_in_is_refused_at_the_start) {
  const TemporaryDirectory directory;
  for (const std::vector<std::string>& too_little :
       {std::vector<std::string>{"--slots", "1000", "--memory", "2GB"},
        std::vector<std::string>{"--slots", "1", "--memory", "20MB"}}) {
    std::vector<std::string> arguments{"--role",      "worker",     "--join",
                                       "127.0.0.1:1", "--data-dir", directory.file("worker")};
    arguments.insert(arguments.end(), too_little.begin(), too_little.end());
    const ChildResult node = run_node(arguments);
    EXPECT_EQ(node.exit_code, 2);
    EXPECT_THAT(node.err, AllOf(HasSubstr("--memory"), HasSubstr("--slots " + too_little[1]),
                                HasSubstr("a task process needs at least")));
    EXPECT_FALSE(fs::exists(directory.file("worker")));
  }
}

TEST(MemoryOfASlot, that_is_just_enough_runs_a_job) {
  if (has_sanitizer) GTEST_SKIP() << needs_memory;
  const std::string memory = std::to_string(task_process_bytes_min());
  TestCluster cluster({.workers = 1, .slots = 1, .worker_arguments = {"--memory", memory}});
  const auto client =
      cluster.run({app("word_count"), "--input", cluster.write("words.txt", "to be or not to be"),
                   "--output", cluster.file("out"), "--parallelism", "1", "--no-chaining"});
  EXPECT_EQ(client.exit_code, 0) << client.err;
  EXPECT_EQ(sorted_output(cluster.file("out")).size(), 4U);
  EXPECT_THAT(cluster.worker(0).err(), HasSubstr("offers 1 slot and "));
}

class SecretOfANode : public testing::Test {
 protected:
  const TemporaryDirectory directory_;
  const std::string node_directory_ = directory_.file("node");
};

TEST_F(SecretOfANode, that_cannot_be_read_ends_it_before_it_has_made_anything) {
  const std::vector<std::vector<std::string>> roles{
      {"--role", "worker", "--join", "127.0.0.1:1"}, {"--role", "master"}, {"--role", "both"}};
  for (std::vector<std::string> arguments : roles) {
    arguments.insert(arguments.end(),
                     {"--data-dir", node_directory_, "--secret-file", directory_.file("nowhere")});
    const ChildResult node = run_node(arguments);
    EXPECT_EQ(node.exit_code, 2);
    EXPECT_THAT(node.err, AllOf(HasSubstr(directory_.file("nowhere")),
                                HasSubstr("No such file or directory"), Not(HasSubstr("Success"))));
    EXPECT_FALSE(fs::exists(node_directory_));
  }
}

TEST(SecretOfAClient, that_others_can_read_is_warned_of) {
  TestCluster cluster({.workers = 0, .secret = "what all nodes of this cluster know"});
  fs::permissions(cluster.file("secret"), fs::perms(0644));
  const auto list = run_program(
      std::string(WEIR_BINARY_DIR) + "/tools/job",
      {"--cluster", cluster.address(), "--secret-file", cluster.file("secret"), "list"});
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.err, HasSubstr("chmod 600 " + cluster.file("secret")));
  const auto without = run_program(std::string(WEIR_BINARY_DIR) + "/tools/job",
                                   {"--cluster", cluster.address(), "list"});
  EXPECT_EQ(without.exit_code, 1);
  EXPECT_THAT(without.err, HasSubstr("the cluster may have a secret: give --secret-file"));
}

class StoredPrograms : public testing::Test {
 protected:
  [[nodiscard]] std::vector<fs::path> blobs_of(const std::string& node) const {
    std::vector<fs::path> blobs;
    for (const auto& entry : fs::directory_iterator(cluster_.file(node + "/blobs"))) {
      if (parse_blob_id(entry.path().filename().string())) blobs.push_back(entry.path());
    }
    return blobs;
  }
  ChildResult run() {
    fs::remove_all(cluster_.file("out"));
    return cluster_.run({test_job("misbehaving"), "--output", cluster_.file("out"), "--records",
                         "10", "--parallelism", "1"});
  }

  TestCluster cluster_{{.workers = 1, .slots = 1}};
};

TEST_F(StoredPrograms, that_were_damaged_are_brought_again) {
  for (const std::string node : {"worker-0/worker", "master/master"}) {
    ASSERT_EQ(run().exit_code, 0);
    ASSERT_TRUE(cluster_.has_task_processes(0));  // a program that runs cannot be damaged
    const auto blobs = blobs_of(node);
    ASSERT_EQ(blobs.size(), 1U);
    fs::permissions(blobs[0], fs::perms(0755));
    fs::resize_file(blobs[0], fs::file_size(blobs[0]) / 2);
    if (node.starts_with("master")) fs::remove(blobs_of("worker-0/worker").at(0));
    const auto client = run();
    EXPECT_EQ(client.exit_code, 0) << client.err;
  }
}

TEST_F(StoredPrograms, leave_nothing_behind_when_a_worker_is_killed) {
  const JobId job = cluster_.submit(
      {test_job("misbehaving"), "--records", "0", "--rate", "10", "--parallelism", "1"});
  ASSERT_TRUE(cluster_.runs(job));
  cluster_.worker(0).kill();
  const std::string jobs = cluster_.file("worker-0/worker/jobs");
  ASSERT_TRUE(fs::exists(jobs + "/" + to_string(job)));
  ASSERT_TRUE(cluster_.has_workers(0));
  cluster_.start_worker(0);
  ASSERT_TRUE(cluster_.has_workers(1));
  EXPECT_FALSE(fs::exists(jobs + "/" + to_string(job)));
}

TEST(Uploads, of_clients_that_were_killed_are_removed) {
  TestCluster cluster({.workers = 0, .heartbeat_interval = "200ms", .heartbeat_timeout = "2s"});
  // Large enough that it is on its way for a while.
  const std::string large = cluster.write("large", "x");
  fs::resize_file(large, std::uintmax_t{1} << 30);
  const auto client = cluster.start({test_job("misbehaving"), "--ship", large});
  const std::string incoming = cluster.file("master/master/blobs/incoming");
  ASSERT_TRUE(soon([&] { return files_below(incoming) == 1; }, std::chrono::seconds(60)));
  client->kill();
  EXPECT_TRUE(soon([&] { return files_below(incoming) == 0; }));
}

}  // namespace
}  // namespace weir
