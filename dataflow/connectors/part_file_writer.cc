#include "dataflow/connectors/part_file_writer.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/random.h"

namespace weir {
namespace {

constexpr std::size_t buffer_bytes_max = std::size_t{256} * 1024;

}  // namespace

PartFileWriter::PartFileWriter(std::string directory, SubtaskIndex subtask, PartFileOptions options)
    : directory_(std::move(directory)),
      writer_{.subtask = subtask, .attempt = fresh_seed()},
      options_(std::move(options)) {
  begin_part();
}

PartFileWriter::~PartFileWriter() {
  if (file_.is_open()) finished_.push_back(part_);
  for (const PartFile& part : finished_) {
    std::error_code error;
    std::filesystem::remove(path_of(part), error);  // if it fails, the committer tries again
  }
}

Result<std::vector<PartFile>> PartFileWriter::finish() {
  WEIR_TRY(finish_part());
  return std::exchange(finished_, {});
}

void PartFileWriter::begin_part() {
  part_ = part_file(writer_, number_++);
  buffer_ = options_.header;
  buffer_full_at_ = buffer_limit();
}

Result<void> PartFileWriter::make_room() {
  if (part_.bytes + buffer_.size() > options_.part_bytes_max) return finish_part();
  WEIR_TRY(flush());
  buffer_full_at_ = buffer_limit();
  return {};
}

std::size_t PartFileWriter::buffer_limit() const {
  const std::uint64_t room = options_.part_bytes_max - part_.bytes;
  return static_cast<std::size_t>(std::min<std::uint64_t>(room, buffer_bytes_max)) + 1;
}

Result<void> PartFileWriter::flush() {
  if (!file_.is_open()) WEIR_TRY(create());
  const char* from = buffer_.data();
  std::size_t left = buffer_.size();
  while (left > 0) {
    const ssize_t written = ::write(file_.get(), from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed("write");
    from += written;
    left -= static_cast<std::size_t>(written);
  }
  part_.bytes += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> PartFileWriter::create() {
  file_ =
      FileDescriptor(::open(path_of(part_).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_.is_open()) return failed("create");
  return {};
}

Result<void> PartFileWriter::finish_part() {
  if (!part_has_rows()) return {};
  WEIR_TRY(flush());
  if (::fsync(file_.get()) != 0) return failed("sync");
  finished_.push_back(part_);
  if (file_.close() != 0) return failed("close");
  begin_part();
  return {};
}

bool PartFileWriter::part_has_rows() const {
  return part_.bytes + buffer_.size() > options_.header.size();
}

std::string PartFileWriter::path_of(const PartFile& part) const {
  return (std::filesystem::path(directory_) / part.hidden_name).string();
}

Error PartFileWriter::failed(const std::string& what) const {
  return output_failed(what, path_of(part_), last_system_reason());
}

}  // namespace weir
