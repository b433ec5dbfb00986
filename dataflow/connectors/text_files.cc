#include "dataflow/connectors/text_files.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/limits.h"
#include "dataflow/connectors/byte_stream.h"
#include "dataflow/connectors/input_files.h"
#include "dataflow/connectors/line_reader.h"
#include "dataflow/connectors/listed_splits.h"
#include "dataflow/connectors/split_queue.h"

namespace weir {
namespace {

// What a split of this source is.
struct FileRange {
  std::string path;
  bool is_gzip = false;
  std::uint64_t begin = 0;  // of the file's own bytes, as is `end`
  std::uint64_t end = 0;
  bool is_begun = false;       // some line has been looked for and found
  std::uint64_t position = 0;  // if begun: where the next line begins in the text

  [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

void append_splits(std::vector<Split>& splits, const InputFile& file, std::uint64_t split_bytes) {
  std::uint64_t begin = 0;
  while (begin < file.bytes) {
    const std::uint64_t left = file.bytes - begin;
    const std::uint64_t size = file.is_gzip ? left : std::min(left, split_bytes);
    FileRange range{
        .path = file.path, .is_gzip = file.is_gzip, .begin = begin, .end = begin + size};
    splits.push_back(
        make_split(file.path + '@' + std::to_string(begin) + '+' + std::to_string(size), range));
    begin += size;
  }
}

Result<void> check_split_size(std::uint64_t split_bytes) {
  if (split_bytes > 0) return {};
  return Error{Errc::invalid_plan, "text files: the split size must be above 0; it is 0"};
}

Result<SplitList> list_splits(const std::vector<std::string>& patterns, std::uint64_t split_bytes) {
  WEIR_TRY(check_split_size(split_bytes));
  const auto files = list_input_files(patterns);
  if (!files) return files.error();
  std::uint64_t total = 0;
  SplitList list;
  for (const InputFile& file : *files) {
    append_splits(list.splits, file, split_bytes);
    total += file.bytes;
  }
  list.total_units = total;
  return list;
}

// A split that does not begin its file begins with the rest of a line of the split before, unless
// the byte before it ends a line: so the search begins there.
LineRange lines_of(const FileRange& range) {
  LineRange lines;
  if (!range.is_gzip) lines.end = range.end;
  if (range.is_begun) {
    lines.begin = range.position;
  } else if (range.begin > 0) {
    lines.begin = range.begin - 1;
    lines.begins_within_line = true;
  }
  return lines;
}

Result<std::unique_ptr<LineReader>> open_lines(const FileRange& range) {
  const LineRange lines = lines_of(range);
  auto bytes = range.is_gzip ? open_gzip_file(range.path) : open_file(range.path, lines.begin);
  if (!bytes) return bytes.error();
  const std::uint64_t stream_offset = range.is_gzip ? 0 : lines.begin;
  return std::make_unique<LineReader>(*std::move(bytes), stream_offset, lines, range.path);
}

template <class Line>
class TextFileReader final : public SourceOperator {
 public:
  [[nodiscard]] Result<void> add_split(Split split) override {
    // After a restore with fewer readers one has what several were reading: of a log, later splits have later times.
    const auto goes_before = [](const FileRange& one, const FileRange& other) {
      return one.path == other.path && one.begin < other.begin;
    };
    return splits_.add(std::move(split), lines_ != nullptr, goes_before);
  }

  [[nodiscard]] Result<Poll> poll(Outputs& out) override {
    if (!lines_) {
      if (splits_.empty()) return Poll{PollResult::need_split};
      auto opened = open_lines(splits_.front());
      if (!opened) return opened.error();
      lines_ = *std::move(opened);
      begun_ = begin_split(splits_.front_id());
      reads_split(begun_);
    }
    const LineReader::Step step = read(out);
    if (step == LineReader::Step::failed) return lines_->error();
    if (step == LineReader::Step::end) {
      read_bytes_ += splits_.front().bytes();
      lines_.reset();
      splits_.pop();
      end_split(begun_);
    }
    return Poll{PollResult::more};
  }

  [[nodiscard]] std::vector<Split> snapshot_splits() const override {
    SplitQueue<FileRange> splits = splits_;
    if (lines_ && !lines_->is_seeking()) {
      splits.front().is_begun = true;
      splits.front().position = lines_->next_offset();
    }
    return splits.snapshot();
  }

  // In bytes of the files.
  [[nodiscard]] std::uint64_t read_units() const override {
    if (!lines_) return read_bytes_;
    const FileRange& range = splits_.front();
    const std::uint64_t position =
        range.is_gzip ? lines_->bytes().file_position() : lines_->next_offset();
    return read_bytes_ + std::clamp(position, range.begin, range.end) - range.begin;
  }

  void close() override { lines_.reset(); }

 private:
  // Lines of the front split into a batch, as long as it has room and there is time.
  [[nodiscard]] LineReader::Step read(Outputs& out) {
    auto& values = out.port<Line>().batch().values;
    std::size_t bytes = 0;
    while (values.size() < Output<Line>::rows_max && bytes < limits::batch_bytes_max) {
      const std::uint64_t offset = lines_->next_offset();
      std::string_view text;
      const LineReader::Step step = lines_->next(text);
      if (step == LineReader::Step::line) {
        append(values, text, offset);
        bytes += sizeof(Line) + heap_bytes(values.back());
      } else if (step != LineReader::Step::refilled || out.budget().spent()) {
        return step;
      }
    }
    return LineReader::Step::line;
  }

  void append(std::vector<Line>& values, std::string_view text, std::uint64_t offset) {
    if constexpr (std::is_same_v<Line, std::string>) {
      values.emplace_back(text);
    } else {
      values.push_back({std::string(text), splits_.front().path, offset});
    }
  }

  SplitQueue<FileRange> splits_;
  std::unique_ptr<LineReader> lines_;  // of the front split, once it is opened
  SplitIndex begun_{};                 // the same
  std::uint64_t read_bytes_ = 0;       // of finished splits
};

// Line ends in the first `offset` bytes of the text; nothing if the file cannot be read any more.
std::optional<std::uint64_t> count_lines_before(const std::string& path, std::uint64_t offset) {
  const auto files = list_input_files({path});
  if (!files || files->size() != 1) return std::nullopt;
  auto bytes = files->front().is_gzip ? open_gzip_file(path) : open_file(path, 0);
  if (!bytes) return std::nullopt;
  std::vector<char> buffer(64 * 1024);
  std::uint64_t lines = 0;
  while (offset > 0) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), offset));
    const auto size = (*bytes)->read(part);
    if (!size || *size == 0) return std::nullopt;
    lines += static_cast<std::uint64_t>(std::ranges::count(part.first(*size), '\n'));
    offset -= *size;
  }
  return lines;
}

}  // namespace

std::string TextLine::place() const {
  const auto before = count_lines_before(file, offset);
  return before ? file + ":" + std::to_string(*before + 1)
                : file + " at byte " + std::to_string(offset);
}

template <class Line>
std::string TextFiles<Line>::describe() const {
  std::string text = "text files";
  for (const std::string& pattern : patterns_) text += ' ' + pattern;
  return text;
}

template <class Line>
Result<void> TextFiles<Line>::check() const {
  WEIR_TRY(check_split_size(split_bytes_));
  const auto files = list_input_files(patterns_);
  if (!files) return files.error();
  return {};
}

template <class Line>
std::unique_ptr<SplitEnumerator> TextFiles<Line>::make_enumerator() const {
  return enumerate_list([patterns = patterns_, split_bytes = split_bytes_](std::uint32_t) {
    return list_splits(patterns, split_bytes);
  });
}

template <class Line>
std::unique_ptr<SourceOperator> TextFiles<Line>::make_reader() const {
  return std::make_unique<TextFileReader<Line>>();
}

template class TextFiles<std::string>;
template class TextFiles<TextLine>;

}  // namespace weir
