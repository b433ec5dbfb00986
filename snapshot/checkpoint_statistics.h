// What people can see of a job's checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "snapshot/task_snapshot.h"

namespace weir {

enum class CheckpointStatus : std::uint8_t { in_progress, completed, failed };

struct TaskCheckpointStatistics {
  SnapshotTaskId task{};
  ProcessingTime acknowledged{};
  SnapshotTimes times{};
  std::uint64_t state_bytes = 0;
  friend bool operator==(const TaskCheckpointStatistics&,
                         const TaskCheckpointStatistics&) = default;
};

struct CheckpointStatistics {
  CheckpointId id{};
  CheckpointStatus status = CheckpointStatus::in_progress;
  bool by_user = false;
  ProcessingTime triggered{};
  std::optional<ProcessingTime> ended{};
  std::string failure{};                          // why it failed
  std::uint32_t expected_tasks = 0;               // those that had not finished when it began
  std::vector<TaskCheckpointStatistics> tasks{};  // those that have acknowledged it, in that order
  std::uint64_t state_bytes = 0;                  // of all of them
  friend bool operator==(const CheckpointStatistics&, const CheckpointStatistics&) = default;
};

struct CheckpointCounts {
  std::uint64_t triggered = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  friend bool operator==(const CheckpointCounts&, const CheckpointCounts&) = default;
};

inline constexpr std::size_t checkpoint_history_max = 10;

}  // namespace weir
