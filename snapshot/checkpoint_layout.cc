#include "snapshot/checkpoint_layout.h"

#include <charconv>

namespace weir {
namespace {

constexpr std::string_view checkpoint_prefix = "chk-";

}  // namespace

std::string job_directory(JobId job) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string name(16, '0');
  for (std::size_t i = 0; i < name.size(); ++i) {
    name[name.size() - 1 - i] = digits[job.value >> (4 * i) & 15U];
  }
  return name;
}

std::string checkpoint_directory(JobId job, CheckpointId id) {
  return checkpoint_directory_in(job_directory(job), id);
}

std::string checkpoint_directory_in(const std::string& job_directory, CheckpointId id) {
  return job_directory + '/' + std::string(checkpoint_prefix) + std::to_string(id.value);
}

std::optional<CheckpointId> checkpoint_of_path(std::string_view path) {
  return checkpoint_of(path.substr(path.rfind('/') + 1));
}

std::optional<CheckpointId> checkpoint_of(std::string_view name) {
  if (!name.starts_with(checkpoint_prefix)) return std::nullopt;
  name.remove_prefix(checkpoint_prefix.size());
  CheckpointId id;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id.value);
  // Only as we write it, so that two names never mean one checkpoint.
  if (error != std::errc{} || std::to_string(id.value) != name) return std::nullopt;
  return id;
}

Result<void> make_job_directories(SnapshotStorage& storage, JobId job) {
  WEIR_TRY(storage.make_directories(job_directory(job) + "/shared"));
  return storage.make_directories(job_directory(job) + "/taskowned");
}

}  // namespace weir
