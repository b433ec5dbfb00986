#include "actors/restore_point.h"

#include <algorithm>
#include <utility>

#include "snapshot/restore.h"

namespace weir {

Error RestorePoint::about(Error error) {
  if (error.code == Errc::corrupt_data) error.code = Errc::checkpoint_damaged;
  return error;
}

Result<RestorePoint> RestorePoint::read(std::shared_ptr<SnapshotStorage> storage,
                                        const std::string& directory) {
  auto checkpoint = read_manifest(*storage, directory);
  if (!checkpoint) return about(checkpoint.error());
  RestorePoint point;
  point.content_ = std::make_shared<Content>(Content{std::move(storage), *std::move(checkpoint)});
  return point;
}

Result<RestoredState> RestorePoint::state_of(const std::string& operator_name, SubtaskIndex subtask,
                                             std::uint32_t parallelism,
                                             const KeyGroupSlice& keys) const {
  return restored_state(*content_->storage, content_->checkpoint,
                        {operator_name, subtask, parallelism, keys});
}

bool RestorePoint::has_finished(const std::vector<std::string>& operators, SubtaskIndex subtask,
                                std::uint32_t parallelism) const {
  return std::ranges::all_of(operators, [&](const std::string& name) {
    const OperatorInManifest* found = content_->checkpoint.manifest.find(name);
    if (found == nullptr) return false;
    if (found->parallelism == parallelism) return found->subtasks[subtask.value].finished;
    return std::ranges::all_of(found->subtasks, &SubtaskInManifest::finished);
  });
}

bool RestorePoint::knows(const std::string& operator_name) const {
  return content_ != nullptr && content_->checkpoint.manifest.find(operator_name) != nullptr;
}

const Bytes* RestorePoint::coordinator_state(const std::string& operator_name) const {
  if (content_ == nullptr) return nullptr;
  const OperatorInManifest* found = content_->checkpoint.manifest.find(operator_name);
  return found == nullptr || !found->coordinator ? nullptr : &*found->coordinator;
}

std::vector<Committable> RestorePoint::committables(const std::string& operator_name) const {
  std::vector<Committable> committables;
  const OperatorInManifest* found = content_->checkpoint.manifest.find(operator_name);
  if (found == nullptr) return committables;
  for (const Bytes& bytes : found->committables) committables.push_back({bytes});
  return committables;
}

}  // namespace weir
