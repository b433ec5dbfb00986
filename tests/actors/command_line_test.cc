#include "actors/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/files.h"

namespace weir {
namespace {

Result<CommandLine> read(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "/somewhere/my_job");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data(), 3);
}

TEST(CommandLine, has_defaults) {
  const auto line = read({});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->program, "my_job");
  EXPECT_EQ(line->job_name, "my_job");
  EXPECT_EQ(line->parallelism, 3U);
  EXPECT_TRUE(line->chaining);
  EXPECT_FALSE(line->settings.strict);
  EXPECT_TRUE(line->job_options.empty());
}

TEST(CommandLine, reads_both_ways_of_writing_options) {
  const auto line = read({"--parallelism=7", "--name", "n", "--no-chaining", "--strict", "--input",
                          "a.txt", "--limit=5", "--fast"});
  ASSERT_TRUE(line.has_value()) << line.error().message;
  EXPECT_EQ(line->parallelism, 7U);
  EXPECT_EQ(line->job_name, "n");
  EXPECT_FALSE(line->chaining);
  EXPECT_TRUE(line->settings.strict);
  EXPECT_EQ(line->job_options.at("input").text, "a.txt");
  EXPECT_EQ(line->job_options.at("limit").text, "5");
  EXPECT_EQ(line->job_options.at("fast").text, "");
}

TEST(CommandLine, refuses_an_option_given_twice) {
  const auto line = read({"--input", "a", "--input", "b"});
  ASSERT_FALSE(line.has_value());
  EXPECT_THAT(line.error().message, testing::HasSubstr("--input is given more than once"));
}

TEST(CommandLine, reads_how_long_to_wait_for_slots) {
  EXPECT_EQ(read({})->settings.slot_timeout, JobSettings{}.slot_timeout);
  EXPECT_EQ(read({"--slot-timeout", "90s"})->settings.slot_timeout, Duration{90'000});
  const auto line = read({"--slot-timeout", "soon"});
  ASSERT_FALSE(line.has_value());
  EXPECT_THAT(line.error().message, testing::HasSubstr("--slot-timeout is 'soon'"));
}

TEST(CommandLine, refuses_what_is_no_option) {
  const auto line = read({"input.txt"});
  ASSERT_FALSE(line.has_value());
  EXPECT_THAT(line.error().message, testing::HasSubstr("'input.txt' is unexpected"));
}

TEST(CommandLine, wins_over_the_configuration_file) {
  const TemporaryDirectory directory;
  const std::string config = directory.write(
      "job.toml",
      "input = \"from file\"\nparallelism = 5\nratio = 0.5\nstrict = true\nfast = false\n");
  const auto line = read({"--config", config.c_str(), "--parallelism", "2"});
  ASSERT_TRUE(line.has_value()) << line.error().message;
  EXPECT_EQ(line->parallelism, 2U);
  EXPECT_EQ(line->job_options.at("input").text, "from file");
  EXPECT_EQ(line->job_options.at("input").file, config);
  EXPECT_EQ(line->job_options.at("ratio").text, "0.5");
  EXPECT_TRUE(line->settings.strict);
  EXPECT_EQ(line->job_options.at("fast").text, "false");
}

TEST(CommandLine, help_lists_the_options_of_engine_and_job) {
  const auto line = read({});
  const std::string help = help_text(
      *line, {{.name = "input", .help = "files to read", .type = "text", .required = true}});
  for (const char* part : {"--parallelism", "--explain", "--input", "files to read", "required"}) {
    EXPECT_THAT(help, testing::HasSubstr(part));
  }
}

}  // namespace
}  // namespace weir
