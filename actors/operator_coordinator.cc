#include "actors/operator_coordinator.h"

#include <utility>

namespace weir {

void OperatorCoordinator::deploy(CoordinatorHandle::base* self, const EngineContext& engine,
                                 CoordinatorDeployment deployment) {
  self_ = self;
  engine_ = &engine;
  deployment_ = std::move(deployment);
  const LogicalNode& node = deployment_.plan->logical.nodes[deployment_.node.value];
  log_ = engine.logger.about("job " + deployment_.plan->logical.job_name)
             .about("coordinator of " + node.name);
}

void OperatorCoordinator::open() {
  CoordinatorOpened answer{deployment_.attempt, deployment_.node, {}, {}};
  if (const auto opened = open_node(); !opened) {
    answer.error = deployment_.restore ? RestorePoint::about(opened.error()) : opened.error();
  } else if (enumerator_ != nullptr) {
    answer.total_units = enumerator_->total_units();
  }
  self_->send(deployment_.host, std::move(answer));
}

Result<void> OperatorCoordinator::open_node() {
  const LogicalNode& node = deployment_.plan->logical.nodes[deployment_.node.value];
  try {
    return node.role == StageRole::source ? open_enumerator(node) : open_committer(node);
  } catch (...) {
    return user_code_error(node.name);
  }
}

Result<void> OperatorCoordinator::open_enumerator(const LogicalNode& node) {
  enumerator_ = node.make_enumerator();
  WEIR_TRY(enumerator_->open(parallelism_of(node, deployment_.plan->settings)));
  const Bytes* state = deployment_.restore.coordinator_state(node.name);
  if (state == nullptr) return {};
  ByteReader reader(*state);
  return enumerator_->restore(reader);
}

Result<void> OperatorCoordinator::open_committer(const LogicalNode& node) {
  committer_ = node.make_committer();
  if (committer_ == nullptr) return {};
  if (deployment_.restore.knows(node.name)) {
    WEIR_TRY(committer_->restore(deployment_.restore.committables(node.name)));
  } else if (deployment_.again) {
    WEIR_TRY(committer_->restore({}));
  } else {
    WEIR_TRY(committer_->prepare());
  }
  prepared_ = true;
  return {};
}

// First the state, then the barriers: what is handed out from now on comes behind them.
void OperatorCoordinator::trigger(const TriggerCheckpoint& trigger) {
  if (enumerator_ == nullptr) return;
  CoordinatorSnapshot answer{deployment_.attempt, deployment_.node, trigger.checkpoint, {}, {}};
  try {
    ByteWriter writer(answer.bytes);
    enumerator_->snapshot(writer);
  } catch (...) {
    answer.error = user_code_error(deployment_.plan->logical.nodes[deployment_.node.value].name);
  }
  self_->send(deployment_.host, std::move(answer));
  for (const Vertex& vertex : deployment_.plan->vertices) {
    if (vertex.chain.stages.front().node != deployment_.node) continue;
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      self_->send(deployment_.host,
                  InjectBarrier{deployment_.attempt, {vertex.id, {i}}, trigger.checkpoint});
    }
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
  OutputCommitted answer{deployment_.attempt, deployment_.node, output.checkpoint, {}};
  if (committer_ != nullptr) {
    const bool last = !output.checkpoint;
    auto done = committer_->commit(output.committables);
    if (done && engine_->faults != nullptr && engine_->faults->commits_twice())
      done = committer_->commit(output.committables);
    if (done && last) done = committer_->finish();
    if (!done) answer.error = done.error();
    committed_ = last && !answer.error;
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
      [state](const TriggerCheckpoint& m) {
        if (state->is_current(m.attempt)) state->trigger(m);
      },
  };
}

}  // namespace weir
