#include "dataflow/connectors/file_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/connectors/descriptions.h"
#include "tests/dataflow/connectors/temp_dir.h"
#include "tests/dataflow/connectors/writer_harness.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

struct Visit {
  std::string page;
  std::int64_t count = 0;
};

static_assert(SinkDescription<FileSink<CsvFormat>, Visit>);
static_assert(SinkDescription<FileSink<JsonFormat>, Visit>);
static_assert(SinkDescription<FileSink<LineFormat>, std::string>);
static_assert(!SinkDescription<FileSink<LineFormat>, int*>);

// Writes files into the directory `out`, which need not exist.
class FileSinkTest : public testing::Test {
 protected:
  [[nodiscard]] std::string out() const { return dir_.path("out"); }

  // What a job that succeeds leaves, as one writer.
  template <class Sink, class T>
  void run(const Sink& sink, std::vector<T> rows) {
    const auto committer = sink.make_committer();
    ASSERT_TRUE(committer->prepare());
    WriterHarness<T> writer(sink);
    ASSERT_TRUE(writer.write(std::move(rows)));
    ASSERT_TRUE(committer->commit(*writer.finish()));
    ASSERT_TRUE(committer->finish());
  }
  void leave_old_output() {
    dir_.write("out/part-0-0", "old 0\n");
    dir_.write("out/part-1-0", "old 1\n");
  }
  [[nodiscard]] Error prepare_error(FileSinkOptions options = {}) const {
    const auto sink = line_files(out(), options);
    const Error error = sink.make_committer()->prepare().error();
    EXPECT_EQ(sink.check().error(), error);
    return error;
  }

  TempDir dir_;
};

TEST_F(FileSinkTest, writes_csv_with_a_header_on_request) {
  run(csv_files(out()), std::vector<Visit>{{"a,b", 1}, {"c", 2}});
  EXPECT_EQ(dir_.read("out/part-0-0"), "\"a,b\",1\nc,2\n");
  run(csv_files(out(), {.overwrite = true, .header = true}), std::vector<Visit>{{"c", 2}});
  EXPECT_EQ(dir_.read("out/part-0-0"), "page,count\nc,2\n");
}

TEST_F(FileSinkTest, writes_json_a_value_a_line) {
  run(json_files(out()), std::vector<Visit>{{"a", 1}, {"b", 2}});
  EXPECT_EQ(dir_.read("out/part-0-0"),
            "{\"page\":\"a\",\"count\":1}\n{\"page\":\"b\",\"count\":2}\n");
}

TEST_F(FileSinkTest, writes_strings_as_lines) {
  run(line_files(out()), std::vector<std::string>{"a b", "", "c"});
  EXPECT_EQ(dir_.read("out/part-0-0"), "a b\n\nc\n");
}

TEST_F(FileSinkTest, shows_nothing_before_the_commit_and_nothing_hidden_after) {
  const auto sink = line_files(out());
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> first(sink, {.subtask = 0, .parallelism = 2}),
      second(sink, {.subtask = 1, .parallelism = 2});
  ASSERT_TRUE(first.write({"a"}));
  ASSERT_TRUE(second.write({"b"}));
  auto committables = *first.finish();
  const auto more = *second.finish();
  committables.insert(committables.end(), more.begin(), more.end());
  const auto names = dir_.names("out");
  EXPECT_THAT(names, SizeIs(2));
  for (const auto& name : names) EXPECT_TRUE(is_hidden_name(name)) << name;
  ASSERT_TRUE(committer->commit(committables));
  ASSERT_TRUE(committer->finish());
  EXPECT_THAT(dir_.names("out"), ElementsAre("part-0-0", "part-1-0"));
}

TEST_F(FileSinkTest, makes_no_file_for_a_writer_without_rows) {
  run(csv_files(out(), {.header = true}), std::vector<Visit>{});
  EXPECT_THAT(dir_.names("out"), IsEmpty());
}

TEST_F(FileSinkTest, begins_another_file_once_one_is_larger_than_allowed) {
  run(line_files(out(), {.rolling = {.part_bytes_max = 6}}),
      std::vector<std::string>{"ab", "cd", "ef", "gh"});
  EXPECT_EQ(dir_.read("out/part-0-0"), "ab\ncd\nef\n");  // at 6 bytes it was not yet
  EXPECT_EQ(dir_.read("out/part-0-1"), "gh\n");
}

TEST_F(FileSinkTest, splits_large_output_between_rows_and_loses_none) {
  std::vector<std::string> rows;
  std::string expected;
  for (int i = 0; i < 200'000; ++i) {
    rows.push_back("row " + std::to_string(i));
    expected += rows.back() + '\n';
  }
  run(line_files(out(), {.rolling = {.part_bytes_max = 1'000'000}}), rows);
  std::string read;
  const std::size_t files = dir_.names("out").size();
  for (std::size_t i = 0; i < files; ++i) {
    const std::string part = dir_.read("out/part-0-" + std::to_string(i));
    EXPECT_LE(part.size(), 1'000'000U + rows.back().size() + 1);
    EXPECT_EQ(part.back(), '\n');
    read += part;
  }
  EXPECT_EQ(files, 3U);
  EXPECT_EQ(read, expected);
}

TEST_F(FileSinkTest, commits_again_without_effect) {
  const auto sink = line_files(out());
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> writer(sink);
  ASSERT_TRUE(writer.write({"a"}));
  const auto committables = *writer.finish();
  ASSERT_TRUE(committer->commit(committables));
  ASSERT_TRUE(committer->commit(committables));
  ASSERT_TRUE(sink.make_committer()->commit(committables));
  EXPECT_EQ(dir_.read("out/part-0-0"), "a\n");
}

TEST_F(FileSinkTest, refuses_to_commit_what_is_not_there_as_it_was_written) {
  const auto sink = line_files(out());
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> writer(sink);
  ASSERT_TRUE(writer.write({"a"}));
  const auto committables = *writer.finish();
  const fs::path hidden = fs::directory_iterator(out())->path();
  fs::resize_file(hidden, 1);
  EXPECT_EQ(committer->commit(committables).error(),
            (Error{Errc::output_lost,
                   "cannot commit output '" + hidden.string() +
                       "': it has 1 bytes instead of the 2 written; something changed it"}));
  fs::remove(hidden);
  EXPECT_EQ(committer->commit(committables).error(),
            (Error{Errc::output_lost,
                   "cannot commit output '" + out() + "/part-0-0': No such file or directory"}));
}

TEST_F(FileSinkTest, refuses_committables_that_are_none) {
  ASSERT_TRUE(fs::create_directory(out()));
  const auto committer = line_files(out()).make_committer();
  EXPECT_EQ(committer->commit({Committable{}}).error().code, Errc::corrupt_data);
  const PartFile elsewhere{.hidden_name = "../passwd", .final_name = "part-0-0", .bytes = 0};
  EXPECT_EQ(committer->commit({{to_bytes(elsewhere)}}).error().code, Errc::corrupt_data);
}

TEST_F(FileSinkTest, abort_leaves_nothing) {
  const auto sink = line_files(out());
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> finished(sink), unfinished(sink, {.subtask = 1});
  ASSERT_TRUE(finished.write({"a"}));
  ASSERT_TRUE(finished.finish());
  ASSERT_TRUE(unfinished.write({std::string(1'000'000, 'b')}));
  committer->abort();
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(FileSinkTest, abort_leaves_a_directory_that_was_there) {
  ASSERT_TRUE(fs::create_directory(out()));
  const auto committer = line_files(out()).make_committer();
  ASSERT_TRUE(committer->prepare());
  committer->abort();
  EXPECT_THAT(dir_.names("out"), IsEmpty());
}

TEST_F(FileSinkTest, writer_that_closes_early_removes_its_files) {
  ASSERT_TRUE(fs::create_directory(out()));
  WriterHarness<std::string> writer(line_files(out(), {.rolling = {.part_bytes_max = 1'000}}));
  ASSERT_TRUE(writer.write({3, std::string(800'000, 'a')}));
  EXPECT_THAT(dir_.names("out"), SizeIs(3));
  writer.close();
  EXPECT_THAT(dir_.names("out"), IsEmpty());
}

TEST_F(FileSinkTest, refuses_output_that_exists) {
  leave_old_output();
  EXPECT_EQ(prepare_error(),
            (Error{Errc::output_exists,
                   "output '" + out() + "' exists; pass --overwrite or choose another directory"}));
}

TEST_F(FileSinkTest, takes_a_directory_that_is_empty_or_has_files_of_a_job_that_died) {
  ASSERT_TRUE(fs::create_directory(out()));
  dir_.write("out/" + part_file({.subtask = SubtaskIndex{3}, .attempt = 42}, 7).hidden_name,
             "unfinished\n");
  EXPECT_TRUE(line_files(out()).check());
  run(line_files(out()), std::vector<std::string>{"a"});
  EXPECT_THAT(dir_.names("out"), ElementsAre("part-0-0"));
}

TEST_F(FileSinkTest, refuses_a_file_in_place_of_the_directory) {
  dir_.write("out", "precious\n");
  for (const bool overwrite : {false, true}) {
    EXPECT_EQ(prepare_error({.overwrite = overwrite}),
              (Error{Errc::output_exists,
                     "output '" + out() + "' is a file; name a directory for the part files"}));
  }
  EXPECT_EQ(dir_.read("out"), "precious\n");
}

TEST_F(FileSinkTest, reports_a_directory_that_cannot_be_made) {
  dir_.write("file", "x");
  const Error error = line_files(dir_.path("file/out")).make_committer()->prepare().error();
  EXPECT_EQ(error.code, Errc::output_failed);
  EXPECT_THAT(error.message, AllOf(HasSubstr("output '" + dir_.path("file/out") + "'"),
                                   HasSubstr("Not a directory")));
}

TEST_F(FileSinkTest, keeps_old_output_until_the_commit_replaces_it) {
  leave_old_output();
  const auto sink = line_files(out(), {.overwrite = true});
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> writer(sink);
  ASSERT_TRUE(writer.write({"new"}));
  const auto committables = *writer.finish();
  EXPECT_EQ(dir_.read("out/part-0-0"), "old 0\n");
  EXPECT_EQ(dir_.read("out/part-1-0"), "old 1\n");
  ASSERT_TRUE(committer->commit(committables));
  EXPECT_THAT(dir_.names("out"), ElementsAre("part-0-0"));
  EXPECT_EQ(dir_.read("out/part-0-0"), "new\n");
}

TEST_F(FileSinkTest, keeps_old_output_if_the_job_fails) {
  leave_old_output();
  const auto sink = line_files(out(), {.overwrite = true});
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> writer(sink);
  ASSERT_TRUE(writer.write({"new"}));
  committer->abort();
  EXPECT_THAT(dir_.names("out"), ElementsAre("part-0-0", "part-1-0"));
  EXPECT_EQ(dir_.read("out/part-0-0"), "old 0\n");
}

TEST_F(FileSinkTest, does_not_take_old_output_for_a_file_committed_before) {
  leave_old_output();
  const auto sink = line_files(out(), {.overwrite = true});
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> writer(sink);
  ASSERT_TRUE(writer.write({"new 0"}));
  const auto committables = *writer.finish();
  for (const auto& name : dir_.names("out")) {
    if (is_hidden_name(name)) fs::remove(dir_.path("out/" + name));
  }
  EXPECT_EQ(committer->commit(committables).error().code, Errc::output_lost);
}

TEST_F(FileSinkTest, does_not_overwrite_what_is_not_its_own) {
  leave_old_output();
  dir_.write("out/thesis.tex", "years of work\n");
  EXPECT_EQ(prepare_error({.overwrite = true}),
            (Error{Errc::output_exists,
                   "output '" + out() +
                       "' holds 'thesis.tex', which is no part file, and is not overwritten; "
                       "remove it or choose another directory"}));
}

TEST_F(FileSinkTest, refuses_a_directory_that_another_job_is_writing) {
  const auto sink = line_files(out());
  const auto committer = sink.make_committer();
  ASSERT_TRUE(committer->prepare());
  WriterHarness<std::string> writer(sink);
  ASSERT_TRUE(writer.write({std::string(1'000'000, 'a')}));
  const auto intruder = sink.make_committer();
  EXPECT_EQ(
      intruder->prepare().error(),
      (Error{Errc::output_exists,
             "output '" + out() + "' is being written by another job; choose another directory"}));
  intruder->abort();
  EXPECT_TRUE(committer->commit(*writer.finish()));
}

TEST_F(FileSinkTest, reports_a_write_that_the_system_refuses) {
  ASSERT_TRUE(fs::create_directory(out()));
  WriterHarness<std::string> writer(line_files(out()));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{.rlim_cur = 300'000, .rlim_max = before.rlim_max};  // stands for a full disk
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto result = writer.write({2, std::string(400'000, 'x')});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(result.error().code, Errc::output_failed);
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("cannot write output '" + out() + "/.part-0-0.inprogress."),
                    HasSubstr("': File too large")));
}

TEST_F(FileSinkTest, reports_a_directory_that_vanished) {
  WriterHarness<std::string> writer(line_files(out()));
  ASSERT_TRUE(writer.write({"a"}));
  const auto committables = writer.finish();
  EXPECT_EQ(committables.error().code, Errc::output_lost);
  EXPECT_THAT(committables.error().message, HasSubstr("No such file or directory"));
}

TEST_F(FileSinkTest, refuses_a_header_where_the_format_has_none) {
  EXPECT_EQ(json_files(out(), {.header = true}).check().error(),
            (Error{Errc::invalid_plan,
                   "JSON files in " + out() + ": only CSV files have a header; leave it out"}));
}

TEST(PartFileNames, tell_ours_from_others) {
  const PartFile file = part_file({.subtask = SubtaskIndex{12}, .attempt = 0xabc}, 3);
  EXPECT_EQ(file.final_name, "part-12-3");
  EXPECT_EQ(file.hidden_name, ".part-12-3.inprogress.0000000000000abc");
  EXPECT_TRUE(is_final_name(file.final_name));
  EXPECT_TRUE(is_hidden_name(file.hidden_name));
  for (const auto* other :
       {"part-", "part-1", "part-1-", "part-1-x", "part-00000-uuid", "xpart-1-1", "part-1-2.csv",
        ".part-1-1", ".part-1-1.inprogress.", ".part-1-1.inprogress.xyz", ""}) {
    EXPECT_FALSE(is_final_name(other)) << other;
    EXPECT_FALSE(is_hidden_name(other)) << other;
  }
}

}  // namespace
}  // namespace weir
