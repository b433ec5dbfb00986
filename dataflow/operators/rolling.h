// Rolling aggregates: a running value per key.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "dataflow/api/aggregates.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/output.h"
#include "state/keyed_table.h"

namespace weir {

// When a rolling aggregate speaks.
enum class Emission : bool {
  each_record,  // the updated value after every record
  at_end,       // the final value of every key, when the input has ended
};

// Folds records per key. Make (const K&, result) → Out says what comes out.
template <class T, class Selector, class Agg, class Out, class Make>
class RollingOperator final : public Operator {
 public:
  using K = KeyOf<Selector, T>;

  RollingOperator(Selector selector, Agg aggregate, Make make, Emission emission)
      : selector_(std::move(selector)),
        aggregate_(std::move(aggregate)),
        make_(std::move(make)),
        emission_(emission) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    auto table = context.state->keyed<K, Accumulator>("aggregate", StateKind::aggregating);
    if (!table) return table.error();
    table_ = *std::move(table);
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<T>(*in);
    WEIR_TRY(check_keys(input, rows, selector_, context_->keys, context_->operator_name));
    if (emission_ == Emission::at_end) {
      fold(input, rows, selector_, aggregate_, *table_);
      return Progress{StepResult::done, rows.end};
    }
    constexpr std::size_t ahead = 24;
    auto& output = out.port<Out>();
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      if (row + ahead < rows.end) table_->prefetch(input.hashes[row + ahead]);
      const T& value = input.values[row];
      const auto& key = std::invoke(selector_, value);
      Accumulator& acc = table_->find_or_insert(input.hashes[row], key);
      aggregate_.add(acc, value);
      output.push_from(input, row, make_(key, aggregate_.result(acc)));
    }
    return Progress{StepResult::done, rows.end};
  }

  // Final values leave before the last watermark, which tells those behind that nothing follows.
  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    if (emission_ == Emission::at_end && watermark == EventTime::max()) {
      auto& output = out.port<Out>();
      BudgetCheck budget(out.budget());
      const bool all = table_->walk(cursor_, [&](const K& key, const Accumulator& acc) {
        output.push(make_(key, aggregate_.result(acc)));
        return !output.full() && !budget.spent();
      });
      if (!all) return output.full() ? StepResult::output_full : StepResult::yield;
      table_->clear();  // it has been put out: a snapshot from now on must not have it
      cursor_ = {};
    }
    out.emit_watermark(watermark);
    return StepResult::done;
  }

 private:
  using Accumulator = typename Agg::Accumulator;

  Selector selector_;
  Agg aggregate_;
  Make make_;
  Emission emission_;
  const OperatorContext* context_ = nullptr;
  std::shared_ptr<KeyedTable<K, Accumulator>> table_;  // shared with the backend
  TableCursor cursor_;                                 // of what is put out at the end
};

}  // namespace weir
