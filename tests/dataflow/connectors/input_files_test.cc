#include "dataflow/connectors/input_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/dataflow/connectors/temp_dir.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class InputFiles : public testing::Test {
 protected:
  // Names of the files within the directory that patterns within it mean.
  std::vector<std::string> listed(const std::vector<std::string>& patterns) const {
    std::vector<std::string> paths;
    for (const auto& pattern : patterns) paths.push_back(dir_.path(pattern));
    const auto files = list_input_files(paths);
    EXPECT_TRUE(files) << files.error().message;
    std::vector<std::string> names;
    for (const auto& file : *files) names.push_back(file.path.substr(dir_.path().size() + 1));
    return names;
  }
  Error error_of(const std::string& pattern) const {
    return list_input_files({dir_.path(pattern)}).error();
  }

  TempDir dir_;
};

TEST_F(InputFiles, of_a_directory_are_its_regular_files_without_hidden_ones) {
  for (const auto* name : {"in/b", "in/a", "in/.hidden", "in/sub/c"}) dir_.write(name, "x");
  ASSERT_EQ(::mkfifo(dir_.path("in/pipe").c_str(), 0600), 0);
  EXPECT_THAT(listed({"in"}), ElementsAre("in/a", "in/b"));
}

TEST_F(InputFiles, of_a_glob_are_sorted) {
  for (const auto* name : {"log.2", "log.1", "other"}) dir_.write(name, "x");
  EXPECT_THAT(listed({"log.*"}), ElementsAre("log.1", "log.2"));
  EXPECT_THAT(listed({"log.?", "o*"}), ElementsAre("log.1", "log.2", "other"));
}

TEST_F(InputFiles, come_in_the_order_of_the_patterns_each_once) {
  for (const auto* name : {"a", "b", "c"}) dir_.write(name, "x");
  EXPECT_THAT(listed({"c", "*"}), ElementsAre("c", "a", "b"));
}

TEST_F(InputFiles, may_have_the_characters_of_globs_in_their_names) {
  dir_.write("what?[1]*", "x");
  EXPECT_THAT(listed({"what?[1]*"}), ElementsAre("what?[1]*"));
}

TEST_F(InputFiles, tell_their_size_and_whether_they_are_gzip) {
  const std::string magic = "\x1f\x8b";
  dir_.write("a.gz", magic + "...");
  dir_.write("b.gz", "plain");
  dir_.write("c", magic);
  EXPECT_THAT(*list_input_files({dir_.path()}), ElementsAre(InputFile{dir_.path("a.gz"), 5, true},
                                                            InputFile{dir_.path("b.gz"), 5, false},
                                                            InputFile{dir_.path("c"), 2, false}));
}

TEST_F(InputFiles, that_are_missing_are_named) {
  EXPECT_EQ(error_of("nothing*"),
            (Error{Errc::input_missing,
                   "input '" + dir_.path("nothing*") + "' matches no file; check the path"}));
  EXPECT_EQ(error_of("nothing"),
            (Error{Errc::input_missing,
                   "input '" + dir_.path("nothing") + "' matches no file; check the path"}));
  EXPECT_EQ(list_input_files({}).error(),
            (Error{Errc::input_missing, "no input was given; name files to read"}));
}

TEST_F(InputFiles, of_an_empty_directory_are_missing) {
  dir_.write("in/.hidden", "x");
  EXPECT_EQ(error_of("in"),
            (Error{Errc::input_missing, "input directory '" + dir_.path("in") +
                                            "' has no files; put some in or pass another"}));
}

TEST_F(InputFiles, that_cannot_be_opened_are_named_with_the_reason) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  dir_.write("secret", "x");
  ::chmod(dir_.path("secret").c_str(), 0);
  EXPECT_EQ(error_of("secret"),
            (Error{Errc::input_unreadable,
                   "input '" + dir_.path("secret") + "' cannot be read: Permission denied"}));
}

TEST_F(InputFiles, that_are_no_files_are_named) {
  ASSERT_EQ(::mkfifo(dir_.path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(
      error_of("pipe"),
      (Error{Errc::input_unreadable,
             "input '" + dir_.path("pipe") +
                 "' cannot be read: it is a device, pipe or socket; pass a file or directory"}));
}

TEST(SplitAtCommas, drops_empty_parts) {
  EXPECT_THAT(split_at_commas("a,b*,/c d"), ElementsAre("a", "b*", "/c d"));
  EXPECT_THAT(split_at_commas(",a,,"), ElementsAre("a"));
  EXPECT_THAT(split_at_commas(""), IsEmpty());
}

}  // namespace
}  // namespace weir
