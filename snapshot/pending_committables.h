// What a task's sinks have prepared, until it is known that a completed checkpoint holds it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "snapshot/task_snapshot.h"

namespace weir {

// A checkpoint that is aborted takes nothing with it: what was prepared for it goes into the next one. What completed
// may be handed over once more, if the news is late; committers are idempotent.
//
// A pure value. Not thread-safe. Invariant: checkpoints ascend.
class PendingCommittables {
 public:
  // What the operator prepared at the barrier of that checkpoint. Requires ascending ids.
  void add(CheckpointId id, const std::string& operator_name, std::vector<Bytes> committables);
  // The checkpoint is complete: what was prepared for it and older ones is safe.
  void on_complete(CheckpointId id);
  // With what the task acknowledges, or finishes: by operator, in the order of preparing.
  [[nodiscard]] std::vector<OperatorCommittables> all() const;

 private:
  struct Prepared {
    CheckpointId id;
    OperatorCommittables committables;
  };
  std::deque<Prepared> prepared_;
};

}  // namespace weir
