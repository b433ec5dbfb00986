// Every app gives the rows of its expected file, however it is run.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/expected_rows.h"
#include "tests/support/files.h"

namespace weir {
namespace {

const std::string apps = std::string(WEIR_BINARY_DIR) + "/apps/";
const std::string data = std::string(WEIR_SOURCE_DIR) + "/apps/data/";
const std::string large_inputs = std::string(WEIR_SOURCE_DIR) + "/../shared/data/";

// How an app is run: all ways must give the same rows.
struct Way {
  std::string parallelism;
  bool chaining;
  std::string split_size;

  friend void PrintTo(const Way& way, std::ostream* out) {
    *out << "parallelism " << way.parallelism << (way.chaining ? ", chained" : ", unchained")
         << ", splits of " << way.split_size;
  }
};

std::vector<std::string> run_app(const std::string& app, std::vector<std::string> arguments,
                                 const Way& way) {
  const TemporaryDirectory directory;
  arguments.insert(arguments.end(), {"--output", directory.file("out"), "--parallelism",
                                     way.parallelism, "--split-size", way.split_size});
  if (!way.chaining) arguments.emplace_back("--no-chaining");
  const auto result = run_program(apps + app, arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "");
  return result.exit_code == 0 ? sorted_output(directory.file("out")) : std::vector<std::string>{};
}

class EveryWay : public testing::TestWithParam<Way> {};

TEST_P(EveryWay, word_count_counts_a_poem) {
  EXPECT_EQ(run_app("word_count", {"--input", data + "word_count/poem.txt"}, GetParam()),
            expected_rows(data + "word_count/expected.csv"));
}

TEST_P(EveryWay, word_count_counts_a_real_text) {
  const std::string text = std::string(WEIR_SOURCE_DIR) + "/LICENSE";
  EXPECT_EQ(run_app("word_count", {"--input", text}, GetParam()),
            count_words_naively(read_file(text)));
}

TEST_P(EveryWay, hourly_visitors_counts_a_small_log) {
  EXPECT_EQ(run_app("hourly_visitors",
                    {"--input", data + "hourly_visitors/access.log", "--regions",
                     data + "hourly_visitors/regions.csv"},
                    GetParam()),
            expected_rows(data + "hourly_visitors/expected.csv"));
}

TEST_P(EveryWay, hourly_visitors_counts_four_days_of_a_real_log) {
  if (!std::filesystem::exists(large_inputs + "access.log")) {
    GTEST_SKIP() << "the large inputs are not on this machine: " << large_inputs;
  }
  Way way = GetParam();
  if (way.split_size == "64") way.split_size = "64KB";
  EXPECT_EQ(
      run_app("hourly_visitors",
              {"--input", large_inputs + "access.log", "--regions", large_inputs + "regions.csv"},
              way),
      expected_rows(large_inputs + "expected/hourly_visitors.csv"));
}

TEST_P(EveryWay, login_alerts_finds_guessed_passwords) {
  EXPECT_EQ(run_app("login_alerts", {"--input", data + "login_alerts/ssh.log"}, GetParam()),
            expected_rows(data + "login_alerts/expected.csv"));
}

TEST_P(EveryWay, enrich_gives_hits_the_region_of_their_time) {
  EXPECT_EQ(run_app("enrich",
                    {"--input", data + "enrich/access.log", "--rules", data + "enrich/rules.csv"},
                    GetParam()),
            expected_rows(data + "enrich/expected.csv"));
}

TEST_P(EveryWay, sessions_finds_the_visits_of_each_address) {
  EXPECT_EQ(run_app("sessions", {"--input", data + "sessions/access.log"}, GetParam()),
            expected_rows(data + "sessions/expected.csv"));
}

TEST_P(EveryWay, top_pages_ranks_the_paths_of_each_hour) {
  EXPECT_EQ(run_app("top_pages", {"--input", data + "top_pages/access.log"}, GetParam()),
            expected_rows(data + "top_pages/expected.csv"));
}

INSTANTIATE_TEST_SUITE_P(Apps, EveryWay,
                         testing::Values(Way{"1", true, "64MB"}, Way{"1", false, "4KB"},
                                         Way{"2", true, "64"}, Way{"3", false, "1KB"},
                                         Way{"4", true, "4KB"}, Way{"4", false, "4KB"},
                                         Way{"8", true, "64KB"}),
                         [](const auto& way) {
                           return "parallelism_" + way.param.parallelism +
                                  (way.param.chaining ? "" : "_unchained") + "_splits_" +
                                  way.param.split_size;
                         });

}  // namespace
}  // namespace weir
