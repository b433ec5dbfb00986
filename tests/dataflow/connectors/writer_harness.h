// Runs a writer of a sink without an engine around it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dataflow/connectors/descriptions.h"

namespace weir {

// One subtask's.
template <class T>
class WriterHarness {
 public:
  template <SinkDescription<T> Sink>
  explicit WriterHarness(const Sink& sink, std::uint32_t subtask = 0, std::uint32_t parallelism = 1)
      : writer_(sink.template make_writer<T>()) {
    context_.subtask = SubtaskIndex{subtask};
    context_.parallelism = parallelism;
    context_.metrics = &metrics_;
    EXPECT_TRUE(writer_->open(context_));
  }
  WriterHarness(const WriterHarness&) = delete;
  WriterHarness& operator=(const WriterHarness&) = delete;
  ~WriterHarness() { close(); }

  [[nodiscard]] Result<void> write(std::vector<T> rows) {
    const StepBudget budget(system_clock(), limits::step_time_max);
    Outputs out({}, budget);
    auto batch = std::make_shared<Batch<T>>();
    batch->values = std::move(rows);
    BatchPtr in = batch;
    const auto progress = writer_->process(InputPort{0}, in, {0, in->size()}, out);
    if (!progress) return progress.error();
    EXPECT_EQ(progress->position, batch->size());
    return {};
  }
  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() {
    return writer_->prepare_commit();
  }
  void close() {
    if (!std::exchange(closed_, true)) writer_->close();
  }

 private:
  std::unique_ptr<SinkOperator> writer_;
  OperatorContext context_;
  OperatorMetrics metrics_;
  bool closed_ = false;
};

}  // namespace weir
