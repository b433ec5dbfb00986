// What a completed checkpoint consists of, as its file _metadata says. FORMAT.md has the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "snapshot/snapshot_storage.h"
#include "snapshot/task_snapshot.h"

namespace weir {

inline constexpr std::uint32_t manifest_version = 1;

// One instance of an operator.
struct SubtaskInManifest {
  bool finished = false;   // it will not run again, and has no state
  std::uint32_t file = 0;  // with its chunks: position in the manifest's files
  std::vector<KeyedStateHandle> keyed{};
  std::vector<OperatorStateHandle> items{};
  friend bool operator==(const SubtaskInManifest&, const SubtaskInManifest&) = default;
};

struct OperatorInManifest {
  std::string name{};
  std::uint32_t parallelism = 0;
  std::uint32_t max_parallelism = 0;
  std::vector<SubtaskInManifest> subtasks{};  // all of them, by index
  std::optional<Bytes> coordinator{};         // the snapshot of its operator coordinator
  std::vector<Bytes> committables{};          // to be committed when the checkpoint is complete
  friend bool operator==(const OperatorInManifest&, const OperatorInManifest&) = default;
};

// A value: holds no file open. Has a codec, for messages.
struct CheckpointManifest {
  CheckpointId id{};
  JobId job{};
  std::string job_name{};
  ProcessingTime triggered{};
  std::vector<StateFile> files{};
  std::vector<OperatorInManifest> operators{};

  // Nothing if there is no such operator.
  [[nodiscard]] const OperatorInManifest* find(const std::string& operator_name) const;
  [[nodiscard]] std::uint64_t state_bytes() const;
  friend bool operator==(const CheckpointManifest&, const CheckpointManifest&) = default;
};

// The file's whole content. Errc::too_large if a part of it is more than Cap'n Proto holds, 512 MB.
[[nodiscard]] Result<Bytes> encode_manifest(const CheckpointManifest& manifest);
// Trusts no byte. Errc::corrupt_data, saying whether it is no manifest, of a newer format, truncated, damaged, or makes
// no sense. Allocates in proportion to the bytes.
[[nodiscard]] Result<CheckpointManifest> decode_manifest(std::span<const std::byte> bytes);

// A manifest, and the directory in the storage that its files' names are relative to.
struct StoredCheckpoint {
  std::string directory{};
  CheckpointManifest manifest{};
  friend bool operator==(const StoredCheckpoint&, const StoredCheckpoint&) = default;
};

// Writes _metadata under another name, then renames it: from then on the checkpoint is complete, durably. Makes the
// directory if it is missing.
[[nodiscard]] Result<void> write_manifest(SnapshotStorage& storage,
                                          const StoredCheckpoint& checkpoint);
// Errors as of decode_manifest, naming the file; Errc::input_missing if there is none.
[[nodiscard]] Result<StoredCheckpoint> read_manifest(SnapshotStorage& storage,
                                                     const std::string& directory);
// Whether all files are there, with the size they must have: Errc::input_missing, corrupt_data. Their content is checked
// when it is read.
[[nodiscard]] Result<void> check_files(SnapshotStorage& storage,
                                       const StoredCheckpoint& checkpoint);

}  // namespace weir
