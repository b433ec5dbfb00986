// Jobs and nodes at the edge of what they may be: no records, huge ones, many tasks, places that cannot be used.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "actors/run.h"
#include "dataflow/api/weir.h"
#include "dataflow/plan/job_graph.h"
#include "tests/support/cluster.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

class Extremes : public testing::Test {
 protected:
  explicit Extremes(TestClusterOptions options = {.slots = 1}) : cluster_(std::move(options)) {}

  ChildResult run(std::vector<std::string> arguments, const std::string& parallelism = "2") {
    Command command{test_job("misbehaving"), "--output", cluster_.file("out"), "--parallelism",
                    parallelism};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return cluster_.run(command);
  }
  [[nodiscard]] std::vector<std::string> rows() const {
    return sorted_output(cluster_.file("out"));
  }

  TestCluster cluster_;
};

TEST_F(Extremes, a_job_whose_records_are_all_filtered_away_finishes) {
  const auto result = cluster_.run({app("word_count"), "--input", cluster_.write("empty.txt", ""),
                                    "--output", cluster_.file("out"), "--parallelism", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(rows().empty());
}

TEST_F(Extremes, a_single_record_finds_its_way) {
  EXPECT_EQ(run({"--records", "1"}).exit_code, 0);
  EXPECT_EQ(rows(), std::vector<std::string>{"0,\"\""});
}

TEST_F(Extremes, records_of_5_MB_cross_processes) {
  const auto result = run({"--records", "20", "--record-bytes", "5MB"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  ASSERT_EQ(rows().size(), 20U);
  for (const std::string& row : rows()) EXPECT_GT(row.size(), 5U << 20U);
}

TEST_F(Extremes, a_record_of_200_MB_that_has_to_cross_processes_is_refused_with_its_size) {
  // Of four at least one has to, whoever reads them.
  const auto result = run({"--records", "4", "--record-bytes", "200MB"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("a batch of 2097152"), HasSubstr("make its records smaller")));
  EXPECT_TRUE(cluster_.is_empty(cluster_.file("out")));
  EXPECT_TRUE(cluster_.has_task_processes(0));
}

TEST_F(Extremes, names_and_options_that_no_message_should_carry_are_refused_by_the_client) {
  const auto named = run({"--name", std::string(300, 'n')});
  EXPECT_EQ(named.exit_code, 2);
  EXPECT_THAT(named.err, HasSubstr("the name of the job has 300 bytes: at most 200 are possible"));
  const std::string config =
      cluster_.write("large.toml", "misbehave = \"" + std::string(2 << 20, 'x') + "\"\n");
  const auto large = run({"--config", config});
  EXPECT_EQ(large.exit_code, 2);
  EXPECT_THAT(large.err, HasSubstr("the longest of them --misbehave: at most 1.0 MB are possible"));
  EXPECT_TRUE(cluster_.connect()->jobs()->ended.empty());
}

TEST_F(Extremes, a_submission_of_any_size_ends_neither_client_nor_master) {
  Job job("any");
  job.source("numbers", from_sequence(1, 10)).to("out", discard());
  const auto graph = make_job_graph(**make_plan(job, {.parallelism = 1}));
  const auto client = cluster_.connect();
  for (const std::size_t megabytes : {20U, 70U}) {
    JobProgram program;
    program.options["huge"].text = std::string(megabytes << 20, 'x');
    const auto submitted = client->submit({1}, graph, {}, program);
    ASSERT_FALSE(submitted);
    EXPECT_EQ(submitted.error().code, Errc::too_large);
    EXPECT_THAT(submitted.error().message, HasSubstr("at most 16.0 MB are possible"));
  }
  EXPECT_EQ(run({"--records", "1"}).exit_code, 0);
}

TEST_F(Extremes, a_shipped_file_is_read_from_its_copy_on_the_worker) {
  const std::string path = cluster_.write("shipped.txt", "greetings");
  const JobId job =
      cluster_.submit({test_job("misbehaving"), "--output", cluster_.file("out"), "--parallelism",
                       "2", "--ship", path, "--records", "1500", "--rate", "1000"});
  std::filesystem::remove(path);
  EXPECT_EQ(cluster_.outcome(job).state, JobState::finished);
  ASSERT_EQ(rows().size(), 1500U);
  EXPECT_EQ(rows().front(), "0,greetings");
}

TEST_F(Extremes, a_missing_shipped_file_is_told_before_anything_runs) {
  const auto result = run({"--ship", cluster_.file("nowhere.txt")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("cannot ship"), HasSubstr("nowhere.txt")));
  EXPECT_TRUE(cluster_.connect()->jobs()->ended.empty());
}

TEST_F(Extremes, relative_paths_mean_what_they_mean_to_the_client) {
  const auto client =
      cluster_.start({test_job("misbehaving"), "--output", "results/here", "--parallelism", "2"},
                     cluster_.file(""));
  EXPECT_EQ(client->exit_code(), 0) << client->err();
  EXPECT_EQ(sorted_output(cluster_.file("results/here")).size(), 1000U);
}

TEST_F(Extremes, an_output_that_exists_is_refused_and_kept) {
  EXPECT_EQ(run({"--records", "10"}).exit_code, 0);
  const auto again = run({"--records", "20"});
  EXPECT_NE(again.exit_code, 0);
  EXPECT_THAT(again.err, HasSubstr(cluster_.file("out")));
  EXPECT_EQ(rows().size(), 10U);
}

TEST_F(Extremes, a_worker_whose_directory_cannot_be_made_says_so_and_ends) {
  const std::string in_the_way = cluster_.write("file", "");
  const auto node = run_program(
      std::string(WEIR_BINARY_DIR) + "/tools/node",
      {"--role", "worker", "--join", cluster_.address(), "--data-dir", in_the_way + "/below"});
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_THAT(node.err, HasSubstr(in_the_way + "/below"));
}

TEST_F(Extremes, a_worker_with_the_directory_of_another_says_so_and_ends) {
  const auto node = run_program(
      std::string(WEIR_BINARY_DIR) + "/tools/node",
      {"--role", "worker", "--join", cluster_.address(), "--data-dir", cluster_.file("worker-0")},
      {.timeout = std::chrono::seconds(10)});
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_THAT(node.err, AllOf(HasSubstr(cluster_.file("worker-0")), HasSubstr("another process")));
}

TEST_F(Extremes, a_master_whose_port_is_taken_says_so_and_ends) {
  const auto node = run_program(
      std::string(WEIR_BINARY_DIR) + "/tools/node",
      {"--role", "master", "--listen", cluster_.address(), "--data-dir", cluster_.file("second")});
  EXPECT_EQ(node.exit_code, 1);
  EXPECT_THAT(node.err, AllOf(HasSubstr(cluster_.address()), HasSubstr("in use")));
}

// A port of this machine that is taken for as long as this lives.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(socket_, 1), 0);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    text = std::to_string(ntohs(address.sin_port));
  }
  ~TakenPort() { ::close(socket_); }
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  std::string text;

 private:
  int socket_;
};

TEST(DataPorts, that_are_all_taken_fail_the_job_and_are_named) {
  const TakenPort port;
  TestCluster cluster({.slots = 1, .worker_arguments = {"--data-ports", port.text}});
  const auto result =
      cluster.run({test_job("misbehaving"), "--output", cluster.file("out"), "--parallelism", "2"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr(port.text));
  EXPECT_TRUE(cluster.has_task_processes(0));
}

TEST(WidePlans, sixty_four_subtasks_run_on_sixty_four_slots) {
  TestCluster cluster({.workers = 4, .slots = 16});
  const auto result = cluster.run({test_job("misbehaving"), "--output", cluster.file("out"),
                                   "--parallelism", "64", "--records", "100000"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted_output(cluster.file("out")).size(), 100'000U);
  EXPECT_TRUE(cluster.has_task_processes(0));
}

TEST(OneNode, that_is_both_master_and_worker_runs_jobs) {
  TestCluster cluster({.workers = 0, .starts = false});
  RunningProgram node({std::string(WEIR_BINARY_DIR) + "/tools/node", "--role", "both", "--listen",
                       "127.0.0.1:0", "--data-dir", cluster.file("node"), "--slots", "2"},
                      cluster.file("node-log"));
  ASSERT_TRUE(soon([&] { return node.out().ends_with('\n'); })) << node.err();
  const std::string address = lines_of(node.out()).front().substr(18);
  const auto result =
      run_program(test_job("misbehaving"),
                  {"--cluster", address, "--output", cluster.file("out"), "--parallelism", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(sorted_output(cluster.file("out")).size(), 1000U);
  node.send_signal(SIGTERM);
  EXPECT_EQ(node.exit_code(), 0);
  EXPECT_TRUE(cluster.strays().empty());
}

}  // namespace
}  // namespace weir
