#include "actors/operator_coordinator.h"

#include <utility>

namespace weir {

void OperatorCoordinator::deploy(CoordinatorHandle::base* self, const EngineContext& engine,
                                 CoordinatorDeployment deployment) {
  self_ = self;
  deployment_ = std::move(deployment);
  const LogicalNode& node = deployment_.plan->logical.nodes[deployment_.node.value];
  log_ = engine.logger.about("job " + deployment_.plan->logical.job_name)
             .about("coordinator of " + node.name);
}

void OperatorCoordinator::open() {
  CoordinatorOpened answer{deployment_.attempt, deployment_.node, {}, {}};
  if (const auto opened = open_node(); !opened) {
    answer.error = opened.error();
  } else if (enumerator_ != nullptr) {
    answer.total_units = enumerator_->total_units();
  }
  self_->send(deployment_.host, std::move(answer));
}

Result<void> OperatorCoordinator::open_node() {
  const LogicalNode& node = deployment_.plan->logical.nodes[deployment_.node.value];
  try {
    if (node.role == StageRole::source) {
      enumerator_ = node.make_enumerator();
      return enumerator_->open(parallelism_of(node, deployment_.plan->settings));
    }
    committer_ = node.make_committer();
    if (committer_ == nullptr) return {};
    WEIR_TRY(committer_->prepare());
    prepared_ = true;
    return {};
  } catch (...) {
    return user_code_error(node.name);
  }
}

void OperatorCoordinator::next_split(const RequestSplit& request) {
  SplitAssigned answer{deployment_.attempt, request.reader, {}, {}};
  try {
    auto assignment = enumerator_->next(request.reader.subtask);
    if (assignment) {
      if (const auto* split = std::get_if<Split>(&*assignment)) {
        log_.debug("split " + split->id + " to reader " +
                   std::to_string(request.reader.subtask.value));
      }
      answer.assignment = std::move(*assignment);
    } else {
      answer.error = assignment.error();
    }
  } catch (...) {
    answer.error = user_code_error(deployment_.plan->logical.nodes[deployment_.node.value].name);
  }
  self_->send(deployment_.host, std::move(answer));
}

void OperatorCoordinator::commit(const CommitOutput& output) {
  OutputCommitted answer{deployment_.attempt, deployment_.node, {}};
  if (committer_ != nullptr) {
    const auto committed = committer_->commit(output.committables);
    const auto finished = committed ? committer_->finish() : committed;
    if (!finished) answer.error = finished.error();
    committed_ = finished.has_value();
  }
  self_->send(deployment_.host, std::move(answer));
}

void OperatorCoordinator::abort() {
  if (committer_ != nullptr && prepared_ && !committed_) committer_->abort();
  self_->send(deployment_.host, OutputAborted{deployment_.attempt, deployment_.node});
}

CoordinatorHandle::behavior_type operator_coordinator(
    CoordinatorHandle::stateful_pointer<OperatorCoordinator> self, const EngineContext* engine,
    CoordinatorDeployment deployment) {
  auto* state = &self->state;
  state->deploy(self, *engine, std::move(deployment));
  return {
      [state](const OpenCoordinator&) { state->open(); },
      [state](const RequestSplit& m) {
        if (state->is_current(m.attempt)) state->next_split(m);
      },
      [state](const CommitOutput& m) {
        if (state->is_current(m.attempt)) state->commit(m);
      },
      [state](const AbortOutput& m) {
        if (state->is_current(m.attempt)) state->abort();
      },
  };
}

}  // namespace weir
