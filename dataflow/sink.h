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

// Waits for the disk, so it is called where that holds nobody up; by any thread, once.
using MakeDurable = std::function<Result<void>()>;

// A sink's writer is an operator without outputs. What it has written is committed when a checkpoint
// that holds it is complete, or the job.
class SinkOperator : public Operator {
 public:
  // What the writer has finished since the last call. Called at each barrier, behind
  // prepare_snapshot, where it and the snapshot of the writer's state hold everything that was
  // written before between them, and once after finish, when it is all of the rest. The writer
  // forgets it: if the checkpoint is aborted, it belongs to the next one, and only the failure of the
  // attempt makes it void.
  [[nodiscard]] virtual Result<std::vector<Committable>> prepare_commit() {
    return std::vector<Committable>{};
  }
  // Behind each prepare_commit: what makes that, and all that the snapshot refers to, durable; none
  // if it is already. It has been done before either is reported, while the writer goes on or has
  // ended, so it must not refer to the writer. If it fails, the attempt does.
  [[nodiscard]] virtual MakeDurable take_unsynced() { return {}; }
};

// Makes committables visible. One per job and sink; driven by one actor on a thread that may block.
// It is either prepared or restored, before any task of the attempt runs; commits follow, and finish
// or abort in the end. Destruction alone, as in a crash, leaves the output to be restored.
class SinkCommitter {
 public:
  virtual ~SinkCommitter() = default;
  // The job's first start: refuses an output that exists, makes room for the new one.
  [[nodiscard]] virtual Result<void> prepare() = 0;
  // Instead, once an earlier committer of the job was prepared: takes the output over, and commits
  // what the checkpoint that the job goes on from holds; nothing if it starts again. Touches nothing
  // that is visible.
  [[nodiscard]] virtual Result<void> restore(const std::vector<Committable>& pending) {
    return commit(pending);
  }
  // Makes these visible, durably. Any number of times; what is visible already stays so.
  [[nodiscard]] virtual Result<void> commit(const std::vector<Committable>& committables) = 0;
  // Everything has been committed: removes what nobody will ever see, and lets go of the output.
  [[nodiscard]] virtual Result<void> finish() { return {}; }
  // The job failed or was cancelled: removes what no commit will ever make visible, and what a
  // commit that failed half way has. What was committed before stays.
  virtual void abort() = 0;
};

using CommitterFactory = std::function<std::unique_ptr<SinkCommitter>()>;

}  // namespace weir
