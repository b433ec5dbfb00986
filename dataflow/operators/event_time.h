// Gives records their event time and the stream its watermarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "dataflow/operator.h"
#include "dataflow/output.h"
#include "dataflow/window/split_watermarks.h"
#include "dataflow/window/watermark_strategy.h"

namespace weir {

inline EventTime to_event_time(EventTime time) {
  return time;
}
template <class D>
EventTime to_event_time(std::chrono::time_point<std::chrono::system_clock, D> time) {
  return EventTime::of(time);
}

// Sets the times in place and passes batches on as they are; a watermark follows each batch that
// moves it. Watermarks from before are replaced, but for the last.
//
// Chained to a source that says which of its splits records are of, it has watermarks per split: see SplitWatermarks.
template <class T, class Extract, class Strategy>
class EventTimeOperator final : public Operator {
 public:
  EventTimeOperator(Extract extract, const Strategy& strategy)
      : extract_(std::move(extract)),
        options_(strategy.options()),
        splits_([strategy] { return strategy.generator(); }, options_.idleness) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    if (options_.idleness) (void)splits_.look(context.clock->processing_time());
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if (rows.begin == 0) writable(in).times.resize(in->size());
    auto& batch = batch_cast<T>(*in);
    Watermarks& watermarks = splits_.generator_of(out.split());
    if constexpr (std::is_trivially_copyable_v<Watermarks> && sizeof(Watermarks) <= 64) {
      Watermarks own = watermarks;  // in registers: times are written beside it
      stamp(batch, rows, own);
      watermarks = own;
    } else {
      stamp(batch, rows, watermarks);
    }
    if (rows.end < batch.size()) return Progress{StepResult::done, rows.end};
    out.port<T>().forward(std::move(in));
    emit(splits_.on_records(), out);
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    if (watermark == EventTime::max()) out.emit_watermark(watermark);
    return StepResult::done;
  }

  void on_split_change(const SplitChange& change, Outputs& out) override {
    if (const auto* begun = std::get_if<SplitBegun>(&change)) {
      emit(splits_.begin(begun->split, begun->id), out);
    } else {
      emit(splits_.end(std::get<SplitEnded>(change).split), out);
    }
  }

  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    return splits_.next_look();
  }
  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    emit(splits_.look(now, source_paused_), out);
    return StepResult::done;
  }
  void on_source_paused(bool paused) override { source_paused_ = paused; }

 private:
  using Watermarks = decltype(std::declval<const Strategy&>().generator());

  void stamp(Batch<T>& batch, RowRange rows, Watermarks& watermarks) {
    const EventTime latest = latest_believed();
    std::uint64_t ahead = 0;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      const T& value = batch.values[row];
      const EventTime at = to_event_time(std::invoke(extract_, value));
      batch.times[row] = at;
      if (at > latest) {
        ++ahead;
      } else {
        watermarks.on_record(value, at);
      }
    }
    if (ahead > 0) count_ahead(ahead);
  }

  [[nodiscard]] EventTime latest_believed() const {
    constexpr ProcessingTime year_2000{946'684'800'000};
    const ProcessingTime now = context_->clock->processing_time();
    if (options_.max_ahead == Duration::max() || now < year_2000) return EventTime::max();
    return EventTime{now.ms} + options_.max_ahead;
  }

  void count_ahead(std::uint64_t records) {
    if (context_->metrics->records_ahead.fetch_add(records) > 0) return;
    context_->warn(
        "a record has a time that is more than " + std::to_string(options_.max_ahead.count()) +
        " ms ahead of this machine's clock: it does not move the watermark, nor do others "
        "like it (with_max_ahead)");
  }

  void emit(const MergedWatermark& merged, Outputs& out) {
    if (merged.idle) out.emit_idle(*merged.idle);
    if (merged.watermark) out.emit_watermark(*merged.watermark);
    if (splits_.take_overview_changed()) {
      context_->metrics->splits.show(splits_.overview());
    } else {
      context_->metrics->splits.show(splits_.least(), splits_.furthest());
    }
  }

  Extract extract_;
  WatermarkOptions options_;
  SplitWatermarks<Watermarks> splits_;
  bool source_paused_ = false;
  const OperatorContext* context_ = nullptr;
};

// Gives records the time at which they arrive here, to which the watermark follows also while none do.
template <class T>
class IngestionTimeOperator final : public Operator {
 public:
  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    clock_ = context.clock;
    next_ = clock_->processing_time() + watermark_interval;
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if (rows.end < in->size()) return Progress{StepResult::done, rows.end};
    // A clock that is set back does not take the times back.
    latest_ = std::max(latest_, EventTime{clock_->processing_time().ms});
    AnyBatch& batch = writable(in);
    batch.times.assign(batch.size(), latest_);
    out.port<T>().forward(std::move(in));
    out.emit_watermark(latest_ - Duration{1});
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    if (watermark == EventTime::max()) out.emit_watermark(watermark);
    return StepResult::done;
  }

  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    return next_;
  }
  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    next_ = now + watermark_interval;
    if (EventTime{now.ms} > latest_) {
      latest_ = EventTime{now.ms};
      out.emit_watermark(latest_ - Duration{1});
    }
    return StepResult::done;
  }

 private:
  static constexpr Duration watermark_interval{200};  // Flink's default

  const Clock* clock_ = nullptr;
  EventTime latest_ = EventTime::min();
  ProcessingTime next_{};
};

}  // namespace weir
