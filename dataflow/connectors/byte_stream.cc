#include "dataflow/connectors/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/file_descriptor.h"
#include "base/system_error.h"

namespace weir {
namespace {

class PlainStream final : public ByteStream {
 public:
  PlainStream(FileDescriptor file, std::string path, std::uint64_t offset)
      : file_(std::move(file)), path_(std::move(path)), position_(offset) {}

  [[nodiscard]] Result<std::size_t> read(std::span<char> into) override {
    std::size_t filled = 0;
    while (filled < into.size()) {
      const ssize_t got = ::pread(file_.get(), into.data() + filled, into.size() - filled,
                                  static_cast<off_t>(position_));
      if (got == 0) break;
      if (got < 0) {
        if (errno == EINTR) continue;
        return Error{Errc::input_unreadable, "cannot read input '" + path_ + "' at byte " +
                                                 std::to_string(position_) + ": " +
                                                 last_system_reason()};
      }
      filled += static_cast<std::size_t>(got);
      position_ += static_cast<std::uint64_t>(got);
    }
    return filled;
  }

  [[nodiscard]] std::uint64_t file_position() const override { return position_; }

 private:
  FileDescriptor file_;
  std::string path_;
  std::uint64_t position_;
};

class GzipStream final : public ByteStream {
 public:
  GzipStream(std::unique_ptr<ByteStream> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)), compressed_(std::size_t{64} * 1024) {
    constexpr int gzip_with_any_window = 15 + 16;
    WEIR_CHECK(inflateInit2(&state_, gzip_with_any_window) ==
               Z_OK);  // fails for lack of memory only
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;
  ~GzipStream() override { inflateEnd(&state_); }

  [[nodiscard]] Result<std::size_t> read(std::span<char> into) override {
    constexpr std::size_t most = std::numeric_limits<uInt>::max();
    const std::size_t wanted = std::min(into.size(), most);
    state_.next_out = reinterpret_cast<Bytef*>(into.data());
    state_.avail_out = static_cast<uInt>(wanted);
    while (state_.avail_out > 0) {
      const auto fed = feed();
      if (!fed) return fed.error();
      if (!*fed) break;
      WEIR_TRY(decompress());
    }
    return wanted - state_.avail_out;
  }

  [[nodiscard]] std::uint64_t file_position() const override {
    return file_->file_position() - state_.avail_in;
  }

 private:
  // False at the end of the last member.
  [[nodiscard]] Result<bool> feed() {
    if (state_.avail_in > 0) return true;
    const auto size = file_->read(compressed_);
    if (!size) return size.error();
    state_.next_in = reinterpret_cast<Bytef*>(compressed_.data());
    state_.avail_in = static_cast<uInt>(*size);
    if (*size == 0 && within_member_) {
      return Error{Errc::input_unreadable,
                   "input '" + path_ + "' is truncated: its gzip data is incomplete at byte " +
                       std::to_string(file_position()) + "; fetch the file again"};
    }
    return *size > 0;
  }

  [[nodiscard]] Result<void> decompress() {
    within_member_ = true;
    const int status = inflate(&state_, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      within_member_ = false;
      WEIR_CHECK(inflateReset(&state_) == Z_OK);
    } else if (status != Z_OK) {
      return Error{Errc::input_unreadable,
                   "input '" + path_ + "' is damaged: its gzip data makes no sense at byte " +
                       std::to_string(file_position()) + " (" +
                       (state_.msg != nullptr ? state_.msg : zError(status)) +
                       "); fetch the file again"};
    }
    return {};
  }

  std::unique_ptr<ByteStream> file_;
  std::string path_;
  std::vector<char> compressed_;
  z_stream state_{};
  bool within_member_ = true;  // a member has begun, or the first one is still to come
};

}  // namespace

Result<std::unique_ptr<ByteStream>> open_file(const std::string& path, std::uint64_t offset) {
  FileDescriptor file = open_to_read(path);
  if (!file.is_open()) {
    const bool vanished = errno == ENOENT;
    return Error{vanished ? Errc::input_missing : Errc::input_unreadable,
                 "input '" + path +
                     (vanished ? "' vanished before it was read: " : "' cannot be opened: ") +
                     last_system_reason()};
  }
  (void)::posix_fadvise(file.get(), 0, 0,
                        POSIX_FADV_SEQUENTIAL);  // read ahead further; only a hint
  return std::unique_ptr<ByteStream>(std::make_unique<PlainStream>(std::move(file), path, offset));
}

Result<std::unique_ptr<ByteStream>> open_gzip_file(const std::string& path) {
  auto file = open_file(path, 0);
  if (!file) return file.error();
  return std::unique_ptr<ByteStream>(std::make_unique<GzipStream>(*std::move(file), path));
}

}  // namespace weir
