// A source of the lines of text files, plain or gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataflow/connectors/input_files.h"
#include "dataflow/source.h"

namespace weir {

// A line that knows where it is from, for messages about what is in it.
struct TextLine {
  std::string text;
  std::string file;
  // Of its first byte in the file; if that is compressed, in what it contains.
  std::uint64_t offset = 0;

  // "access.log:17". Reads the file up to the line to count it: for messages.
  [[nodiscard]] std::string place() const;
  friend bool operator==(const TextLine&, const TextLine&) = default;
};

inline constexpr std::uint64_t default_split_bytes = std::uint64_t{16} * 1024 * 1024;

// Line is std::string or TextLine.
//
// Files are cut into splits of about the same number of bytes, which readers take in the order of
// the files as they become free; a split has the lines that begin in it. A compressed file is one
// split. Each line is read once; the lines of a split come in their order. Memory per reader: a
// buffer and a line.
//
// Fails with Errc::input_unreadable for files that look binary, are damaged, or shrink while they
// are read. Of what is added to a file once the job runs, only the end of its last line is read.
template <class Line>
class TextFiles {
 public:
  using value_type = Line;

  // For the meaning of patterns see list_input_files().
  explicit TextFiles(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

  // The same files in splits of another size, above 0. Smaller ones keep more readers busy.
  [[nodiscard]] TextFiles with_split_size(std::uint64_t bytes) const {
    TextFiles other = *this;
    other.split_bytes_ = bytes;
    return other;
  }

  [[nodiscard]] std::string describe() const;
  [[nodiscard]] Result<void> check() const;
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::vector<std::string> paths() const { return patterns_; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const;
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const;

 private:
  std::vector<std::string> patterns_;
  std::uint64_t split_bytes_ = default_split_bytes;
};

extern template class TextFiles<std::string>;
extern template class TextFiles<TextLine>;

// Lines without their ends. A string is one or more patterns with commas between.
[[nodiscard]] inline TextFiles<std::string> text_files(std::string_view patterns) {
  return TextFiles<std::string>(split_at_commas(patterns));
}
[[nodiscard]] inline TextFiles<std::string> text_files(std::vector<std::string> patterns) {
  return TextFiles<std::string>(std::move(patterns));
}

// The same with file and offset of each line.
[[nodiscard]] inline TextFiles<TextLine> numbered_text_files(std::string_view patterns) {
  return TextFiles<TextLine>(split_at_commas(patterns));
}
[[nodiscard]] inline TextFiles<TextLine> numbered_text_files(std::vector<std::string> patterns) {
  return TextFiles<TextLine>(std::move(patterns));
}

}  // namespace weir
