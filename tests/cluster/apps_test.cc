// The apps give the same rows on a cluster of two workers as in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/cluster.h"
#include "tests/support/expected_rows.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string data = std::string(WEIR_SOURCE_DIR) + "/apps/data/";
const std::string large_inputs = std::string(WEIR_SOURCE_DIR) + "/../shared/data/";
const std::string license = "/usr/share/common-licenses/GPL-3";

struct Way {
  std::string parallelism;
  std::string split_size;

  friend void PrintTo(const Way& way, std::ostream* out) {
    *out << "parallelism " << way.parallelism << ", splits of " << way.split_size;
  }
};

class OnTwoWorkers : public testing::TestWithParam<Way> {
 protected:
  // Its rows on the cluster, which are the same without one.
  std::vector<std::string> rows_of(const std::string& name, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--parallelism", GetParam().parallelism, "--split-size",
                                       GetParam().split_size, "--output"});
    Command command{app(name)};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.push_back(cluster_.file(name));
    const auto there = cluster_.run(command);
    EXPECT_EQ(there.exit_code, 0);
    EXPECT_THAT(lines_of(there.err),
                ElementsAre(HasSubstr("submitted as job "), StartsWith("FINISHED  ")));
    EXPECT_EQ(there.out, "");

    arguments.push_back(cluster_.file(name + "-here"));
    const auto here = run_program(app(name), arguments);
    EXPECT_EQ(here.exit_code, 0) << here.err;
    if (there.exit_code != 0 || here.exit_code != 0) return {};
    EXPECT_EQ(sorted_output(cluster_.file(name)), sorted_output(cluster_.file(name + "-here")));
    return sorted_output(cluster_.file(name));
  }

  TestCluster cluster_;
};

TEST_P(OnTwoWorkers, word_count_counts_a_real_text) {
  if (!std::filesystem::exists(license)) GTEST_SKIP() << license << " is not on this machine";
  EXPECT_EQ(rows_of("word_count", {"--input", license}), count_words_naively(read_file(license)));
  EXPECT_TRUE(cluster_.has_task_processes(0));
}

TEST_P(OnTwoWorkers, hourly_visitors_counts_a_small_log) {
  const std::string directory = data + "hourly_visitors/";
  EXPECT_EQ(rows_of("hourly_visitors",
                    {"--input", directory + "access.log", "--regions", directory + "regions.csv"}),
            expected_rows(directory + "expected.csv"));
}

TEST_P(OnTwoWorkers, hourly_visitors_counts_four_days_of_a_real_log) {
  if (!std::filesystem::exists(large_inputs + "access.log"))
    GTEST_SKIP() << "the large inputs are not on this machine: " << large_inputs;
  EXPECT_EQ(rows_of("hourly_visitors", {"--input", large_inputs + "access.log", "--regions",
                                        large_inputs + "regions.csv"}),
            expected_rows(large_inputs + "expected/hourly_visitors.csv"));
}

INSTANTIATE_TEST_SUITE_P(Apps, OnTwoWorkers,
                         testing::Values(Way{"1", "64KB"}, Way{"2", "4KB"}, Way{"3", "64KB"},
                                         Way{"4", "4KB"}, Way{"4", "64KB"}),
                         [](const auto& way) {
                           return "parallelism_" + way.param.parallelism + "_splits_" +
                                  way.param.split_size;
                         });

}  // namespace
}  // namespace weir
