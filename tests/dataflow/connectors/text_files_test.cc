#include "dataflow/connectors/text_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataflow/connectors/line_reader.h"
#include "tests/dataflow/connectors/reader_harness.h"
#include "tests/dataflow/connectors/temp_dir.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

static_assert(SourceDescription<TextFiles<std::string>>);
static_assert(SourceDescription<TextFiles<TextLine>>);

// The lines of a text by the definition, with their offsets.
std::vector<TextLine> lines_of(std::string_view text, const std::string& file = {}) {
  std::vector<TextLine> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t newline = text.find('\n', begin);
    const bool ends = newline != std::string_view::npos;
    std::string_view line = text.substr(begin, ends ? newline - begin : newline);
    if (ends && line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back({std::string(line), file, begin});
    begin = ends ? newline + 1 : text.size();
  }
  return lines;
}

std::string gzip(std::string_view text) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&state, text.size()), '\0');
  std::string in(text);
  state.next_in = reinterpret_cast<Bytef*>(in.data());
  state.avail_in = static_cast<uInt>(in.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}

// Short lines and long ones, empty ones, both line ends, and a last line with or without one.
std::string random_text(Random& random) {
  std::string text;
  for (std::uint64_t lines = random.below(8); lines > 0; --lines) {
    const std::uint64_t length = random.below(4) == 0 ? random.below(40) : random.below(4);
    for (std::uint64_t i = 0; i < length; ++i) text += "ab\r,"[random.below(4)];
    text += random.below(3) == 0 ? "\r\n" : "\n";
  }
  if (random.below(2) == 0) text += "end";
  return text;
}

std::string long_text(std::size_t bytes) {
  std::string text;
  for (int i = 0; text.size() < bytes; ++i) text += "line " + std::to_string(i) + '\n';
  return text;
}

class TextFilesSource : public testing::Test {
 protected:
  std::vector<std::string> read(const std::string& patterns) {
    const auto rows = read_all(text_files(patterns));
    EXPECT_TRUE(rows) << rows.error().message;
    return *rows;
  }
  Error error_reading(const std::string& name) {
    return read_all(text_files(dir_.path(name))).error();
  }

  TempDir dir_;
};

TEST_F(TextFilesSource, reads_lines_without_their_ends) {
  EXPECT_THAT(read(dir_.write("unix", "a\n\nb\n")), ElementsAre("a", "", "b"));
  EXPECT_THAT(read(dir_.write("windows", "a\r\n\r\nb\r\n")), ElementsAre("a", "", "b"));
  EXPECT_THAT(read(dir_.write("open", "a\nb")), ElementsAre("a", "b"));
  EXPECT_THAT(read(dir_.write("returns", "a\rb\r\nc\r")), ElementsAre("a\rb", "c\r"));
  EXPECT_THAT(read(dir_.write("empty", "")), IsEmpty());
}

TEST_F(TextFilesSource, reads_several_files_in_order) {
  dir_.write("in/b", "2\n");
  dir_.write("in/a", "1");
  const std::string last = dir_.write("c", "3\n");
  EXPECT_THAT(read(dir_.path("in") + ',' + last), ElementsAre("1", "2", "3"));
}

TEST_F(TextFilesSource, reads_lines_longer_than_buffers_and_batches) {
  const std::string line(3'000'000, 'x');
  EXPECT_THAT(read(dir_.write("long", "a\n" + line + "\nb\n")), ElementsAre("a", line, "b"));
}

TEST_F(TextFilesSource, bounds_its_batches) {
  const auto source = text_files(dir_.write("in", long_text(1 << 20)));
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  ASSERT_TRUE(harness.poll());
  EXPECT_EQ(harness.last_batch_rows(), Output<std::string>::rows_max);
}

TEST_F(TextFilesSource, knows_where_lines_begin) {
  const std::string path = dir_.write("in", "a\r\n\nbcd\ne");
  EXPECT_EQ(*read_all(numbered_text_files(path).with_split_size(4)),
            lines_of("a\r\n\nbcd\ne", path));
}

TEST_F(TextFilesSource, cuts_files_into_splits_named_for_people) {
  const std::string path = dir_.write("in", "0123456789");
  const auto splits = *splits_of(text_files(path).with_split_size(4));
  std::vector<std::string> ids;
  for (const Split& split : splits) ids.push_back(split.id);
  EXPECT_THAT(ids, ElementsAre(path + "@0+4", path + "@4+4", path + "@8+2"));
}

TEST_F(TextFilesSource, says_which_split_it_reads_from_its_first_line_to_its_last) {
  const std::string first = dir_.write("a", "one\ntwo\n");
  const std::string second = dir_.write("b", "three\n");
  const auto source = text_files(first + "," + second);
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  while (harness.poll()->result == PollResult::more) continue;
  const std::string a = first + "@0+8";
  const std::string b = second + "@0+6";
  EXPECT_THAT(harness.split_log(), ElementsAre("begin " + a, "2 of " + a, "end " + a, "begin " + b,
                                               "1 of " + b, "end " + b))
      << "one that waits has not begun: it would hold the watermark until it is its turn";
}

// After a restore with fewer readers: later splits of a log have later times.
TEST_F(TextFilesSource, splits_of_a_file_are_read_in_their_order) {
  const std::string path = dir_.write("in", "0\n1\n2\n3\n");
  const auto source = text_files(path).with_split_size(2);
  auto splits = *splits_of(source);
  ASSERT_EQ(splits.size(), 4U);
  std::swap(splits[0], splits[3]);
  std::swap(splits[1], splits[2]);
  ReaderHarness harness(source);
  harness.add(splits);
  while (harness.poll()->result == PollResult::more) {
  }
  EXPECT_THAT(harness.rows(), ElementsAre("0", "1", "2", "3"));
}

// Whatever the splits, and in whichever order they are read.
TEST_F(TextFilesSource, every_line_is_in_exactly_one_split) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random{seed};
    const std::string text = random_text(random);
    const std::string path = dir_.write("in", text);
    for (std::uint64_t split_size = 1; split_size <= text.size() + 1; ++split_size) {
      SCOPED_TRACE(testing::Message() << "split size " << split_size);
      const auto source = numbered_text_files(path).with_split_size(split_size);
      auto splits = *splits_of(source);
      std::shuffle(splits.begin(), splits.end(), random);
      auto lines = *read_splits(source, splits);
      std::ranges::sort(lines, {}, &TextLine::offset);
      ASSERT_EQ(lines, lines_of(text, path));
    }
  }
}

// A snapshot after each poll, of a reader that stops wherever a batch or the buffer ends.
TEST_F(TextFilesSource, resumes_from_every_snapshot) {
  const std::string text =
      long_text(400'000) + std::string(600'000, 'y') + '\n' + long_text(300'000) + "end";
  for (const auto& path : {dir_.write("in", text), dir_.write("in.gz", gzip(text))}) {
    const auto source = numbered_text_files(path).with_split_size(250'000);
    ReaderHarness harness(source);
    harness.add(*splits_of(source));
    const auto expected = lines_of(text, path);
    for (int polls = 0; harness.poll()->result != PollResult::need_split; ++polls) {
      if (polls % 7 != 0) continue;
      const auto rest = *read_splits(source, harness.reader().snapshot_splits());
      const auto read_so_far = static_cast<std::ptrdiff_t>(harness.rows().size());
      ASSERT_TRUE(
          std::ranges::equal(rest, std::vector(expected.begin() + read_so_far, expected.end())));
    }
    ASSERT_EQ(harness.rows(), expected);
  }
}

TEST_F(TextFilesSource, counts_all_bytes_by_the_time_it_ends) {
  dir_.write("a", long_text(100'000));
  dir_.write("b.gz", gzip(long_text(100'000)));
  const auto source = text_files(dir_.path()).with_split_size(30'000);
  const auto enumerator = source.make_enumerator();
  ASSERT_TRUE(enumerator->open(1));
  ReaderHarness harness(source);
  harness.add(*splits_of(source));
  std::uint64_t before = 0;
  while (harness.poll()->result != PollResult::need_split) {
    ASSERT_GE(harness.reader().read_units(), before);
    before = harness.reader().read_units();
  }
  EXPECT_EQ(harness.reader().read_units(), enumerator->total_units());
}

TEST_F(TextFilesSource, reads_gzip_members_as_one_text) {
  dir_.write("in.gz", gzip("a\nb") + gzip("c\n") + gzip("") + gzip("d"));
  EXPECT_THAT(read(dir_.path("in.gz")), ElementsAre("a", "bc", "d"));
  const std::string text = long_text(1'000'000);
  EXPECT_EQ(read(dir_.write("long.gz", gzip(text))).size(), lines_of(text).size());
}

TEST_F(TextFilesSource, reads_a_file_that_is_only_named_like_gzip) {
  EXPECT_THAT(read(dir_.write("in.gz", "a\n")), ElementsAre("a"));
}

TEST_F(TextFilesSource, reports_gzip_data_that_is_cut_off_anywhere) {
  const std::string whole = gzip("some text\n") + gzip("more\n");
  const std::size_t first_member = gzip("some text\n").size();
  for (std::size_t size = 2; size < whole.size(); ++size) {
    if (size == first_member) continue;
    dir_.write("in.gz", whole.substr(0, size));
    EXPECT_EQ(
        error_reading("in.gz"),
        (Error{Errc::input_unreadable, "input '" + dir_.path("in.gz") +
                                           "' is truncated: its gzip data is incomplete at byte " +
                                           std::to_string(size) + "; fetch the file again"}));
  }
}

TEST_F(TextFilesSource, reports_gzip_data_that_is_damaged) {
  std::string data = gzip(long_text(10'000));
  data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 0x55);
  dir_.write("in.gz", data);
  const Error error = error_reading("in.gz");
  EXPECT_EQ(error.code, Errc::input_unreadable);
  EXPECT_THAT(error.message, HasSubstr("input '" + dir_.path("in.gz") +
                                       "' is damaged: its gzip data makes no sense"));
}

TEST_F(TextFilesSource, refuses_binary_files) {
  dir_.write("in", std::string("ab\0c\n", 5));
  EXPECT_EQ(error_reading("in"),
            (Error{Errc::input_unreadable,
                   "input '" + dir_.path("in") +
                       "' looks like a binary file (NUL byte at offset 2); pass a text file"}));
}

TEST_F(TextFilesSource, takes_a_late_nul_for_text) {
  const std::string text = std::string(8 * 1024, 'x') + '\0';
  EXPECT_THAT(read(dir_.write("in", text)), ElementsAre(text));
}

TEST_F(TextFilesSource, reports_a_file_that_vanished) {
  const auto source = text_files(dir_.write("in", "a\n"));
  const auto splits = *splits_of(source);
  std::filesystem::remove(dir_.path("in"));
  EXPECT_EQ(
      read_splits(source, splits).error(),
      (Error{Errc::input_missing, "input '" + dir_.path("in") +
                                      "' vanished before it was read: No such file or directory"}));
}

TEST_F(TextFilesSource, reports_a_file_that_shrank) {
  const auto source = text_files(dir_.write("in", "0123\n56789\n")).with_split_size(6);
  const auto splits = *splits_of(source);
  for (const Split& split : splits) {
    std::filesystem::resize_file(dir_.path("in"), 3);
    const Error error = read_splits(source, {split}).error();
    EXPECT_EQ(error.code, Errc::input_unreadable);
    EXPECT_THAT(error.message,
                HasSubstr("input '" + dir_.path("in") + "' shrank while it was read"));
  }
}

TEST_F(TextFilesSource, reads_to_the_end_of_the_last_line_of_a_file_that_grows) {
  const auto source = text_files(dir_.write("in", "a\nb"));
  const auto splits = *splits_of(source);
  dir_.write("in", "a\nbc\nd\n");
  EXPECT_THAT(*read_splits(source, splits), ElementsAre("a", "bc"));
}

TEST_F(TextFilesSource, checks_its_inputs_before_the_job_runs) {
  EXPECT_TRUE(text_files(dir_.write("in", "a\n")).check());
  EXPECT_EQ(text_files(dir_.path("no")).check().error().code, Errc::input_missing);
  EXPECT_EQ(text_files(dir_.path("in")).with_split_size(0).check().error(),
            (Error{Errc::invalid_plan, "text files: the split size must be above 0; it is 0"}));
}

TEST(TextFiles, describes_itself) {
  EXPECT_EQ(text_files("a.log,b*").describe(), "text files a.log b*");
  EXPECT_EQ(text_files(std::vector<std::string>{"a,b"}).describe(), "text files a,b");
}

TEST_F(TextFilesSource, lines_do_not_depend_on_the_size_of_the_buffer) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random{seed};
    const std::string text = random_text(random);
    const std::string path = dir_.write("in", text);
    for (std::size_t buffer_bytes = 1; buffer_bytes <= text.size() + 1; ++buffer_bytes) {
      LineReader reader(*open_file(path, 0), 0, LineRange{}, path, {.buffer_bytes = buffer_bytes});
      std::vector<TextLine> lines;
      std::string_view line;
      auto step = LineReader::Step::refilled;
      for (; step != LineReader::Step::end; step = reader.next(line)) {
        if (step == LineReader::Step::line) lines.push_back({std::string(line), {}, 0});
      }
      auto expected = lines_of(text);
      for (auto& each : expected) each.offset = 0;
      ASSERT_EQ(lines, expected);
    }
  }
}

TEST_F(TextFilesSource, refuses_lines_without_end) {
  const std::string path = dir_.write("in", "ab\n" + std::string(100, 'x'));
  LineReader reader(*open_file(path, 0), 0, LineRange{}, path,
                    {.buffer_bytes = 8, .line_bytes_max = 50});
  std::string_view line;
  auto step = LineReader::Step::refilled;
  while (step != LineReader::Step::failed) {
    step = reader.next(line);
    ASSERT_NE(step, LineReader::Step::end);
  }
  EXPECT_EQ(reader.error(),
            (Error{Errc::input_unreadable,
                   "input '" + path +
                       "' has no line end within 50 bytes from byte 3; pass a text file"}));
}

}  // namespace
}  // namespace weir
