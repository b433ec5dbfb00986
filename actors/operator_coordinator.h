// The actors that do what a job does once, not once per subtask: hand out splits, make output
// visible.
#pragma once

#include <caf/all.hpp>
#include <memory>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "actors/restore_point.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

struct CoordinatorDeployment {
  AttemptId attempt;
  NodeId node;
  std::shared_ptr<const PhysicalPlan> plan;
  TaskHostHandle host;  // who is told
  RestorePoint restore;
  bool again;  // as of OpenCoordinators
};

// Drives the SplitEnumerator of a source or the SinkCommitter of a sink, whichever the node is. Has
// a thread of its own, since both read and write files.
class OperatorCoordinator {
 public:
  static constexpr const char* name = "operator-coordinator";

  void deploy(CoordinatorHandle::base* self, const EngineContext& engine,
              CoordinatorDeployment deployment);
  void open();
  void next_split(const RequestSplit& request);
  void commit(const CommitOutput& output);
  void abort();
  void trigger(const TriggerCheckpoint& trigger);
  [[nodiscard]] bool is_current(AttemptId attempt) const { return attempt == deployment_.attempt; }

 private:
  [[nodiscard]] Result<void> open_node();
  [[nodiscard]] Result<void> open_enumerator(const LogicalNode& node);
  [[nodiscard]] Result<void> open_committer(const LogicalNode& node);

  CoordinatorHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  CoordinatorDeployment deployment_;
  Logger log_;
  std::unique_ptr<SplitEnumerator> enumerator_;
  std::unique_ptr<SinkCommitter> committer_;
  bool prepared_ = false;  // the committer has touched the world
  bool committed_ = false;
};

[[nodiscard]] CoordinatorHandle::behavior_type operator_coordinator(
    CoordinatorHandle::stateful_pointer<OperatorCoordinator> self, const EngineContext* engine,
    CoordinatorDeployment deployment);

}  // namespace weir
