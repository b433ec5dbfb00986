// Runs a writer of a sink without an engine around it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dataflow/connectors/descriptions.h"
#include "state/redistribution.h"

namespace weir {

struct WriterPlace {
  std::uint32_t subtask = 0;
  std::uint32_t parallelism = 1;
  const Clock* clock = &system_clock();
};

// One subtask's.
template <class T>
class WriterHarness {
 public:
  template <SinkDescription<T> Sink>
  explicit WriterHarness(const Sink& sink, WriterPlace place = {})
      : WriterHarness(sink, place, {}) {
    EXPECT_TRUE(opened_);
  }
  // Goes on from what another one has left.
  template <SinkDescription<T> Sink>
  WriterHarness(const Sink& sink, WriterPlace place, RestoredState restored)
      : writer_(sink.template make_writer<T>()), state_(KeyGroupSlice{}, std::move(restored)) {
    context_.operator_name = "out";
    context_.subtask = SubtaskIndex{place.subtask};
    context_.parallelism = place.parallelism;
    context_.clock = place.clock;
    context_.metrics = &metrics_;
    context_.state = &state_;
    opened_ = writer_->open(context_);
  }
  WriterHarness(const WriterHarness&) = delete;
  WriterHarness& operator=(const WriterHarness&) = delete;
  ~WriterHarness() { close(); }

  // Rows without event time, or with one each.
  [[nodiscard]] Result<void> write(std::vector<T> rows, std::vector<EventTime> times = {}) {
    auto batch = std::make_shared<Batch<T>>();
    batch->values = std::move(rows);
    batch->times = std::move(times);
    BatchPtr in = batch;
    Outputs out({}, budget_);
    const auto progress = writer_->process(InputPort{0}, in, {0, in->size()}, out);
    if (!progress) return progress.error();
    EXPECT_EQ(progress->position, batch->size());
    return {};
  }
  // Calls the writer's timers that are due, as a task does between two elements. Whether one was.
  bool run_timers() {
    const ProcessingTime now = context_.clock->processing_time();
    const auto timer = writer_->next_processing_timer();
    if (!timer || *timer > now) return false;
    Outputs out({}, budget_);
    EXPECT_TRUE(writer_->on_processing_time(now, out));
    return true;
  }
  [[nodiscard]] const Result<void>& opened() const { return opened_; }
  // Both as at a barrier.
  [[nodiscard]] Result<RestoredState> snapshot() {
    WEIR_TRY(writer_->prepare_snapshot(CheckpointId{1}));
    return write_to_memory(state_.freeze());
  }
  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() {
    return writer_->prepare_commit();
  }
  // As at the end of the input.
  [[nodiscard]] Result<std::vector<Committable>> finish() {
    Outputs out({}, budget_);
    const auto finished = writer_->finish(out);
    if (!finished) return finished.error();
    return writer_->prepare_commit();
  }
  void close() {
    if (!std::exchange(closed_, true)) writer_->close();
  }

 private:
  StepBudget budget_{system_clock(), limits::step_time_max};
  std::unique_ptr<SinkOperator> writer_;
  StateBackend state_;
  OperatorContext context_;
  OperatorMetrics metrics_;
  Result<void> opened_;
  bool closed_ = false;
};

}  // namespace weir
