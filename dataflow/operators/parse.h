// Reads records out of what a source delivers, and deals with those that do not parse.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "base/row_text.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/operator.h"
#include "dataflow/output.h"

namespace weir {

// Where a record came from, for messages: "access.log:17" for lines of files (see TextLine), else
// its beginning.
template <class T>
[[nodiscard]] std::string place_of(const T& record) {
  if constexpr (requires { record.place(); }) {
    return record.place();
  } else {
    constexpr std::size_t shown_max = 80;
    std::string text;
    append_text(text, record);
    if (text.size() > shown_max) text = text.substr(0, shown_max) + "…";
    return "'" + text + "'";
  }
}

// f(const In&) → Result<Out> or std::optional<Out>. A record that does not parse is counted and
// skipped, the first few are shown; in strict mode it fails the task.
template <class In, class Out, class F>
class ParseOperator final : public FunctionOperator<F> {
 public:
  using FunctionOperator<F>::FunctionOperator;

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    return FunctionOperator<F>::open(context);
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<In>(*in);
    auto& output = out.port<Out>();
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      auto parsed = std::invoke(this->f_, input.values[row]);
      if (!parsed) {
        WEIR_TRY(refuse(input.values[row], reason(parsed)));
      } else {
        output.push_from(input, row, std::move(*parsed));
      }
    }
    return Progress{StepResult::done, rows.end};
  }

 private:
  static constexpr int shown_max = 3;

  static std::string reason(const std::optional<Out>& /*nothing*/) { return "it does not parse"; }
  static std::string reason(const Result<Out>& failed) { return failed.error().message; }

  Result<void> refuse(const In& record, const std::string& why) {
    if (context_->strict) {
      return Error{Errc::bad_record,
                   place_of(record) + ": " + why + " (step '" + context_->operator_name +
                       "'; without --strict such records are counted and skipped)"};
    }
    ++context_->metrics->bad_records;
    if (shown_ < shown_max) {
      ++shown_;
      context_->warn(place_of(record) + ": skipped, " + why);
    }
    return {};
  }

  const OperatorContext* context_ = nullptr;
  int shown_ = 0;
};

}  // namespace weir
