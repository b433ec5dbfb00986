// The actor of a task host that writes what tasks have frozen.
#pragma once

#include <caf/all.hpp>
#include <memory>

#include "actors/engine_context.h"
#include "actors/messages.h"
#include "snapshot/snapshot_storage.h"

namespace weir {

// Has a thread of its own, so that tasks go on while their state is written and what their sinks have prepared is synced.
class StateWriter {
 public:
  static constexpr const char* name = "state-writer";

  void begin(StateWriterHandle::base* self, const EngineContext& engine, JobId job,
             CheckpointSettings settings);
  void write(const WriteState& request);
  [[nodiscard]] bool is_delayed() const {
    return engine_->faults != nullptr && engine_->faults->delays_writing();
  }

 private:
  [[nodiscard]] Result<void> make_durable(const WriteState& request) const;
  [[nodiscard]] Result<TaskSnapshot> write_to_storage(const WriteState& request);

  StateWriterHandle::base* self_ = nullptr;
  const EngineContext* engine_ = nullptr;
  JobId job_;
  CheckpointSettings settings_;
  std::shared_ptr<SnapshotStorage> storage_;
};

[[nodiscard]] StateWriterHandle::behavior_type state_writer(
    StateWriterHandle::stateful_pointer<StateWriter> self, const EngineContext* engine, JobId job,
    CheckpointSettings settings);

}  // namespace weir
