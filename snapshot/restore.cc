#include "snapshot/restore.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "base/check.h"
#include "snapshot/checkpoint_layout.h"
#include "snapshot/checksum.h"

namespace weir {
namespace {

// Positions in a list of items.
struct ItemRange {
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};

// Flink's round robin: consecutive items, as many for each; one more for the first ones if that does not come out even.
ItemRange share_of(std::uint64_t items, SubtaskIndex subtask, std::uint32_t parallelism) {
  const std::uint64_t base = items / parallelism;
  const std::uint64_t longer = items % parallelism;
  const std::uint64_t index = subtask.value;
  const std::uint64_t first = index * base + std::min(index, longer);
  return {.first = first, .end = first + base + (index < longer ? 1 : 0)};
}

// The state of that identity, which is added if it is missing.
template <class State>
State& find_or_add(std::vector<State>& states, const StateDescriptor& descriptor) {
  const auto at = std::ranges::find(states, descriptor, &State::descriptor);
  if (at != states.end()) return *at;
  State& added = states.emplace_back();
  added.descriptor = descriptor;
  return added;
}

class Restore {
 public:
  Restore(SnapshotStorage& storage, const StoredCheckpoint& checkpoint,
          const OperatorInManifest& op, const RestoreTarget& target)
      : storage_(storage), checkpoint_(checkpoint), op_(op), target_(target) {}

  Result<RestoredState> run() {
    for (const SubtaskInManifest& subtask : op_.subtasks) {
      for (const KeyedStateHandle& state : subtask.keyed) WEIR_TRY(add_keyed(subtask, state));
    }
    std::vector<StateDescriptor> names;
    for (const SubtaskInManifest& subtask : op_.subtasks) {
      for (const OperatorStateHandle& state : subtask.items) {
        if (std::ranges::find(names, state.descriptor) == names.end()) {
          names.push_back(state.descriptor);
        }
      }
    }
    for (const StateDescriptor& name : names) WEIR_TRY(add_items(name));
    return std::move(restored_);
  }

 private:
  // One instance's part of a list or broadcast state.
  struct Part {
    const SubtaskInManifest* subtask;
    const OperatorStateHandle* state;
  };

  Result<void> add_keyed(const SubtaskInManifest& subtask, const KeyedStateHandle& state) {
    if (target_.slice.max_parallelism != op_.max_parallelism) return max_parallelism_changed();
    RestoredKeyedState& restored = find_or_add(restored_.keyed, state.descriptor);
    std::vector<const KeyGroupChunk*> wanted;
    for (const KeyGroupChunk& group : state.groups) {
      if (target_.slice.range.contains(group.group)) wanted.push_back(&group);
    }
    for (auto group = wanted.begin(); group != wanted.end();) {
      const auto end = end_of_run(group, wanted.end());
      WEIR_TRY(add_groups(subtask, {group, end}, restored));
      group = end;
    }
    return {};
  }

  // Groups lie one behind the other, and are read at once: over a network each read costs more than its bytes.
  template <class At>
  static At end_of_run(At group, At end) {
    constexpr std::uint64_t bytes_max = 16 << 20;
    const std::uint64_t first = (*group)->chunk.offset;
    std::uint64_t next = first + (*group)->chunk.size;
    for (++group; group != end; ++group) {
      const StateChunk& chunk = (*group)->chunk;
      if (chunk.offset != next || chunk.size > bytes_max || next - first > bytes_max - chunk.size)
        break;
      next += chunk.size;
    }
    return group;
  }

  Result<void> add_groups(const SubtaskInManifest& subtask,
                          std::span<const KeyGroupChunk* const> groups,
                          RestoredKeyedState& restored) {
    const StateChunk& first = groups.front()->chunk;
    const StateChunk& last = groups.back()->chunk;
    const auto bytes = read(subtask, first, first.offset, last.offset + last.size - first.offset);
    if (!bytes) return bytes.error();
    for (const KeyGroupChunk* group : groups) {
      const auto entries =
          std::span(*bytes).subspan(group->chunk.offset - first.offset, group->chunk.size);
      if (checksum_of(entries) != group->chunk.checksum) return damaged(subtask, group->chunk);
      restored.groups.emplace_back(group->group, Bytes(entries.begin(), entries.end()));
    }
    return {};
  }

  Result<void> add_items(const StateDescriptor& descriptor) {
    OperatorStateItems& restored = find_or_add(restored_.items, descriptor);
    const std::vector<Part> parts = parts_of(descriptor);
    switch (descriptor.kind) {
      case StateKind::split_list:
        if (target_.parallelism == op_.parallelism) return add_own(descriptor, restored);
        return add_range(parts, share_of(items_in(parts), target_.subtask, target_.parallelism),
                         restored);
      case StateKind::broadcast:
        for (const Part& part : parts) {
          if (part.state->items > 0) return add_range({part}, {0, part.state->items}, restored);
        }
        return {};
      default:
        return add_range(parts, {0, items_in(parts)}, restored);
    }
  }

  Result<void> add_own(const StateDescriptor& descriptor, OperatorStateItems& restored) {
    const SubtaskInManifest& own = op_.subtasks[target_.subtask.value];
    const auto state = std::ranges::find(own.items, descriptor, &OperatorStateHandle::descriptor);
    if (state == own.items.end()) return {};
    return add_range({{&own, &*state}}, {0, state->items}, restored);
  }

  // Those items of the parts, taken as one list; parts without any of them are not read.
  Result<void> add_range(const std::vector<Part>& parts, ItemRange range,
                         OperatorStateItems& restored) {
    std::uint64_t position = 0;
    for (const Part& part : parts) {
      const std::uint64_t end = position + part.state->items;
      if (position < range.end && range.first < end) {
        auto items = read_items(part);
        if (!items) return items.error();
        for (Bytes& item : *items) {
          if (position >= range.first && position < range.end) {
            restored.items.push_back(std::move(item));
          }
          ++position;
        }
      }
      position = end;
    }
    return {};
  }

  Result<std::vector<Bytes>> read_items(const Part& part) {
    const auto bytes = read(*part.subtask, part.state->chunk);
    if (!bytes) return bytes.error();
    ByteReader reader(*bytes);
    std::vector<Bytes> items;
    for (std::uint32_t i = 0; i < part.state->items && reader.ok(); ++i) {
      const auto item = reader.block();
      items.emplace_back(item.begin(), item.end());
    }
    if (!reader.at_end()) reader.fail("the end of the state's items");
    if (!reader.ok()) {
      return Error{Errc::corrupt_data, path_of(*part.subtask) + ": " + reader.error().message};
    }
    return items;
  }

  Result<Bytes> read(const SubtaskInManifest& subtask, const StateChunk& chunk) {
    auto bytes = read(subtask, chunk, chunk.offset, chunk.size);
    if (bytes && checksum_of(*bytes) != chunk.checksum) return damaged(subtask, chunk);
    return bytes;
  }

  // Bytes that begin with the chunk.
  Result<Bytes> read(const SubtaskInManifest& subtask, const StateChunk& chunk,
                     std::uint64_t offset, std::uint64_t size) {
    if (subtask.file >= checkpoint_.manifest.files.size()) return damaged(subtask, chunk);
    const StateFile& file = checkpoint_.manifest.files[subtask.file];
    if (!file.name.empty())
      return storage_.read(checkpoint_.directory + '/' + file.name, offset, size);
    const std::span<const std::byte> all = file.inline_bytes;
    if (offset > all.size() || size > all.size() - offset) return damaged(subtask, chunk);
    const auto part = all.subspan(offset, size);
    return Bytes(part.begin(), part.end());
  }

  [[nodiscard]] Error damaged(const SubtaskInManifest& subtask, const StateChunk& chunk) const {
    return {Errc::corrupt_data, path_of(subtask) + " is damaged: the checksum of the " +
                                    std::to_string(chunk.size) + " bytes of '" + op_.name +
                                    "' from byte " + std::to_string(chunk.offset) +
                                    " does not match"};
  }

  [[nodiscard]] Error max_parallelism_changed() const {
    const std::string was = std::to_string(op_.max_parallelism);
    return {Errc::bad_option,
            "'" + op_.name + "' has maximum parallelism " +
                std::to_string(target_.slice.max_parallelism) + " now and had " + was +
                " in checkpoint " + std::to_string(checkpoint_.manifest.id.value) +
                ": its keyed state cannot be restored so; give --max-parallelism " + was};
  }

  // For messages.
  [[nodiscard]] std::string path_of(const SubtaskInManifest& subtask) const {
    const auto& files = checkpoint_.manifest.files;
    const bool in_file = subtask.file < files.size() && !files[subtask.file].name.empty();
    return storage_.root() + '/' + checkpoint_.directory + '/' +
           (in_file ? files[subtask.file].name : std::string(manifest_name));
  }

  [[nodiscard]] std::vector<Part> parts_of(const StateDescriptor& descriptor) const {
    std::vector<Part> parts;
    for (const SubtaskInManifest& subtask : op_.subtasks) {
      for (const OperatorStateHandle& state : subtask.items) {
        if (state.descriptor == descriptor) parts.push_back({&subtask, &state});
      }
    }
    return parts;
  }

  static std::uint64_t items_in(const std::vector<Part>& parts) {
    std::uint64_t sum = 0;
    for (const Part& part : parts) sum += part.state->items;
    return sum;
  }

  SnapshotStorage& storage_;
  const StoredCheckpoint& checkpoint_;
  const OperatorInManifest& op_;
  const RestoreTarget& target_;
  RestoredState restored_;
};

Result<StoredCheckpoint> whole_checkpoint(SnapshotStorage& storage, const std::string& directory) {
  auto checkpoint = read_manifest(storage, directory);
  if (!checkpoint) {
    if (checkpoint.error().code != Errc::input_missing) return checkpoint.error();
    return Error{Errc::input_missing, storage.root() + '/' + directory + " has no " +
                                          std::string(manifest_name) + ": it was never completed"};
  }
  WEIR_TRY(check_files(storage, *checkpoint));
  return checkpoint;
}

}  // namespace

Result<RestoredState> restored_state(SnapshotStorage& storage, const StoredCheckpoint& checkpoint,
                                     const RestoreTarget& target) {
  WEIR_CHECK(target.subtask.value < target.parallelism);
  const OperatorInManifest* op = checkpoint.manifest.find(target.operator_name);
  if (op == nullptr) return RestoredState{};
  return Restore(storage, checkpoint, *op, target).run();
}

Result<LatestCheckpoint> latest_whole(SnapshotStorage& storage, const std::string& job_directory,
                                      const std::map<CheckpointId, Error>& damaged,
                                      std::optional<JobId> job) {
  const auto entries = storage.list(job_directory);
  if (!entries) {
    if (entries.error().code == Errc::input_missing) return LatestCheckpoint{};
    return entries.error();
  }
  std::vector<CheckpointId> ids;
  for (const StorageEntry& entry : *entries) {
    const auto id = checkpoint_of(entry.name);
    if (entry.is_directory && id) ids.push_back(*id);
  }
  std::ranges::sort(ids, std::ranges::greater{});
  LatestCheckpoint latest;
  for (const CheckpointId id : ids) {
    const std::string directory = checkpoint_directory_in(job_directory, id);
    const auto known = damaged.find(id);
    auto checkpoint = known == damaged.end() ? whole_checkpoint(storage, directory)
                                             : Result<StoredCheckpoint>(known->second);
    if (checkpoint && job && checkpoint->manifest.job != *job) {
      checkpoint = Error{Errc::corrupt_data, "its manifest is that of job " +
                                                 weir::job_directory(checkpoint->manifest.job) +
                                                 ": it has been moved here"};
    }
    if (checkpoint) {
      latest.checkpoint = *std::move(checkpoint);
      break;
    }
    latest.passed_over.push_back({.directory = directory, .reason = checkpoint.error()});
  }
  return latest;
}

Result<LatestCheckpoint> checkpoint_in(SnapshotStorage& storage, const std::string& directory) {
  const std::string path = storage.root() + '/' + directory;
  const auto entries = storage.list(directory);
  if (!entries) {
    if (entries.error().code != Errc::input_missing) return entries.error();
    return Error{Errc::input_missing, "there is no directory " + path};
  }
  const bool is_checkpoint =
      checkpoint_of_path(directory).has_value() ||
      std::ranges::find(*entries, manifest_name, &StorageEntry::name) != entries->end();
  if (is_checkpoint) {
    auto checkpoint = whole_checkpoint(storage, directory);
    if (!checkpoint) return checkpoint.error();
    return LatestCheckpoint{.checkpoint = *std::move(checkpoint)};
  }
  auto latest = latest_whole(storage, directory);
  if (!latest || latest->checkpoint) return latest;
  if (!latest->passed_over.empty()) return latest->passed_over.front().reason;
  return Error{Errc::input_missing, path +
                                        " holds no checkpoint: give the directory of one (chk-N), "
                                        "or the job's, which has them"};
}

}  // namespace weir
