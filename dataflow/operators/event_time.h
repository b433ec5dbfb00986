// Gives records their event time and the stream its watermarks.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

#include "dataflow/operator.h"
#include "dataflow/output.h"
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
template <class T, class Extract>
class EventTimeOperator final : public Operator {
 public:
  EventTimeOperator(Extract extract, WatermarkStrategy strategy)
      : extract_(std::move(extract)), watermarks_(strategy) {}

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if (rows.begin == 0) writable(in).times.resize(in->size());
    auto& batch = batch_cast<T>(*in);
    BoundedWatermarks watermarks = watermarks_;  // of its own: times are written beside it
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      const EventTime at = to_event_time(std::invoke(extract_, std::as_const(batch.values[row])));
      batch.times[row] = at;
      watermarks.on_time(at);
    }
    watermarks_ = watermarks;
    if (rows.end < batch.size()) return Progress{StepResult::done, rows.end};
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

 private:
  Extract extract_;
  BoundedWatermarks watermarks_;
  EventTime emitted_ = EventTime::min();
};

}  // namespace weir
