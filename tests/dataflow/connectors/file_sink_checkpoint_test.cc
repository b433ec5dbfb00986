// What file sinks do at checkpoints, and after crashes at any point between.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/connectors/file_sink.h"
#include "tests/dataflow/connectors/temp_dir.h"
#include "tests/dataflow/connectors/writer_harness.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Lines = FileSink<LineFormat>;

// What a checkpoint holds of a sink with one writer or several.
struct Checkpoint {
  std::vector<RestoredState> states;
  std::vector<Committable> committables;
};

// Writers and committer of one attempt.
class Attempt {
 public:
  Attempt(const Lines& sink, std::uint32_t parallelism, const Clock& clock)
      : sink_(sink), parallelism_(parallelism), clock_(&clock), committer_(sink.make_committer()) {
    EXPECT_TRUE(open_writers(std::vector<RestoredState>(parallelism)));
  }

  [[nodiscard]] SinkCommitter& committer() { return *committer_; }
  [[nodiscard]] WriterHarness<std::string>& writer(std::size_t i = 0) { return *writers_[i]; }
  void write(std::string row, std::size_t i = 0) { ASSERT_TRUE(writer(i).write({std::move(row)})); }
  [[nodiscard]] Checkpoint checkpoint() {
    Checkpoint checkpoint;
    for (const auto& writer : writers_) {
      auto state = writer->snapshot();
      auto committables = writer->prepare_commit();
      EXPECT_TRUE(state && committables);
      checkpoint.states.push_back(*state);
      append(checkpoint.committables, *committables);
    }
    return checkpoint;
  }
  [[nodiscard]] std::vector<Committable> finish() {
    std::vector<Committable> committables;
    for (const auto& writer : writers_) append(committables, *writer->finish());
    return committables;
  }
  // Begins again, from a checkpoint.
  [[nodiscard]] Result<void> restore(const Checkpoint& checkpoint) {
    writers_.clear();
    WEIR_TRY(committer_->restore(checkpoint.committables));
    return open_writers(redistribute(checkpoint.states, parallelism_, 128));
  }

 private:
  [[nodiscard]] Result<void> open_writers(std::vector<RestoredState> states) {
    for (std::uint32_t i = 0; i < parallelism_; ++i) {
      const WriterPlace place{.subtask = i, .parallelism = parallelism_, .clock = clock_};
      writers_.push_back(
          std::make_unique<WriterHarness<std::string>>(sink_, place, std::move(states[i])));
      WEIR_TRY(writers_.back()->opened());
    }
    return {};
  }
  static void append(std::vector<Committable>& to, const std::vector<Committable>& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  Lines sink_;
  std::uint32_t parallelism_;
  const Clock* clock_;
  std::unique_ptr<SinkCommitter> committer_;
  std::vector<std::unique_ptr<WriterHarness<std::string>>> writers_;
};

class FileSinkCheckpointTest : public testing::Test {
 protected:
  [[nodiscard]] std::string out() const { return dir_.path("out"); }
  [[nodiscard]] Lines sink(FileSinkOptions options = {}) const {
    return line_files(out(), std::move(options));
  }
  [[nodiscard]] Lines checkpoint_files() const {
    return sink({.rolling = roll_at_every_checkpoint()});
  }

  Attempt& start(const Lines& sink, std::uint32_t parallelism = 1) {
    attempt_.emplace(sink, parallelism, clock_);
    EXPECT_TRUE(attempt_->committer().prepare());
    return *attempt_;
  }
  // As when the process is killed: what is on the disk stays as it is.
  void crash() {
    const fs::path disk = out() + ".disk";
    fs::copy(out(), disk, fs::copy_options::recursive);
    attempt_.reset();
    fs::remove_all(out());
    fs::rename(disk, out());
  }
  Attempt& start_from(const Lines& sink, const Checkpoint& checkpoint,
                      std::uint32_t parallelism = 1) {
    attempt_.emplace(sink, parallelism, clock_);
    const auto restored = attempt_->restore(checkpoint);
    EXPECT_TRUE(restored) << restored.error().message;
    return *attempt_;
  }
  void finish() {
    ASSERT_TRUE(attempt_->committer().commit(attempt_->finish()));
    ASSERT_TRUE(attempt_->committer().finish());
    attempt_.reset();
  }

  [[nodiscard]] std::set<std::string> names(bool hidden) const {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(out())) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && name.starts_with('.') == hidden) {
        names.insert(entry.path().lexically_relative(out()).string());
      }
    }
    return names;
  }
  [[nodiscard]] std::set<std::string> visible_names() const { return names(false); }
  [[nodiscard]] std::set<std::string> hidden_names() const { return names(true); }
  // All that is visible, file after file in the order of their names.
  [[nodiscard]] std::string visible() const {
    std::string content;
    for (const auto& name : visible_names()) content += dir_.read("out/" + name);
    return content;
  }
  [[nodiscard]] std::string hidden() const {
    std::string content;
    for (const auto& name : hidden_names()) content += dir_.read("out/" + name);
    return content;
  }

  TempDir dir_;
  ManualClock clock_;
  std::optional<Attempt> attempt_;
};

TEST_F(FileSinkCheckpointTest, shows_what_was_written_before_the_checkpoints_that_are_complete) {
  Attempt& job = start(checkpoint_files());
  job.write("42");
  const auto first = job.checkpoint();
  job.write("43");
  const auto second = job.checkpoint();
  job.write("44");
  const auto third = job.checkpoint();
  EXPECT_THAT(visible_names(), IsEmpty());
  auto first_two = first.committables;  // nobody has said that the first is complete
  first_two.insert(first_two.end(), second.committables.begin(), second.committables.end());
  ASSERT_TRUE(job.committer().commit(first_two));
  EXPECT_EQ(visible(), "42\n43\n");
  EXPECT_EQ(hidden(), "44\n");  // what comes next has no file before it has a row
  ASSERT_TRUE(job.committer().commit(third.committables));
  EXPECT_EQ(visible(), "42\n43\n44\n");
}

TEST_F(FileSinkCheckpointTest, shows_after_a_crash_what_the_checkpoint_holds_and_drops_the_rest) {
  Attempt& job = start(checkpoint_files());
  job.write("42");
  const auto first = job.checkpoint();
  job.write("43");
  auto second = job.checkpoint();
  second.committables.insert(second.committables.begin(), first.committables.begin(),
                             first.committables.end());
  job.write("44");
  crash();
  start_from(checkpoint_files(), second);
  EXPECT_EQ(visible(), "42\n43\n");
  finish();
  EXPECT_EQ(visible(), "42\n43\n");
  EXPECT_THAT(hidden_names(), IsEmpty());
}

TEST_F(FileSinkCheckpointTest,
       shows_rows_once_a_checkpoint_is_complete_for_which_their_file_was_rolled) {
  Attempt& job = start(sink());
  for (const auto* row : {"a", "b", "c"}) job.write(row);
  const auto first = job.checkpoint();
  ASSERT_TRUE(job.committer().commit(first.committables));
  EXPECT_THAT(visible_names(), IsEmpty());
  EXPECT_EQ(hidden(), "a\nb\nc\n");

  clock_.advance(60s);
  EXPECT_TRUE(job.writer().run_timers());
  const auto second = job.checkpoint();
  EXPECT_THAT(visible_names(), IsEmpty());
  ASSERT_TRUE(job.committer().commit(second.committables));
  EXPECT_EQ(visible_names(), std::set<std::string>{"part-0-0"});
  EXPECT_EQ(visible(), "a\nb\nc\n");
}

TEST_F(FileSinkCheckpointTest, shows_a_file_once_after_a_crash_between_checkpoint_and_commit) {
  Attempt& job = start(checkpoint_files());
  job.write("a");
  const auto checkpoint = job.checkpoint();
  crash();
  EXPECT_THAT(visible_names(), IsEmpty());
  Attempt& again = start_from(checkpoint_files(), checkpoint);
  EXPECT_EQ(visible_names(), std::set<std::string>{"part-0-0"});
  again.write("b");
  finish();
  EXPECT_EQ(visible(), "a\nb\n");
  EXPECT_EQ(visible_names(), (std::set<std::string>{"part-0-0", "part-0-1"}));
}

TEST_F(FileSinkCheckpointTest, cuts_what_was_written_after_the_checkpoint) {
  Attempt& job = start(sink());
  job.write("kept");
  const auto checkpoint = job.checkpoint();
  job.write(std::string(1'000'000, 'x'));
  crash();
  ASSERT_GT(hidden().size(), 1'000'000U);
  Attempt& again = start_from(sink(), checkpoint);
  again.write("written again");
  finish();
  EXPECT_EQ(visible(), "kept\nwritten again\n");
}

// A process that is frozen, not dead, goes on with the file that it has open.
TEST_F(FileSinkCheckpointTest, what_an_earlier_process_writes_later_is_in_no_file_that_is_shown) {
  Attempt& job = start(sink());
  job.write("kept");
  const auto checkpoint = job.checkpoint();
  job.write("lost");
  std::vector<std::ofstream> open_files;
  for (const std::string& name : hidden_names())
    open_files.emplace_back(fs::path(out()) / name, std::ios::app);
  ASSERT_FALSE(open_files.empty());
  attempt_.reset();
  start_from(sink(), checkpoint).write("written again");
  for (std::ofstream& file : open_files) file << "of the past\n" << std::flush;
  finish();
  for (std::ofstream& file : open_files) file << "of the past\n" << std::flush;
  EXPECT_EQ(visible(), "kept\nwritten again\n");
}

TEST_F(FileSinkCheckpointTest, takes_snapshot_and_commit_of_a_barrier_in_either_order) {
  fs::create_directories(out());
  PartFileWriter writer(out(), SubtaskIndex{0}, {.rolling = roll_at_every_checkpoint()});
  ASSERT_TRUE(writer.enter_bucket({}));
  writer.buffer() += "a\n";
  ASSERT_TRUE(writer.end_row());
  const auto committables = *writer.prepare_commit();
  const auto state = *writer.snapshot();
  EXPECT_THAT(committables, SizeIs(1));
  EXPECT_EQ(state, (PartFileWriterState{.in_progress = {}, .next_number = 1}));
}

class UnsyncedPartFiles : public FileSinkCheckpointTest {
 protected:
  static void write(PartFileWriter& writer, const std::string& row,
                    const std::string& bucket = {}) {
    ASSERT_TRUE(writer.enter_bucket(bucket));
    writer.buffer() += row;
    ASSERT_TRUE(writer.end_row());
  }
  [[nodiscard]] std::string hidden(const PartFile& file) const {
    return out() + "/" + file.hidden_name;
  }
};

TEST_F(UnsyncedPartFiles, are_all_that_a_barrier_hands_over_with_their_directories) {
  fs::create_directories(out());
  PartFileWriter writer(out(), SubtaskIndex{0}, {.rolling = {.part_bytes_max = 10}});
  write(writer, "larger than ten bytes\n");
  write(writer, "small\n", "day/hour");
  const auto state = *writer.snapshot();
  const auto finished = *writer.prepare_commit();
  ASSERT_THAT(state.in_progress, SizeIs(1));
  ASSERT_THAT(finished, SizeIs(1));
  auto unsynced = writer.take_unsynced();
  EXPECT_THAT(unsynced.paths(),
              testing::UnorderedElementsAre(hidden(state.in_progress[0]), hidden(finished[0]),
                                            out(), out() + "/day", out() + "/day/hour"));
  EXPECT_TRUE(unsynced.sync());
}

TEST_F(UnsyncedPartFiles, are_handed_over_again_only_if_rows_have_followed) {
  fs::create_directories(out());
  PartFileWriter writer(out(), SubtaskIndex{0}, {});
  write(writer, "a\n");
  ASSERT_TRUE(writer.snapshot());
  EXPECT_FALSE(writer.take_unsynced().empty());
  ASSERT_TRUE(writer.snapshot());
  EXPECT_TRUE(writer.take_unsynced().empty());
  write(writer, "b\n");
  const auto state = *writer.snapshot();
  EXPECT_THAT(writer.take_unsynced().paths(), ElementsAre(hidden(state.in_progress[0])));
  ASSERT_TRUE(writer.finish());
  EXPECT_THAT(*writer.prepare_commit(), SizeIs(1));
  EXPECT_TRUE(writer.take_unsynced().empty()) << "it had no row since the barrier";
}

TEST_F(UnsyncedPartFiles, do_not_use_up_descriptors_between_two_barriers) {
  fs::create_directories(out());
  PartFileWriter writer(out(), SubtaskIndex{0}, {.rolling = {.part_bytes_max = 1}});
  for (int i = 0; i < 1'000; ++i) write(writer, "row\n");
  const auto finished = *writer.prepare_commit();
  EXPECT_THAT(finished, SizeIs(1'000));
  auto unsynced = writer.take_unsynced();
  EXPECT_LE(unsynced.open_files(), 129U);
  EXPECT_FALSE(unsynced.empty());
  EXPECT_TRUE(unsynced.sync());
}

TEST_F(UnsyncedPartFiles, are_synced_without_their_writer) {
  fs::create_directories(out());
  UnsyncedFiles unsynced;
  {
    PartFileWriter writer(out(), SubtaskIndex{0}, {});
    write(writer, "a\n");
    ASSERT_TRUE(writer.snapshot());
    unsynced = writer.take_unsynced();
  }
  EXPECT_TRUE(unsynced.sync());
}

TEST_F(FileSinkCheckpointTest, restores_twice_from_the_same_checkpoint) {
  Attempt& job = start(sink());
  job.write("a");
  const auto checkpoint = job.checkpoint();
  job.write("lost");
  crash();
  for (int i = 0; i < 2; ++i) {
    Attempt& again = start_from(sink(), checkpoint);
    again.write("lost as well");
    (void)again.checkpoint();  // never complete
    crash();
  }
  start_from(sink(), checkpoint).write("b");
  finish();
  EXPECT_EQ(visible(), "a\nb\n");
  EXPECT_THAT(hidden_names(), IsEmpty());
}

TEST_F(FileSinkCheckpointTest, keeps_files_of_a_checkpoint_when_a_task_fails_and_others_go) {
  Attempt& job = start(sink());
  job.write("a");
  const auto checkpoint = job.checkpoint();
  job.write("lost");
  attempt_.reset();  // closed in order, as when user code throws
  start_from(sink(), checkpoint);
  finish();
  EXPECT_EQ(visible(), "a\n");
}

TEST_F(FileSinkCheckpointTest, restores_what_is_committed_already_or_in_part) {
  Attempt& job = start(checkpoint_files(), 2);
  job.write("a", 0);
  job.write("b", 1);
  const auto checkpoint = job.checkpoint();
  const auto file = *from_bytes<PartFile>(checkpoint.committables[0].bytes);
  fs::rename(out() + '/' + file.hidden_name, out() + '/' + file.final_name);
  crash();
  for (int i = 0; i < 2; ++i) {
    start_from(checkpoint_files(), checkpoint, 2);
    EXPECT_EQ(visible(), "a\nb\n");
    crash();
  }
}

TEST_F(FileSinkCheckpointTest, removes_what_crashes_have_left_with_the_first_newer_commit) {
  Attempt& job = start(sink());
  job.write("a");
  const auto checkpoint = job.checkpoint();
  for (int i = 0; i < 3; ++i) {
    crash();
    Attempt& again = start_from(sink(), checkpoint);
    again.write("lost");
    (void)again.checkpoint();
  }
  crash();
  EXPECT_THAT(hidden_names(), SizeIs(4));
  Attempt& again = start_from(sink(), checkpoint);
  ASSERT_TRUE(again.committer().commit(checkpoint.committables));
  EXPECT_THAT(hidden_names(), SizeIs(4));
  again.write("b");
  const auto newer = again.checkpoint();
  ASSERT_TRUE(again.committer().commit(newer.committables));
  EXPECT_EQ(visible(), "a\n");
  EXPECT_EQ(hidden(), "b\n");
}

TEST_F(FileSinkCheckpointTest, never_uses_a_number_twice_though_the_parallelism_changes) {
  Attempt& two = start(checkpoint_files(), 2);
  auto checkpoint = two.checkpoint();
  for (const auto* row : {"a", "b", "c"}) {
    two.write(row, 1);
    checkpoint = two.checkpoint();
    ASSERT_TRUE(two.committer().commit(checkpoint.committables));
  }
  crash();
  Attempt& one = start_from(checkpoint_files(), checkpoint, 1);
  one.write("d");
  checkpoint = one.checkpoint();
  ASSERT_TRUE(one.committer().commit(checkpoint.committables));
  crash();
  Attempt& three = start_from(checkpoint_files(), checkpoint, 3);
  for (const std::size_t i : {0U, 1U, 2U}) three.write("e", i);
  finish();
  EXPECT_EQ(visible_names(), (std::set<std::string>{"part-0-3", "part-0-4", "part-1-0", "part-1-1",
                                                    "part-1-2", "part-1-4", "part-2-4"}));
}

TEST_F(FileSinkCheckpointTest, divides_files_in_progress_among_fewer_or_more_writers) {
  Attempt& three = start(sink(), 3);
  for (const std::size_t i : {0U, 1U, 2U}) three.write("row " + std::to_string(i), i);
  const auto checkpoint = three.checkpoint();
  crash();
  for (const std::uint32_t parallelism : {1U, 2U, 5U}) {
    start_from(sink(), checkpoint, parallelism);
    crash();
  }
  start_from(sink(), checkpoint, 2);
  finish();
  EXPECT_EQ(visible(), "row 0\nrow 1\nrow 2\n");
}

TEST_F(FileSinkCheckpointTest,
       names_a_file_in_progress_that_is_shorter_than_the_checkpoint_or_gone) {
  Attempt& job = start(sink());
  job.write("abc");
  const auto checkpoint = job.checkpoint();
  crash();
  const std::string file = out() + '/' + *hidden_names().begin();
  fs::resize_file(file, 3);
  const auto restore_error = [&] {
    Attempt attempt(sink(), 1, clock_);
    return attempt.restore(checkpoint).error();
  };
  EXPECT_EQ(restore_error(),
            (Error{Errc::output_lost, "cannot go on with output '" + file +
                                          "': it has 3 bytes, fewer than the 4 of the "
                                          "checkpoint; something changed it"}));
  fs::remove(file);
  EXPECT_EQ(restore_error(),
            (Error{Errc::output_lost, "cannot go on with output '" + file +
                                          "': No such file or directory: the output "
                                          "must be that of the job that took the "
                                          "checkpoint, and nobody may have gone on "
                                          "from there since"}));
}

TEST_F(FileSinkCheckpointTest, refuses_to_go_back_to_a_checkpoint_before_what_is_visible) {
  Attempt& job = start(checkpoint_files());
  const auto older = job.checkpoint();
  job.write("a");
  ASSERT_TRUE(job.committer().commit(job.checkpoint().committables));
  crash();
  Attempt& again = start_from(checkpoint_files(), older);
  again.write("a");
  EXPECT_EQ(again.committer().commit(again.finish()).error(),
            (Error{Errc::output_lost,
                   "cannot commit output '" + out() +
                       "/part-0-0': a file of this name is there; was the job restored from a "
                       "checkpoint that is not its latest?"}));
  EXPECT_EQ(visible(), "a\n");
}

TEST_F(FileSinkCheckpointTest, commits_many_times) {
  Attempt& job = start(checkpoint_files());
  std::string expected;
  for (int i = 100; i < 200; ++i) {
    job.write(std::to_string(i));
    const auto checkpoint = job.checkpoint();
    ASSERT_TRUE(job.committer().commit(checkpoint.committables));
    ASSERT_TRUE(job.committer().commit(checkpoint.committables));
    EXPECT_THAT(visible_names(), SizeIs(i - 99));
  }
  EXPECT_TRUE(line_files(out()).make_committer()->prepare().error().code == Errc::output_exists);
  finish();
  EXPECT_THAT(visible_names(), SizeIs(100));
}

TEST_F(FileSinkCheckpointTest, abort_keeps_what_was_committed) {
  Attempt& job = start(checkpoint_files());
  job.write("a");
  ASSERT_TRUE(job.committer().commit(job.checkpoint().committables));
  job.write("b");
  (void)job.checkpoint();
  job.committer().abort();
  EXPECT_EQ(dir_.names("out"), std::set<std::string>{"part-0-0"});
  EXPECT_EQ(visible(), "a\n");
}

TEST_F(FileSinkCheckpointTest, shows_nothing_of_a_commit_that_cannot_be_made_whole) {
  Attempt& job = start(checkpoint_files(), 2);
  job.write("a", 0);
  job.write("b", 1);
  const auto checkpoint = job.checkpoint();
  fs::remove(out() + '/' + from_bytes<PartFile>(checkpoint.committables[1].bytes)->hidden_name);
  EXPECT_EQ(job.committer().commit(checkpoint.committables).error(),
            (Error{Errc::output_lost,
                   "cannot commit output '" + out() + "/part-1-0': No such file or directory"}));
  EXPECT_THAT(visible_names(), IsEmpty());
}

TEST_F(FileSinkCheckpointTest, restores_a_committer_that_goes_on_in_the_same_process) {
  Attempt& job = start(checkpoint_files());
  job.write("a");
  const auto first = job.checkpoint();
  job.write("lost");
  (void)job.checkpoint();
  ASSERT_TRUE(job.committer().restore(first.committables));
  EXPECT_EQ(visible(), "a\n");
  EXPECT_EQ(sink({.overwrite = true}).make_committer()->prepare().error().code,
            Errc::output_exists);
}

TEST_F(FileSinkCheckpointTest, waits_for_the_earlier_process_to_let_go_of_the_output) {
  Attempt& job = start(checkpoint_files());
  job.write("a");
  const auto checkpoint = job.checkpoint();
  int waits = 0;
  const auto heir = make_part_file_committer(
      out(), false, {.looks = 5, .between_looks = 100ms, .wait = [&](Duration span) {
                       EXPECT_EQ(span, 100ms);
                       if (++waits == 3) attempt_.reset();
                     }});
  EXPECT_TRUE(heir->restore(checkpoint.committables));
  EXPECT_EQ(waits, 3);
  EXPECT_EQ(visible(), "a\n");
}

TEST_F(FileSinkCheckpointTest, gives_up_if_the_earlier_process_keeps_the_output) {
  start(checkpoint_files());
  int waits = 0;
  const auto heir = make_part_file_committer(
      out(), false, {.looks = 5, .between_looks = 1ms, .wait = [&](Duration) { ++waits; }});
  EXPECT_EQ(heir->restore({}).error().code, Errc::output_failed);  // which a restart may mend
  EXPECT_EQ(waits, 4);
}

TEST_F(FileSinkCheckpointTest, reports_a_full_disk_at_a_checkpoint_and_shows_nothing) {
  Attempt& job = start(sink());
  job.write(std::string(100'000, 'x'));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit full{.rlim_cur = 50'000, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto result = job.writer().snapshot();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(result.error().code, Errc::output_failed);
  EXPECT_THAT(result.error().message,
              AllOf(HasSubstr("cannot write output '" + out() + "/.part-0-0.inprogress."),
                    HasSubstr("': File too large")));
  job.committer().abort();
  EXPECT_FALSE(fs::exists(out() + "/part-0-0"));
}

// With --overwrite.
class OverwritingFileSinkTest : public FileSinkCheckpointTest {
 protected:
  OverwritingFileSinkTest() {
    dir_.write("out/part-0-0", "old 0\n");
    dir_.write("out/2015-05-17/part-1-0", "old 1\n");
  }
  [[nodiscard]] Lines overwriting() const {
    return sink({.overwrite = true, .rolling = roll_at_every_checkpoint()});
  }
  const std::string old_ = "old 1\nold 0\n";
};

TEST_F(OverwritingFileSinkTest, replaces_old_output_with_the_first_commit_that_has_files) {
  Attempt& job = start(overwriting());
  ASSERT_TRUE(job.committer().commit(job.checkpoint().committables));
  EXPECT_EQ(visible(), old_);
  job.write("new 0");
  ASSERT_TRUE(job.committer().commit(job.checkpoint().committables));
  EXPECT_EQ(visible(), "new 0\n");
  job.write("new 1");
  ASSERT_TRUE(job.committer().commit(job.checkpoint().committables));
  finish();
  EXPECT_EQ(visible(), "new 0\nnew 1\n");
  EXPECT_EQ(dir_.names("out"), (std::set<std::string>{"part-0-0", "part-0-1"}));
}

TEST_F(OverwritingFileSinkTest, removes_old_output_if_there_are_no_rows) {
  start(overwriting());
  finish();
  EXPECT_THAT(dir_.names("out"), IsEmpty());
}

TEST_F(OverwritingFileSinkTest, keeps_old_output_over_crashes_before_the_first_commit) {
  Attempt& job = start(overwriting());
  const auto checkpoint = job.checkpoint();
  job.write("lost");
  crash();
  Attempt& again = start_from(overwriting(), checkpoint);
  EXPECT_EQ(visible(), old_);
  again.write("new");
  finish();
  EXPECT_EQ(visible(), "new\n");
}

TEST_F(OverwritingFileSinkTest, replaces_old_output_when_it_restores_the_first_commit) {
  Attempt& job = start(overwriting());
  job.write("new");
  const auto checkpoint = job.checkpoint();
  crash();
  for (int i = 0; i < 2; ++i) {
    start_from(overwriting(), checkpoint);
    EXPECT_EQ(visible(), "new\n");
    crash();
  }
}

TEST_F(OverwritingFileSinkTest, never_takes_its_own_files_for_old_output) {
  Attempt& job = start(overwriting());
  job.write("new 0");
  auto checkpoint = job.checkpoint();
  ASSERT_TRUE(job.committer().commit(checkpoint.committables));
  crash();
  start_from(overwriting(), checkpoint).write("new 1");
  finish();
  EXPECT_EQ(visible(), "new 0\nnew 1\n");
}

TEST_F(OverwritingFileSinkTest, keeps_old_output_if_a_file_to_commit_is_not_as_it_was_written) {
  Attempt& job = start(overwriting());
  job.write("new");
  const auto checkpoint = job.checkpoint();
  const auto file = *from_bytes<PartFile>(checkpoint.committables[0].bytes);
  fs::resize_file(out() + '/' + file.hidden_name, 1);
  EXPECT_EQ(job.committer().commit(checkpoint.committables).error().code, Errc::output_lost);
  job.committer().abort();
  EXPECT_EQ(visible(), old_);
  EXPECT_THAT(hidden_names(), IsEmpty());
}

// When files are rolled; rows of four bytes.
class FileSinkRollingTest : public FileSinkCheckpointTest {};

TEST_F(FileSinkRollingTest, keeps_a_file_over_checkpoints) {
  Attempt& job = start(sink());
  for (const auto* row : {"aaa", "bbb", "ccc"}) {
    job.write(row);
    ASSERT_TRUE(job.committer().commit(job.checkpoint().committables));
  }
  EXPECT_THAT(hidden_names(), SizeIs(1));
  finish();
  EXPECT_EQ(dir_.names("out"), std::set<std::string>{"part-0-0"});
  EXPECT_EQ(visible(), "aaa\nbbb\nccc\n");
}

TEST_F(FileSinkRollingTest, rolls_what_is_larger_than_allowed_at_a_row) {
  Attempt& job = start(sink({.rolling = {.part_bytes_max = 8}}));
  for (const auto* row : {"aaa", "bbb"}) job.write(row);
  EXPECT_THAT(job.checkpoint().committables, IsEmpty());
  job.write("ccc");
  EXPECT_THAT(job.checkpoint().committables, SizeIs(1));
}

TEST_F(FileSinkRollingTest, rolls_what_is_60_seconds_old) {
  Attempt& job = start(sink());
  job.write("aaa");
  (void)job.checkpoint();
  for (int i = 0; i < 59; ++i) {
    clock_.advance(1s);
    job.write("bbb");
    (void)job.writer().run_timers();
  }
  clock_.advance(999ms);
  (void)job.writer().run_timers();
  EXPECT_THAT(job.checkpoint().committables, IsEmpty());
  clock_.advance(1ms);
  EXPECT_TRUE(job.writer().run_timers());
  EXPECT_FALSE(job.writer().run_timers());
  EXPECT_THAT(job.checkpoint().committables, SizeIs(1));
}

TEST_F(FileSinkRollingTest, rolls_what_has_had_no_row_for_60_seconds) {
  Attempt& job = start(sink({.rolling = {.age = 1h}}));
  job.write("aaa");
  (void)job.checkpoint();
  clock_.advance(40s);
  job.write("bbb");
  clock_.advance(59'999ms);
  EXPECT_TRUE(job.writer().run_timers());  // in vain: it was set for the row before
  EXPECT_THAT(job.checkpoint().committables, IsEmpty());
  clock_.advance(1ms);
  EXPECT_TRUE(job.writer().run_timers());
  EXPECT_THAT(job.checkpoint().committables, SizeIs(1));
}

TEST_F(FileSinkRollingTest, looks_at_no_clock_in_a_job_without_checkpoints) {
  Attempt& job = start(sink());
  job.write("aaa");
  clock_.advance(24h);
  EXPECT_FALSE(job.writer().run_timers());
  job.write("bbb");
  finish();
  EXPECT_EQ(dir_.names("out"), std::set<std::string>{"part-0-0"});
}

TEST_F(FileSinkRollingTest, at_every_checkpoint_rolls_for_no_other_reason) {
  Attempt& job = start(checkpoint_files());
  job.write("aaa");
  EXPECT_THAT(job.checkpoint().committables, SizeIs(1));
  EXPECT_THAT(job.checkpoint().committables, IsEmpty());
  job.write("bbb");
  clock_.advance(24h);
  EXPECT_FALSE(job.writer().run_timers());
  EXPECT_THAT(job.checkpoint().committables, SizeIs(1));
}

// Records go to subdirectories by event time.
class FileSinkBucketTest : public FileSinkCheckpointTest {
 protected:
  static constexpr EventTime ten = EventTime::of(std::chrono::sys_days{2015y / 5 / 17} + 10h);
  static constexpr EventTime eleven = ten + 1h;
};

TEST_F(FileSinkBucketTest, writes_records_by_the_hour) {
  Attempt& job = start(sink({.bucket = hourly()}));
  ASSERT_TRUE(job.writer().write({"a", "b", "c"}, {ten, eleven, ten + 59min}));
  finish();
  EXPECT_EQ(dir_.names("out"), (std::set<std::string>{"2015-05-17--10", "2015-05-17--11"}));
  EXPECT_EQ(dir_.read("out/2015-05-17--10/part-0-0"), "a\nc\n");
  EXPECT_EQ(dir_.read("out/2015-05-17--11/part-0-1"), "b\n");
}

TEST_F(FileSinkBucketTest, nests_buckets) {
  Attempt& job = start(sink({.bucket = "year=%Y/%m-%d"}));
  ASSERT_TRUE(job.writer().write({"a"}, {ten}));
  finish();
  EXPECT_EQ(dir_.read("out/year=2015/05-17/part-0-0"), "a\n");
}

TEST_F(FileSinkBucketTest, refuses_a_record_without_event_time) {
  Attempt& job = start(sink({.bucket = daily()}));
  const Error expected{Errc::user_code,
                       "'out' received a record without event time: put .event_time(…) before the "
                       "sink, whose buckets need it"};
  EXPECT_EQ(job.writer().write({"a"}).error(), expected);
  EXPECT_EQ(job.writer().write({"a"}, {no_timestamp}).error(), expected);
}

TEST_F(FileSinkBucketTest, refuses_a_format_that_names_no_directory) {
  EXPECT_EQ(sink({.bucket = "../%Y"}).check().error().code, Errc::invalid_plan);
  EXPECT_THAT(sink({.bucket = "%Q"}).check().error().message, HasSubstr("text files in " + out()));
}

TEST_F(FileSinkBucketTest, restores_files_of_many_buckets) {
  Attempt& job = start(sink({.bucket = hourly()}));
  ASSERT_TRUE(job.writer().write({"a", "b"}, {ten, eleven}));
  const auto checkpoint = job.checkpoint();
  ASSERT_TRUE(job.writer().write({"lost", "lost"}, {ten, eleven + 1h}));
  crash();
  Attempt& again = start_from(sink({.bucket = hourly()}), checkpoint);
  ASSERT_TRUE(again.writer().write({"c"}, {eleven}));
  finish();
  EXPECT_EQ(visible_names(),
            (std::set<std::string>{"2015-05-17--10/part-0-0", "2015-05-17--11/part-0-1",
                                   "2015-05-17--11/part-0-2"}));
  EXPECT_EQ(visible(), "a\nb\nc\n");
}

TEST_F(FileSinkBucketTest, has_more_buckets_than_open_files) {
  Attempt& job = start(sink({.bucket = hourly()}));
  std::vector<std::string> rows;
  std::vector<EventTime> times;
  std::string expected;
  for (const auto* round : {"first", "second", "third"}) {
    for (int hour = 0; hour < 150; ++hour) {
      rows.emplace_back(round);
      times.push_back(ten + Duration{1h} * hour);
    }
  }
  for (int hour = 0; hour < 150; ++hour) expected += "first\nsecond\nthird\n";
  ASSERT_TRUE(job.writer().write(rows, times));
  const auto checkpoint = job.checkpoint();
  EXPECT_EQ(hidden(), expected);
  crash();
  start_from(sink({.bucket = hourly()}), checkpoint);
  finish();
  EXPECT_EQ(visible(), expected);
  EXPECT_THAT(dir_.names("out"), SizeIs(150));
}

TEST_F(FileSinkBucketTest, abort_leaves_no_empty_buckets) {
  Attempt& job = start(sink({.bucket = "%Y/%m/%d"}));
  ASSERT_TRUE(job.writer().write({"a"}, {ten}));
  (void)job.checkpoint();
  job.committer().abort();
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(FileSinkBucketTest, takes_buckets_for_output_that_exists) {
  dir_.write("out/2015-05-17/part-0-0", "old\n");
  EXPECT_EQ(sink().check().error().code, Errc::output_exists);
  EXPECT_TRUE(sink({.overwrite = true}).check());
  dir_.write("out/photos/cat.jpg", "meow");
  EXPECT_THAT(sink({.overwrite = true}).check().error().message,
              HasSubstr("holds 'photos/cat.jpg', which is no part file"));
}

TEST_F(FileSinkBucketTest, removes_hidden_files_of_a_job_that_died) {
  Attempt& job = start(sink({.bucket = daily()}));
  ASSERT_TRUE(job.writer().write({"lost"}, {ten}));
  (void)job.checkpoint();
  crash();
  attempt_.reset();
  EXPECT_TRUE(sink().check());
  start(sink()).write("a");
  finish();
  EXPECT_EQ(dir_.names("out"), std::set<std::string>{"part-0-0"});
}

}  // namespace
}  // namespace weir
