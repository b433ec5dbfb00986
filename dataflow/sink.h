// Where results go: writers, one per subtask, whose work becomes visible when a committer, one per
// job, says so.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dataflow/batch.h"
#include "dataflow/operator.h"

namespace weir {

// What a writer has finished writing and nobody can see yet; its content is between the sink's
// writer and committer.
struct Committable {
  std::vector<std::byte> bytes;
  friend bool operator==(const Committable&, const Committable&) = default;
};

// A sink's writer is an operator without outputs. A bounded job commits when all writers have
// finished; with checkpoints, when one is complete.
class SinkOperator : public Operator {
 public:
  // What has been written since the last call, made durable. Called after finish.
  [[nodiscard]] virtual Result<std::vector<Committable>> prepare_commit() {
    return std::vector<Committable>{};
  }
};

// Makes committables visible. One per job and sink; driven by one actor on a thread that may block.
class SinkCommitter {
 public:
  virtual ~SinkCommitter() = default;
  // Before any task runs: refuses an output that exists, makes room for the new one.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  // Idempotent: what is visible already stays so.
  [[nodiscard]] virtual Result<void> commit(const std::vector<Committable>& committables) = 0;
  // The job failed or was cancelled: removes what no commit will ever make visible.
  virtual void abort() = 0;
};

using CommitterFactory = std::function<std::unique_ptr<SinkCommitter>()>;

}  // namespace weir
