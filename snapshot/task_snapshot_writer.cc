#include "snapshot/task_snapshot_writer.h"

#include <exception>
#include <memory>
#include <utility>

#include "base/error_text.h"
#include "snapshot/checksum.h"

namespace weir {
namespace {

// Fewer and larger writes: groups are often small.
constexpr std::size_t write_bytes = 256 * 1024;

// The bytes of a task's state: kept here as long as they may become inline, then written behind each other.
class StateFileWriter {
 public:
  StateFileWriter(SnapshotStorage& storage, const std::string& directory, const std::string& name,
                  std::uint64_t inline_threshold_bytes, std::stop_token stop)
      : storage_(storage),
        directory_(directory),
        name_(name),
        inline_threshold_bytes_(inline_threshold_bytes),
        stop_(std::move(stop)) {}

  Result<StateChunk> append(std::span<const std::byte> bytes) {
    WEIR_TRY(check_wanted());
    const StateChunk chunk{.offset = size_, .size = bytes.size(), .checksum = checksum_of(bytes)};
    size_ += bytes.size();
    waiting_.insert(waiting_.end(), bytes.begin(), bytes.end());
    if (size_ > inline_threshold_bytes_ && waiting_.size() >= write_bytes) WEIR_TRY(flush());
    return chunk;
  }

  Result<StateFile> finish() {
    if (size_ <= inline_threshold_bytes_) {
      return StateFile{.size = size_, .inline_bytes = std::move(waiting_)};
    }
    WEIR_TRY(check_wanted());
    WEIR_TRY(flush());
    WEIR_TRY(file_->close());
    return StateFile{.name = name_, .size = size_};
  }

 private:
  Result<void> check_wanted() const {
    if (stop_.stop_requested())
      return Error{Errc::cancelled, "its task has ended before its state was written"};
    return {};
  }

  Result<void> flush() {
    if (!file_) {
      WEIR_TRY(storage_.make_directories(directory_));
      auto file = storage_.create(directory_ + '/' + name_);
      if (!file) return file.error();
      file_ = *std::move(file);
    }
    WEIR_TRY(file_->write(waiting_));
    waiting_.clear();
    return {};
  }

  SnapshotStorage& storage_;
  const std::string& directory_;
  const std::string& name_;
  std::uint64_t inline_threshold_bytes_;
  std::stop_token stop_;
  std::unique_ptr<SnapshotFile> file_;  // once it is certain that there is one
  Bytes waiting_;
  std::uint64_t size_ = 0;
};

Result<KeyedStateHandle> write_keyed(FrozenKeyedState& state, StateFileWriter& file) {
  KeyedStateHandle handle{.descriptor = state.descriptor()};
  const KeyGroupRange range = state.slice().range;
  Bytes entries;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const KeyGroup group{range.first.value + i};
    entries.clear();
    ByteWriter writer(entries);
    state.write_group(group, writer);
    if (entries.empty()) continue;
    const auto chunk = file.append(entries);
    if (!chunk) return chunk.error();
    handle.groups.push_back({.group = group, .chunk = *chunk});
  }
  return handle;
}

Result<OperatorStateHandle> write_items(const OperatorStateItems& state, StateFileWriter& file) {
  Bytes items;
  ByteWriter writer(items);
  for (const Bytes& item : state.items) writer.block(item);
  const auto chunk = file.append(items);
  if (!chunk) return chunk.error();
  return OperatorStateHandle{.descriptor = state.descriptor,
                             .items = static_cast<std::uint32_t>(state.items.size()),
                             .chunk = *chunk};
}

Result<OperatorSnapshot> write_operator(const OperatorFrozen& frozen, StateFileWriter& file) {
  OperatorSnapshot snapshot{.operator_name = frozen.operator_name,
                            .subtask = frozen.subtask,
                            .parallelism = frozen.parallelism,
                            .max_parallelism = frozen.max_parallelism};
  for (const auto& state : frozen.state.keyed) {
    auto handle = write_keyed(*state, file);
    if (!handle) return handle.error();
    snapshot.keyed.push_back(*std::move(handle));
  }
  for (const OperatorStateItems& state : frozen.state.items) {
    auto handle = write_items(state, file);
    if (!handle) return handle.error();
    snapshot.items.push_back(*std::move(handle));
  }
  return snapshot;
}

}  // namespace

std::string state_file_name(SnapshotTaskId task, AttemptId attempt) {
  return "task-" + std::to_string(task.vertex.value) + '-' + std::to_string(task.subtask.value) +
         "-attempt-" + std::to_string(attempt.value);
}

Result<TaskSnapshot> write_task_snapshot(SnapshotStorage& storage, const std::string& directory,
                                         const std::string& file_name,
                                         std::vector<OperatorFrozen> operators,
                                         std::uint64_t inline_threshold_bytes,
                                         std::stop_token stop) {
  StateFileWriter file(storage, directory, file_name, inline_threshold_bytes, std::move(stop));
  TaskSnapshot snapshot;
  for (OperatorFrozen& frozen : operators) {
    // Keys and values are encoded here, by what may be the user's code.
    try {
      auto written = write_operator(frozen, file);
      if (!written) return written.error();
      snapshot.operators.push_back(*std::move(written));
    } catch (const std::exception& e) {
      return shortened({Errc::user_code,
                        "encoding the state of " + frozen.operator_name + " threw: " + e.what()});
    } catch (...) {
      return Error{Errc::user_code, "encoding the state of " + frozen.operator_name +
                                        " threw something that is no std::exception"};
    }
    frozen.state = {};  // its memory is not needed until the last operator is written
  }
  auto finished = file.finish();
  if (!finished) return finished.error();
  snapshot.file = *std::move(finished);
  return snapshot;
}

}  // namespace weir
