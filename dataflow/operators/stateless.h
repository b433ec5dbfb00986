// map, filter and flat_map: one record in, any number out, nothing remembered.
#pragma once

#include <functional>
#include <optional>
#include <ranges>
#include <type_traits>
#include <utility>

#include "dataflow/api/rich_function.h"
#include "dataflow/operator.h"
#include "dataflow/output.h"

namespace weir {

template <class In, class Out, class F>
class MapOperator final : public FunctionOperator<F> {
 public:
  using FunctionOperator<F>::FunctionOperator;

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<In>(*in);
    auto& output = out.port<Out>();
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      output.push_from(input, row, std::invoke(this->f_, input.values[row]));
    }
    return Progress{StepResult::done, rows.end};
  }
};

template <class T, class Predicate>
class FilterOperator final : public FunctionOperator<Predicate> {
 public:
  using FunctionOperator<Predicate>::FunctionOperator;

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    auto& input = batch_cast<T>(*in);
    auto& output = out.port<T>();
    const bool owned = is_unique(in);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      T& value = input.values[row];
      if (!std::invoke(this->f_, std::as_const(value))) continue;
      output.push_from(input, row, owned ? T(std::move(value)) : T(value));
    }
    return Progress{StepResult::done, rows.end};
  }
};

// flat_map with a function that returns a range. The range may be lazy, a view of the record: the
// operator stops in the middle of it when the output is full, so a record may expand to any number
// of others in bounded memory.
template <class In, class Out, class F>
class FlatMapOperator final : public FunctionOperator<F> {
 public:
  using FunctionOperator<F>::FunctionOperator;

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<In>(*in);
    auto& output = out.port<Out>();
    BudgetCheck budget(out.budget());
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (!expansion_) expansion_.emplace(this->f_, input.values[row]);
      for (; expansion_->next != expansion_->end; ++expansion_->next) {
        if (output.full()) return Progress{StepResult::output_full, row};
        if (budget.spent()) return Progress{StepResult::yield, row};
        output.push_from(input, row, Out(*expansion_->next));
      }
      expansion_.reset();
    }
    return Progress{StepResult::done, rows.end};
  }

 private:
  using Range =
      decltype(std::views::all(std::invoke(std::declval<F&>(), std::declval<const In&>())));

  // One record's range, and how far it was read. Not movable: the iterators belong to the range.
  struct Expansion {
    Expansion(F& f, const In& record)
        : range(std::views::all(std::invoke(f, record))),
          next(std::ranges::begin(range)),
          end(std::ranges::end(range)) {}
    Expansion(const Expansion&) = delete;
    Expansion& operator=(const Expansion&) = delete;

    Range range;
    std::ranges::iterator_t<Range> next;
    std::ranges::sentinel_t<Range> end;
  };

  std::optional<Expansion> expansion_;
};

// Takes what a function has to say about one record.
template <class T>
class Collector {
 public:
  Collector(Output<T>& output, EventTime at) : output_(&output), at_(at) {}

  void operator()(T value) { output_->push(std::move(value), at_); }
  void collect(T value) { (*this)(std::move(value)); }

 private:
  Output<T>* output_;
  EventTime at_;
};

// flat_map with a function (record, Collector&). What one call collects is kept at once, however
// much it is.
template <class In, class Out, class F>
class CollectingFlatMapOperator final : public FunctionOperator<F> {
 public:
  using FunctionOperator<F>::FunctionOperator;

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<In>(*in);
    auto& output = out.port<Out>();
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      Collector<Out> collector(output, input.times.empty() ? no_timestamp : input.times[row]);
      std::invoke(this->f_, input.values[row], collector);
    }
    return Progress{StepResult::done, rows.end};
  }
};

}  // namespace weir
