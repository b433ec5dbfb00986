#include "dataflow/connectors/line_reader.h"

#include <algorithm>
#include <span>
#include <utility>

namespace weir {
namespace {

// Texts have no NUL near their beginning; most other files do.
constexpr std::size_t inspected_bytes = std::size_t{8} * 1024;

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteStream> bytes, std::uint64_t stream_offset,
                       LineRange range, std::string path, LineReaderOptions options)
    : bytes_(std::move(bytes)),
      range_(range),
      path_(std::move(path)),
      options_(options),
      buffer_(std::make_unique_for_overwrite<char[]>(options.buffer_bytes)),
      capacity_(options.buffer_bytes),
      buffer_offset_(stream_offset),
      is_seeking_(range.begins_within_line || stream_offset < range.begin) {
  WEIR_CHECK(options.buffer_bytes > 0);
  WEIR_CHECK(stream_offset <= range.begin);
}

LineReader::Step LineReader::refill(std::string_view& line) {
  scanned_ = filled_;
  if (!make_room()) {
    return fail({Errc::input_unreadable, "input '" + path_ + "' has no line end within " +
                                             std::to_string(options_.line_bytes_max) +
                                             " bytes from byte " + std::to_string(next_offset()) +
                                             "; pass a text file"});
  }
  const auto size = read_more();
  if (!size) return fail(size.error());
  if (*size == 0) return end_of_text(line);
  if (buffer_offset_ == 0 && scanned_ == 0 && looks_binary()) return Step::failed;
  if (is_seeking_) seek();
  return Step::refilled;
}

// Moves the line that has begun to the front of a buffer that has room behind it; false if the line
// is too long.
bool LineReader::make_room() {
  const std::size_t begun = filled_ - line_begin_;
  if (begun >= options_.line_bytes_max) return false;
  if (line_begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + line_begin_, begun);
  } else if (begun == capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(2 * capacity_);
    std::memcpy(larger.get(), buffer_.get(), begun);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  }
  buffer_offset_ += line_begin_;
  line_begin_ = 0;
  scanned_ = filled_ = begun;
  return true;
}

// Little more than the range, for others read what is behind it.
Result<std::size_t> LineReader::read_more() {
  const std::uint64_t position = buffer_offset_ + filled_;
  const std::uint64_t left_in_range = range_.end > position ? range_.end - position : 0;
  const auto useful = std::max<std::uint64_t>(left_in_range, inspected_bytes);
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(useful, capacity_ - filled_));
  auto got = bytes_->read(std::span(buffer_.get() + filled_, size));
  if (got) filled_ += *got;
  return got;
}

LineReader::Step LineReader::end_of_text(std::string_view& line) {
  const std::uint64_t position = buffer_offset_ + filled_;
  if (range_.end != LineRange::whole_text && position < range_.end) {
    return fail({Errc::input_unreadable,
                 "input '" + path_ + "' shrank while it was read: it ends at byte " +
                     std::to_string(position) + ", before byte " + std::to_string(range_.end) +
                     "; leave inputs alone until the job ends"});
  }
  if (is_seeking_ || line_begin_ == filled_) return Step::end;
  line = {buffer_.get() + line_begin_, filled_ - line_begin_};
  line_begin_ = scanned_ = filled_;
  return Step::line;
}

// Drops what is before the first line of the range.
void LineReader::seek() {
  if (buffer_offset_ + scanned_ < range_.begin) {
    const std::uint64_t before = range_.begin - buffer_offset_ - scanned_;
    scanned_ += static_cast<std::size_t>(std::min<std::uint64_t>(before, filled_ - scanned_));
  }
  const bool reached = buffer_offset_ + scanned_ >= range_.begin;
  is_seeking_ = !reached;
  if (reached && range_.begins_within_line) {
    const void* const newline = std::memchr(buffer_.get() + scanned_, '\n', filled_ - scanned_);
    is_seeking_ = newline == nullptr;
    scanned_ =
        is_seeking_
            ? filled_
            : static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.get()) + 1;
  }
  line_begin_ = scanned_;
}

bool LineReader::looks_binary() {
  const void* const nul = std::memchr(buffer_.get(), '\0', std::min(filled_, inspected_bytes));
  if (nul == nullptr) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(nul) - buffer_.get());
  (void)fail({Errc::input_unreadable, "input '" + path_ +
                                          "' looks like a binary file (NUL byte at offset " +
                                          std::to_string(offset) + "); pass a text file"});
  return true;
}

LineReader::Step LineReader::fail(Error error) {
  error_ = std::move(error);
  return Step::failed;
}

}  // namespace weir
