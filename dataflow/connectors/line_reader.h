// Cuts the bytes of a text file into lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/result.h"
#include "dataflow/connectors/byte_stream.h"

namespace weir {

// Which lines to read: those that begin in the range. Offsets are of the text, which is what a
// compressed file contains.
struct LineRange {
  static constexpr std::uint64_t whole_text = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t begin = 0;
  bool begins_within_line = false;  // the byte at begin belongs to a line that began earlier
  std::uint64_t end = whole_text;
};

struct LineReaderOptions {
  // Read at once.
  std::size_t buffer_bytes = std::size_t{256} * 1024;
  // A file with longer ones is taken for no text file.
  std::size_t line_bytes_max = std::size_t{1024} * 1024 * 1024;
};

// A line ends with \n or \r\n, which are not part of it, or with the text. Holds the buffer, which
// grows to at most twice the longest line. Not thread-safe.
//
// Lines are found in the buffer by the inline part of next(); all else, which happens once a
// buffer, is in refill().
//
// Invariants:
//  (1) line_begin_ <= scanned_ <= filled_ <= capacity; no '\n' is in [line_begin_, scanned_).
//  (2) buffer_offset_ + line_begin_ is where the next line begins, unless is_seeking().
class LineReader {
 public:
  enum class Step : std::uint8_t {
    line,      // `line` is the next one and valid until the next call
    refilled,  // read on: call again, when there is time
    end,       // no more lines in the range
    failed,    // see error()
  };

  // `bytes` begins at offset `stream_offset` of the text, which is at most that of the range; what
  // is before the range is dropped. `path` is for messages.
  LineReader(std::unique_ptr<ByteStream> bytes, std::uint64_t stream_offset, LineRange range,
             std::string path, LineReaderOptions options = {});

  [[nodiscard]] Step next(std::string_view& line) {
    if (next_offset() >= range_.end) return Step::end;
    const char* const from = buffer_.get() + scanned_;
    const void* const newline = std::memchr(from, '\n', filled_ - scanned_);
    if (newline == nullptr) return refill(line);
    const auto length = static_cast<std::size_t>(static_cast<const char*>(newline) - from);
    line = without_return({buffer_.get() + line_begin_, scanned_ - line_begin_ + length});
    line_begin_ = scanned_ = scanned_ + length + 1;
    return Step::line;
  }

  // Where the line that next() returns next begins. Meaningless while is_seeking().
  [[nodiscard]] std::uint64_t next_offset() const { return buffer_offset_ + line_begin_; }
  // Whether the first line of the range has yet to be found.
  [[nodiscard]] bool is_seeking() const { return is_seeking_; }
  [[nodiscard]] const ByteStream& bytes() const { return *bytes_; }
  // Requires that next() returned Step::failed.
  [[nodiscard]] const Error& error() const {
    WEIR_CHECK(error_.has_value());
    return *error_;
  }

 private:
  static std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  [[nodiscard]] Step refill(std::string_view& line);
  [[nodiscard]] bool make_room();
  [[nodiscard]] Result<std::size_t> read_more();
  [[nodiscard]] Step end_of_text(std::string_view& line);
  void seek();
  [[nodiscard]] bool looks_binary();
  [[nodiscard]] Step fail(Error error);

  std::unique_ptr<ByteStream> bytes_;
  LineRange range_;
  std::string path_;
  LineReaderOptions options_;

  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::size_t line_begin_ = 0;
  std::size_t scanned_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t buffer_offset_;  // of buffer_[0] in the text
  bool is_seeking_;
  std::optional<Error> error_;
};

}  // namespace weir
