// Tumbling windows of event time with incremental aggregation.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "dataflow/api/aggregates.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/late_records.h"
#include "dataflow/output.h"
#include "dataflow/window/tumbling.h"
#include "state/keyed_table.h"
#include "state/namespaced_tables.h"

namespace weir {

// Keeps an accumulator per key and window, in one table per window, which is dropped whole when the
// window has fired. A window fires when the watermark reaches its last millisecond; a record that
// comes later is late. Make (const K&, Window, result) → Out says what comes
// out, with the window's last millisecond as its time.
template <class T, class Selector, class Agg, class Out, class Make>
class TumblingWindowOperator final : public Operator {
 public:
  using K = KeyOf<Selector, T>;

  // `late`: where late records go; none: they are counted and dropped.
  TumblingWindowOperator(Selector selector, Tumbling windows, Agg aggregate, Make make,
                         std::optional<OutputPort> late = {})
      : selector_(std::move(selector)),
        windows_(windows),
        aggregate_(std::move(aggregate)),
        make_(std::move(make)),
        late_(late) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    auto open = context.state->windows<Window, K, Accumulator>("windows");
    if (!open) return open.error();
    open_ = *std::move(open);
    watermark_ = context.watermark;
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<T>(*in);
    if (input.times.empty()) return missing_time(context_->operator_name, "before the window");
    WEIR_TRY(check_keys(input, rows, selector_, context_->keys, context_->operator_name));
    for (std::size_t row = rows.begin; row < rows.end;) {
      const EventTime at = input.times[row];
      if (at == no_timestamp) return missing_time(context_->operator_name, "before the window");
      const Window window = windows_.window_of(at);
      const std::size_t end = context_->reached.any_ahead()
                                  ? row + 1
                                  : end_of_run(input.times, row + 1, rows.end, window);
      if (window.max_time() <= std::max(watermark_, context_->reached.ahead(input.hashes[row]))) {
        if (late_ && out.port<T>(*late_).full()) return Progress{StepResult::output_full, row};
        for (std::size_t i = row; i < end; ++i)
          drop_late(input.values[i], input.times[i], late_, *context_->metrics, out);
      } else {
        fold(input, {row, end}, selector_, aggregate_, table_of(window));
      }
      row = end;
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    watermark_ = watermark;
    auto& output = out.port<Out>();
    while (!open_->empty() && open_->first().max_time() <= watermark) {
      if (!fire(open_->first(), open_->first_table(), output, out.budget())) {
        return output.full() ? StepResult::output_full : StepResult::yield;
      }
      close_first();
      if (out.budget().spent()) return StepResult::yield;
    }
    out.emit_watermark(watermark);
    return StepResult::done;
  }

 private:
  using Accumulator = typename Agg::Accumulator;
  using Table = KeyedTable<K, Accumulator>;

  // Most records fall into the window of the one before.
  Table& table_of(const Window& window) {
    if (recent_ != nullptr && recent_window_ == window) return *recent_;
    recent_window_ = window;
    recent_ = &open_->table_of(window);
    return *recent_;
  }

  // Puts out what the cursor has not reached yet; returns whether that was all.
  bool fire(const Window& window, const Table& table, Output<Out>& output,
            const StepBudget& budget) {
    BudgetCheck check(budget);
    return table.walk(fired_, [&](const K& key, const Accumulator& acc) {
      output.push(make_(key, window, aggregate_.result(acc)), window.max_time());
      return !output.full() && !check.spent();
    });
  }

  void close_first() {
    if (recent_ == &open_->first_table()) recent_ = nullptr;
    open_->drop_first();
    fired_ = {};
  }

  Selector selector_;
  Tumbling windows_;
  Agg aggregate_;
  Make make_;
  std::optional<OutputPort> late_;
  const OperatorContext* context_ = nullptr;
  std::shared_ptr<NamespacedTables<Window, K, Accumulator>> open_;  // shared with the backend
  Table* recent_ = nullptr;
  Window recent_window_{};
  TableCursor fired_;  // into the first open window
  EventTime watermark_ = EventTime::min();
};

}  // namespace weir
