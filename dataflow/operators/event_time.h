// Gives records their event time and the stream its watermarks.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "dataflow/operator.h"
#include "dataflow/output.h"
#include "dataflow/window/idleness_timer.h"
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
template <class T, class Extract, class Strategy>
class EventTimeOperator final : public Operator {
 public:
  EventTimeOperator(Extract extract, const Strategy& strategy)
      : extract_(std::move(extract)),
        watermarks_(strategy.generator()),
        options_(strategy.options()) {
    if (options_.idleness) idleness_.emplace(*options_.idleness);
  }

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    if (idleness_) (void)idleness_->look(context.clock->processing_time());
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if (rows.begin == 0) writable(in).times.resize(in->size());
    auto& batch = batch_cast<T>(*in);
    using Watermarks = decltype(watermarks_);
    if constexpr (std::is_trivially_copyable_v<Watermarks> && sizeof(Watermarks) <= 64) {
      Watermarks own = watermarks_;  // in registers: times are written beside it
      stamp(batch, rows, own);
      watermarks_ = own;
    } else {
      stamp(batch, rows, watermarks_);
    }
    if (rows.end < batch.size()) return Progress{StepResult::done, rows.end};
    if (idleness_) idleness_->on_record();
    set_idle(false, out);
    out.port<T>().forward(std::move(in));
    if (watermarks_.current() > emitted_) {
      emitted_ = watermarks_.current();
      out.emit_watermark(emitted_);
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    if (watermark == EventTime::max()) out.emit_watermark(watermark);
    return StepResult::done;
  }

  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    return idleness_ ? idleness_->next_look() : std::nullopt;
  }
  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    if (idleness_->look(now)) set_idle(true, out);
    return StepResult::done;
  }

 private:
  template <class Watermarks>
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

  void set_idle(bool idle, Outputs& out) {
    if (idle_ == idle) return;
    idle_ = idle;
    out.emit_idle(idle);
  }

  Extract extract_;
  decltype(std::declval<const Strategy&>().generator()) watermarks_;
  WatermarkOptions options_;
  std::optional<IdlenessTimer> idleness_;
  bool idle_ = false;
  const OperatorContext* context_ = nullptr;
  EventTime emitted_ = EventTime::min();
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
