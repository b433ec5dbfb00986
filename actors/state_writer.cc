#include "actors/state_writer.h"

#include <utility>

#include "actors/checkpoint_storage.h"
#include "snapshot/checkpoint_layout.h"

namespace weir {

void StateWriter::begin(StateWriterHandle::base* self, const EngineContext& engine, JobId job,
                        CheckpointSettings settings) {
  self_ = self;
  engine_ = &engine;
  job_ = job;
  settings_ = std::move(settings);
}

void StateWriter::write(const WriteState& request) {
  const MonotonicTime began = engine_->clock->now();
  StateWritten answer{request.checkpoint, {}, {}, {}};
  if (const auto durable = make_durable(request); !durable) answer.output_error = durable.error();
  auto written = write_to_storage(request);
  if (written) {
    answer.snapshot = *std::move(written);
  } else {
    answer.error = written.error();
  }
  answer.snapshot.times.async =
      std::chrono::duration_cast<std::chrono::microseconds>(engine_->clock->now() - began);
  self_->send(request.reply_to, std::move(answer));
}

Result<void> StateWriter::make_durable(const WriteState& request) const {
  if (engine_->faults != nullptr && engine_->faults->acknowledges_what_is_not_durable()) return {};
  for (const MakeDurable& make_durable : request.to_make_durable) {
    if (request.stop.stop_requested()) return {};  // the task will not acknowledge it
    WEIR_TRY(make_durable());
  }
  return {};
}

Result<TaskSnapshot> StateWriter::write_to_storage(const WriteState& request) {
  if (storage_ == nullptr) {
    auto storage = checkpoint_storage(*engine_, settings_);
    if (!storage) return storage.error();
    storage_ = *std::move(storage);
  }
  return write_task_snapshot(*storage_, checkpoint_directory(job_, request.checkpoint),
                             request.file_name, std::move(*request.operators),
                             settings_.inline_threshold_bytes, request.stop);
}

StateWriterHandle::behavior_type state_writer(StateWriterHandle::stateful_pointer<StateWriter> self,
                                              const EngineContext* engine, JobId job,
                                              CheckpointSettings settings) {
  auto* state = &self->state;
  state->begin(self, *engine, job, std::move(settings));
  return {[state, self](const WriteState& m) {
    if (state->is_delayed()) {
      self->send(self, m);
    } else {
      state->write(m);
    }
  }};
}

}  // namespace weir
