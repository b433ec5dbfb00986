// The two ends of a loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "dataflow/operator.h"
#include "dataflow/operators/feedback_queue.h"
#include "dataflow/output.h"
#include "dataflow/sink.h"

namespace weir {

// A record on its way round a loop, as it is in snapshots.
template <class T>
struct FeedbackRecord {
  T value{};
  EventTime time = no_timestamp;
};

// Where records enter a loop, from outside and from its end; those from its end first.
//
// Markers say what is on its way. One that has come back says that all that was put out before it has passed the whole loop.
//
// A barrier waits until a marker has come back: then nothing is between head and tail, and what has come back is kept and is the state. So what
// is on its way in a loop is part of each checkpoint, at the price of one way round without new records.
//
// When its input has ended it still takes part in checkpoints. All heads take part or none: all have the same inputs (see the planner).
//
// When the input has ended, other markers go round until none of the heads had put out a record for one round more than there are heads: a
// record may have to be handed on from subtask to subtask. A head whose input is still open sends none of these, so that nobody ends before it.
// The watermark EventTime::max() waits for that; others pass as they come, and what comes back may be late for them.
template <class T>
class IterationHead final : public Operator {
 public:
  explicit IterationHead(std::shared_ptr<FeedbackHub> hub) : hub_(std::move(hub)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    parallelism_ = context.parallelism;
    auto records =
        context.state->list<FeedbackRecord<T>>("records in the loop", StateKind::split_list);
    if (!records) return records.error();
    records_ = *std::move(records);
    if (!records_->empty()) kept_.push_back(batch_of(std::exchange(*records_, {})));
    queue_ = hub_->queue(context.attempt, context.subtask);
    queue_->set_waker(context.waker);
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if (rows.end == in->size()) put_out(std::move(in), out);
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    if (watermark == EventTime::max()) {
      input_is_over_ = true;
    } else {
      out.emit_watermark(watermark);
    }
    return StepResult::done;
  }

  // At once while something has come back.
  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    if ((!kept_.empty() && !collecting_) || !queue_->empty()) return ProcessingTime{};
    return {};
  }
  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime /*now*/,
                                                      Outputs& out) override {
    if (!collecting_ && !kept_.empty()) {
      put_out(std::move(kept_.front()), out);
      kept_.pop_front();
      return StepResult::done;
    }
    auto item = queue_->take();
    if (!item) return StepResult::done;
    if (const auto* marker = std::get_if<LoopMarker>(&*item)) {
      on_return_of(*marker);
    } else if (collecting_) {
      kept_.push_back(std::move(std::get<BatchPtr>(*item)));
    } else {
      put_out(std::move(std::get<BatchPtr>(*item)), out);
    }
    return StepResult::done;
  }

  [[nodiscard]] Result<StepResult> on_barrier(CheckpointId checkpoint, Outputs& out) override {
    if (!collecting_) {
      collecting_ = checkpoint;
      is_swept_ = false;
      out.emit_loop_marker({false, checkpoint});
    }
    if (!is_swept_ && !aborted_.contains(checkpoint)) return StepResult::blocked;
    collecting_.reset();
    aborted_.erase(aborted_.begin(), aborted_.upper_bound(checkpoint));
    return StepResult::done;
  }
  // Other heads may not have seen its barrier, and send no marker.
  void on_checkpoint_aborted(CheckpointId checkpoint) override { aborted_.insert(checkpoint); }
  [[nodiscard]] bool outlives_inputs() const override { return true; }
  [[nodiscard]] Result<void> prepare_snapshot(CheckpointId /*checkpoint*/) override {
    records_->clear();
    for (const BatchPtr& batch : kept_) {
      const auto& of_loop = batch_cast<T>(*batch);
      for (std::size_t row = 0; row < of_loop.size(); ++row) {
        records_->push_back(
            {of_loop.values[row], of_loop.times.empty() ? no_timestamp : of_loop.times[row]});
      }
    }
    return {};
  }

  // Another loop's markers end here.
  [[nodiscard]] Result<StepResult> on_loop_marker(LoopMarker /*marker*/,
                                                  Outputs& /*out*/) override {
    return StepResult::done;
  }

  [[nodiscard]] Result<StepResult> finish(Outputs& out) override {
    if (marker_is_out_) return StepResult::blocked;
    if (active_ || quiet_rounds_ <= parallelism_) {
      out.emit_loop_marker({std::exchange(active_, false)});
      marker_is_out_ = true;
      return StepResult::blocked;
    }
    if (input_is_over_) out.emit_watermark(EventTime::max());
    return StepResult::done;
  }

  void close() override {
    if (queue_ != nullptr) queue_->close();
  }

 private:
  static BatchPtr batch_of(std::vector<FeedbackRecord<T>> records) {
    auto batch = std::make_shared<Batch<T>>();
    for (FeedbackRecord<T>& record : records) {
      if (record.time != no_timestamp && batch->times.empty())
        batch->times.resize(batch->values.size(), no_timestamp);
      batch->values.push_back(std::move(record.value));
      if (!batch->times.empty() || record.time != no_timestamp) batch->times.push_back(record.time);
    }
    return batch;
  }

  void put_out(BatchPtr batch, Outputs& out) {
    active_ = true;
    quiet_rounds_ = 0;
    out.port<T>().forward(std::move(batch));
  }

  void on_return_of(LoopMarker marker) {
    if (marker.checkpoint > CheckpointId{}) {
      is_swept_ = is_swept_ || marker.checkpoint == collecting_;  // else of one that was given up
    } else {
      marker_is_out_ = false;
      quiet_rounds_ = marker.active ? 0 : quiet_rounds_ + 1;
    }
  }

  std::shared_ptr<FeedbackHub> hub_;
  std::shared_ptr<FeedbackQueue> queue_;  // shared with the tail
  std::shared_ptr<std::vector<FeedbackRecord<T>>>
      records_;                // shared with the backend, filled for snapshots
  std::deque<BatchPtr> kept_;  // came back and is not put out yet
  // The checkpoint that it puts out nothing for, until its snapshot; and whether the marker for that has come back.
  std::optional<CheckpointId> collecting_;
  bool is_swept_ = false;
  std::set<CheckpointId> aborted_;  // whose barriers may still come
  // Of the end.
  bool input_is_over_ = false;
  bool marker_is_out_ = false;      // and has not come back
  bool active_ = false;             // has put out records since its last marker
  std::uint32_t quiet_rounds_ = 0;  // since any head was
  std::uint32_t parallelism_ = 1;
};

// Where records leave a loop for its beginning.
class IterationTail final : public SinkOperator {
 public:
  explicit IterationTail(std::shared_ptr<FeedbackHub> hub) : hub_(std::move(hub)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    queue_ = hub_->queue(context.attempt, context.subtask);
    return {};
  }
  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    if (rows.end == in->size()) queue_->push(std::move(in));
    return Progress{StepResult::done, rows.end};
  }
  [[nodiscard]] Result<StepResult> on_watermark(EventTime, Outputs& /*out*/) override {
    return StepResult::done;
  }
  [[nodiscard]] Result<StepResult> on_idle(bool, Outputs& /*out*/) override {
    return StepResult::done;
  }
  [[nodiscard]] Result<StepResult> on_loop_marker(LoopMarker marker, Outputs& /*out*/) override {
    queue_->push(marker);
    return StepResult::done;
  }

 private:
  std::shared_ptr<FeedbackHub> hub_;
  std::shared_ptr<FeedbackQueue> queue_;  // shared with the head
};

}  // namespace weir
