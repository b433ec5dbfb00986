#include "snapshot/retention.h"

#include <algorithm>

#include "snapshot/checkpoint_layout.h"

namespace weir {

bool outlives_job(ExternalizedRetention retention, JobEnd end) {
  switch (retention) {
    case ExternalizedRetention::none:
      return false;
    case ExternalizedRetention::delete_on_cancellation:
      return end == JobEnd::failed;
    case ExternalizedRetention::retain_on_cancellation:
      return end != JobEnd::finished;
  }
  return false;
}

Result<std::vector<FoundCheckpoint>> find_checkpoints(SnapshotStorage& storage,
                                                      const std::string& job_directory) {
  std::vector<FoundCheckpoint> found;
  const auto entries = storage.list(job_directory);
  if (!entries) {
    if (entries.error().code == Errc::input_missing) return found;
    return entries.error();
  }
  for (const StorageEntry& entry : *entries) {
    const auto id = checkpoint_of(entry.name);
    if (!entry.is_directory || !id) continue;
    const std::string manifest =
        checkpoint_directory_in(job_directory, *id) + '/' + std::string(manifest_name);
    found.push_back({.id = *id, .complete = storage.size(manifest).has_value()});
  }
  std::ranges::sort(found, {}, &FoundCheckpoint::id);
  return found;
}

std::vector<CheckpointId> dispensable(const std::vector<FoundCheckpoint>& found,
                                      std::uint32_t retained,
                                      const std::set<CheckpointId>& under_way) {
  std::vector<CheckpointId> removed;
  std::uint32_t kept = 0;
  for (auto at = found.rbegin(); at != found.rend(); ++at) {
    if (under_way.contains(at->id)) continue;
    if (at->complete && kept < retained) {
      ++kept;
    } else {
      removed.push_back(at->id);
    }
  }
  std::ranges::reverse(removed);
  return removed;
}

Result<void> remove_dispensable(SnapshotStorage& storage, const std::string& job_directory,
                                std::uint32_t retained, const std::set<CheckpointId>& under_way) {
  const auto found = find_checkpoints(storage, job_directory);
  if (!found) return found.error();
  Result<void> result;
  for (const CheckpointId id : dispensable(*found, retained, under_way)) {
    const auto removed = remove_checkpoint(storage, checkpoint_directory_in(job_directory, id));
    if (!removed && result) result = removed;
  }
  return result;
}

Result<void> remove_checkpoint(SnapshotStorage& storage, const std::string& directory) {
  WEIR_TRY(storage.remove(directory + '/' + std::string(manifest_name)));
  return storage.remove(directory);
}

Result<void> clean_up_after_job(SnapshotStorage& storage, const std::string& job_directory,
                                const CheckpointSettings& settings, JobEnd end) {
  const std::uint32_t retained = outlives_job(settings.externalized, end) ? settings.retained : 0;
  WEIR_TRY(remove_dispensable(storage, job_directory, retained, {}));
  const auto left = find_checkpoints(storage, job_directory);
  if (!left) return left.error();
  if (left->empty()) return storage.remove(job_directory);
  return {};
}

}  // namespace weir
