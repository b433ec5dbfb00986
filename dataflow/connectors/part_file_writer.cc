#include "dataflow/connectors/part_file_writer.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "base/random.h"

namespace weir {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t buffer_bytes_max = std::size_t{256} * 1024;
// Bounds memory and open files of a writer whose records are scattered over many buckets.
constexpr std::size_t active_parts_max = 64;
// Of finished files that wait to be synced; with more, the writer syncs them itself.
constexpr std::size_t open_unsynced_max = 2 * active_parts_max;

// False if the system fails, which errno tells.
bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

PartFileWriter::PartFileWriter(std::string directory, SubtaskIndex subtask, PartFileOptions options)
    : directory_(std::move(directory)),
      writer_{.subtask = subtask, .attempt = fresh_seed()},
      options_(std::move(options)) {}

PartFileWriter::~PartFileWriter() {
  for (const auto& [bucket, part] : parts_) {
    if (part.made && !part.in_snapshot) remove(part.file);
  }
  for (const FinishedPart& part : finished_) {
    if (!part.in_snapshot) remove(part.file);
  }
}

Result<void> PartFileWriter::restore(const PartFileWriterState& state) {
  WEIR_CHECK(parts_.empty());
  has_checkpoints_ = true;
  next_number_ = std::max(next_number_, state.next_number);
  for (const PartFile& file : state.in_progress) WEIR_TRY(finish_restored(file));
  return {};
}

std::optional<ProcessingTime> PartFileWriter::next_roll() const {
  if (!has_checkpoints_ || rolls_from_ == ProcessingTime::max()) return std::nullopt;
  return rolls_from_;
}

Result<void> PartFileWriter::roll_by_time(ProcessingTime now) {
  now_ = now;
  const RollingPolicy& rolling = options_.rolling;
  WEIR_TRY(finish_parts(
      [&](const Part& part) { return rolling.rolls_at_time(now, part.first_row, part.last_row); }));
  rolls_from_ = ProcessingTime::max();
  for (const auto& [bucket, part] : parts_) {
    rolls_from_ = std::min(rolls_from_, rolling.rolls_from(part.first_row, part.last_row));
  }
  return {};
}

Result<std::vector<PartFile>> PartFileWriter::prepare_commit() {
  WEIR_TRY(roll_at_checkpoint());
  std::vector<PartFile> files;
  for (FinishedPart& part : std::exchange(finished_, {})) files.push_back(std::move(part.file));
  return files;
}

Result<PartFileWriterState> PartFileWriter::snapshot() {
  WEIR_TRY(roll_at_checkpoint());
  PartFileWriterState state{.in_progress = {}, .next_number = next_number_};
  for (auto& [bucket, part] : parts_) {
    WEIR_TRY(flush_to_sync_later(part));
    part.in_snapshot = true;
    state.in_progress.push_back(part.file);
  }
  return state;
}

Result<void> PartFileWriter::finish() {
  return finish_parts([](const Part&) { return true; });
}

// Depends on nothing but the rows, so that snapshot() and prepare_commit() agree.
Result<void> PartFileWriter::roll_at_checkpoint() {
  has_checkpoints_ = true;
  return finish_parts([&](const Part& part) {
    return options_.rolling.rolls_at_checkpoint(part.file.bytes + part.buffer.size());
  });
}

void PartFileWriter::begin_part() {
  Part& part = parts_[bucket_];
  part.file = part_file(writer_, next_number_++, bucket_);
  part.first_row = now_;
  part.last_row = now_;
  part.buffer = options_.header;
  activate(part);
  rolls_from_ = std::min(rolls_from_, options_.rolling.rolls_from(now_, now_));
  current_ = &part;
}

void PartFileWriter::activate(Part& part) {
  if (!std::exchange(part.active, true)) ++active_parts_;
  part.buffer_full_at = buffer_limit(part);
}

Result<void> PartFileWriter::change_bucket(const std::string& bucket) {
  bucket_ = bucket;
  const auto found = parts_.find(bucket);
  current_ = found == parts_.end() ? nullptr : &found->second;
  if (current_ != nullptr && current_->active) return {};
  if (active_parts_ == active_parts_max) WEIR_TRY(rest_all());
  if (current_ != nullptr) activate(*current_);
  return {};
}

Result<void> PartFileWriter::rest_all() {
  for (auto& [bucket, part] : parts_) {
    if (!std::exchange(part.active, false)) continue;
    WEIR_TRY(flush(part));
    part.buffer = {};
    if (part.descriptor.close() != 0) return failed("close", part.file);
  }
  active_parts_ = 0;
  return {};
}

Result<void> PartFileWriter::make_room() {
  Part& part = *current_;
  if (options_.rolling.rolls_at_row(part.file.bytes + part.buffer.size())) {
    WEIR_TRY(finish_part(part));
    current_ = nullptr;
    parts_.erase(bucket_);
    return {};
  }
  WEIR_TRY(flush(part));
  part.buffer_full_at = buffer_limit(part);
  return {};
}

std::size_t PartFileWriter::buffer_limit(const Part& part) const {
  if (options_.rolling.at_every_checkpoint) return buffer_bytes_max;
  const std::uint64_t limit = options_.rolling.part_bytes_max;
  const std::uint64_t room = limit - std::min(limit, part.file.bytes);
  return static_cast<std::size_t>(std::min<std::uint64_t>(room, buffer_bytes_max)) + 1;
}

Result<void> PartFileWriter::flush(Part& part) {
  if (part.buffer.empty()) return {};
  WEIR_TRY(open(part));
  part.unsynced = true;
  if (!write_all(part.descriptor.get(), part.buffer)) return failed("write", part.file);
  part.file.bytes += part.buffer.size();
  part.buffer.clear();
  return {};
}

Result<void> PartFileWriter::open(Part& part) {
  if (part.descriptor.is_open()) return {};
  const std::string bucket = bucket_of(part.file.hidden_name);
  if (!part.made) WEIR_TRY(make_bucket(bucket));
  const int create = part.made ? 0 : O_CREAT | O_EXCL;
  part.descriptor = FileDescriptor(::open(path_of(part.file.hidden_name).c_str(),
                                          O_WRONLY | O_APPEND | O_CLOEXEC | create, 0666));
  if (!part.descriptor.is_open()) return failed(part.made ? "open" : "create", part.file);
  if (std::exchange(part.made, true)) return {};
  // Its directory, and those above it, which may have been made for it.
  for (std::string above = bucket; !above.empty(); above = bucket_of(above))
    unsynced_.add_directory(path_of(above));
  unsynced_.add_directory(directory_);
  return {};
}

// Never the output directory itself: once that has gone, so has the job.
Result<void> PartFileWriter::make_bucket(const std::string& bucket) const {
  fs::path path = directory_;
  for (const fs::path& name : fs::path(bucket)) {
    path /= name;
    std::error_code error;
    fs::create_directory(path, error);
    if (error) return output_error("make", path.string(), error);
  }
  return {};
}

// By a second descriptor: rows follow by the first.
Result<void> PartFileWriter::flush_to_sync_later(Part& part) {
  WEIR_TRY(flush(part));
  if (!std::exchange(part.unsynced, false)) return {};
  FileDescriptor second;
  if (part.descriptor.is_open())
    second = FileDescriptor(::fcntl(part.descriptor.get(), F_DUPFD_CLOEXEC, 0));
  unsynced_.add(path_of(part.file.hidden_name), std::move(second));
  return {};
}

template <class Rolls>
Result<void> PartFileWriter::finish_parts(Rolls rolls) {
  for (auto part = parts_.begin(); part != parts_.end();) {
    if (!rolls(part->second)) {
      ++part;
      continue;
    }
    WEIR_TRY(finish_part(part->second));
    if (current_ == &part->second) current_ = nullptr;
    part = parts_.erase(part);
  }
  return {};
}

Result<void> PartFileWriter::finish_part(Part& part) {
  WEIR_TRY(flush(part));
  finished_.push_back({part.file, part.in_snapshot});
  if (std::exchange(part.active, false)) --active_parts_;
  part.made = false;  // finished_ has it
  if (std::exchange(part.unsynced, false)) {
    unsynced_.add(path_of(part.file.hidden_name), std::move(part.descriptor));
    if (unsynced_.open_files() > open_unsynced_max) WEIR_TRY(unsynced_.sync());
  }
  if (part.descriptor.close() != 0) return failed("close", part.file);
  return {};
}

Result<void> PartFileWriter::finish_restored(const PartFile& file) {
  const std::string path = path_of(file.hidden_name);
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (error == std::errc::no_such_file_or_directory) {
    return output_lost("go on with", path,
                       error.message() +
                           ": the output must be that of the job that took the checkpoint, and "
                           "nobody may have gone on from there since");
  }
  if (error) return output_error("go on with", path, error);
  if (size < file.bytes) {
    return output_lost("go on with", path,
                       "it has " + std::to_string(size) + " bytes, fewer than the " +
                           std::to_string(file.bytes) + " of the checkpoint; something changed it");
  }
  const std::string copy = path_of(as_written_by(writer_, file.hidden_name));
  WEIR_TRY(copy_beginning(file, path, copy));
  fs::rename(copy, path, error);
  if (error) return output_error("go on with", path, error);
  finished_.push_back({file, true});
  return {};
}

// A process that is frozen, not dead, may have the file open and append to it when it thaws: its file is not the one that
// will be shown.
Result<void> PartFileWriter::copy_beginning(const PartFile& file, const std::string& from,
                                            const std::string& to) const {
  const FileDescriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in.is_open()) return failed("open", file);
  const FileDescriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!out.is_open()) return failed("copy", file);
  std::vector<char> buffer(std::min<std::uint64_t>(file.bytes, buffer_bytes_max));
  for (std::uint64_t left = file.bytes; left > 0;) {
    const ssize_t got =
        ::read(in.get(), buffer.data(), std::min<std::uint64_t>(left, buffer.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", file);
    if (got == 0) return output_lost("go on with", from, "it became shorter while it was copied");
    if (!write_all(out.get(), {buffer.data(), static_cast<std::size_t>(got)}))
      return failed("copy", file);
    left -= static_cast<std::uint64_t>(got);
  }
  return ::fsync(out.get()) == 0 ? Result<void>{} : failed("sync", file);
}

void PartFileWriter::remove(const PartFile& file) const {
  std::error_code error;  // if it fails, the committer tries again
  fs::remove(path_of(file.hidden_name), error);
}

std::string PartFileWriter::path_of(const std::string& name) const {
  return (fs::path(directory_) / name).string();
}

Error PartFileWriter::failed(const std::string& what, const PartFile& file) const {
  return output_error(what, path_of(file.hidden_name), {errno, std::generic_category()});
}

}  // namespace weir
