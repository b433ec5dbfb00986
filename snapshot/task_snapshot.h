// What a task gives a checkpoint: where its state lies, what its sinks have to commit, how long it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "state/snapshot.h"

namespace weir {

// A task, as checkpoints know it.
struct SnapshotTaskId {
  VertexId vertex{};
  SubtaskIndex subtask{};
  friend constexpr auto operator<=>(const SnapshotTaskId&, const SnapshotTaskId&) = default;
};

// Some bytes of a state file, checked when they are read.
struct StateChunk {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;  // see checksum.h
  friend bool operator==(const StateChunk&, const StateChunk&) = default;
};

struct KeyGroupChunk {
  KeyGroup group{};
  StateChunk chunk{};
  friend bool operator==(const KeyGroupChunk&, const KeyGroupChunk&) = default;
};

// One keyed state; groups without entries are left out.
struct KeyedStateHandle {
  StateDescriptor descriptor{};
  std::vector<KeyGroupChunk> groups{};  // ascending
  friend bool operator==(const KeyedStateHandle&, const KeyedStateHandle&) = default;
};

// One list or broadcast state; the chunk has its items one after the other, each behind its length.
struct OperatorStateHandle {
  StateDescriptor descriptor{};
  std::uint32_t items = 0;
  StateChunk chunk{};
  friend bool operator==(const OperatorStateHandle&, const OperatorStateHandle&) = default;
};

// All states of one operator instance.
struct OperatorSnapshot {
  std::string operator_name{};
  SubtaskIndex subtask{};
  std::uint32_t parallelism = 0;
  std::uint32_t max_parallelism = 0;
  std::vector<KeyedStateHandle> keyed{};
  std::vector<OperatorStateHandle> items{};
  friend bool operator==(const OperatorSnapshot&, const OperatorSnapshot&) = default;
};

// Where the chunks of a task's operators lie: in a file of the checkpoint's directory, or here.
struct StateFile {
  std::string name{};  // empty if the bytes are here
  std::uint64_t size = 0;
  Bytes inline_bytes{};  // `size` of them, or none
  friend bool operator==(const StateFile&, const StateFile&) = default;
};

struct OperatorCommittables {
  std::string operator_name{};
  std::vector<Bytes> committables{};
  friend bool operator==(const OperatorCommittables&, const OperatorCommittables&) = default;
};

struct SnapshotTimes {
  std::chrono::microseconds start_delay{0};  // from the trigger to the first barrier
  std::chrono::microseconds alignment{0};    // from the first barrier to the last
  std::chrono::microseconds sync{0};         // the task stood still
  std::chrono::microseconds async{0};        // writing, while it went on
  friend bool operator==(const SnapshotTimes&, const SnapshotTimes&) = default;
};

// With what a task acknowledges a checkpoint. Has a codec.
struct TaskSnapshot {
  StateFile file{};
  std::vector<OperatorSnapshot> operators{};  // of its chain; those without state too
  // What its sinks have prepared since the last barrier. Whoever takes it keeps it until it is committed, also if this
  // checkpoint is given up: nobody prepares it again.
  std::vector<OperatorCommittables> committables{};
  SnapshotTimes times{};
  friend bool operator==(const TaskSnapshot&, const TaskSnapshot&) = default;
};

}  // namespace weir
