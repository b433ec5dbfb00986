// Between streams of values and changelogs.
#pragma once

#include <functional>
#include <type_traits>
#include <utility>

#include "dataflow/api/rich_function.h"
#include "dataflow/operator.h"
#include "dataflow/output.h"
#include "dataflow/row_kind.h"

namespace weir {

// Says what records do to a table: f(const T&) → RowKind, the row being the record; or → Change<Row>.
template <class T, class Row, class F>
class ChangelogOperator final : public FunctionOperator<F> {
 public:
  using FunctionOperator<F>::FunctionOperator;

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    auto& input = batch_cast<T>(*in);
    auto& output = out.port<Row>();
    const bool owned = is_unique(in);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      T& value = input.values[row];
      const EventTime at = input.times.empty() ? no_timestamp : input.times[row];
      auto said = std::invoke(this->f_, std::as_const(value));
      if constexpr (std::is_same_v<decltype(said), RowKind>) {
        output.push(owned ? T(std::move(value)) : T(value), at, said);
      } else {
        output.push(std::move(said.row), at, said.kind);
      }
    }
    return Progress{StepResult::done, rows.end};
  }
};

// Makes values of the rows and what they do.
template <class Row>
class ChangesOperator final : public Operator {
 public:
  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    auto& input = batch_cast<Row>(*in);
    auto& output = out.port<Change<Row>>();
    const bool owned = is_unique(in);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      Row& value = input.values[row];
      const RowKind kind = input.kinds.empty() ? RowKind::insert : input.kinds[row];
      output.push_from(input, row, Change<Row>{kind, owned ? Row(std::move(value)) : Row(value)});
    }
    return Progress{StepResult::done, rows.end};
  }
};

}  // namespace weir
