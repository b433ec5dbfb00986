// Functions that want to know where they run, and when they begin and end.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "base/ids.h"
#include "dataflow/counters.h"
#include "dataflow/operator.h"

namespace weir {

// What a function's open is given. A function that is a class may have
//   void open(const FunctionContext&);   once per instance and attempt, before its first record
//   void close();                        after the last, also when the task has failed or was cancelled
// if it is that of a map, filter, flat_map, parse, process, async_map, of a window (on_window) or a join. Others are refused.
// An exception of open fails the task, one of close is told in the log. What they need to know (a file's name, a limit) is best a member that
// the program sets when it describes the job.
class FunctionContext {
 public:
  explicit FunctionContext(const OperatorContext& context) : context_(&context) {}

  [[nodiscard]] const std::string& job_name() const { return context_->job_name; }
  [[nodiscard]] const std::string& step_name() const { return context_->operator_name; }
  [[nodiscard]] std::uint32_t subtask() const { return context_->subtask.value; }
  [[nodiscard]] std::uint32_t parallelism() const { return context_->parallelism; }
  // From 1; higher after each restart.
  [[nodiscard]] std::uint64_t attempt() const { return context_->attempt.value; }
  // A count under this name; see Counter.
  [[nodiscard]] Counter counter(const std::string& name) const {
    return Counter(context_->metrics->counters.cell(name));
  }
  // Says something in the log, with the task's name.
  void warn(const std::string& text) const { context_->warn(text); }

 private:
  const OperatorContext* context_;
};

template <class F>
concept OpenedOrClosed = requires(F& f, const FunctionContext& context) {
  f.open(context);
}
|| requires(F& f) {
  f.close();
};

// For all other functions that a job takes.
template <class F>
consteval void check_not_opened() {
  static_assert(!OpenedOrClosed<F>,
                "weir: open and close would not be called here: they are for functions of map, "
                "filter, flat_map, parse, process, async_map, windows and joins");
}

template <class F>
void open_function(F& function, const OperatorContext& context) {
  if constexpr (requires(const FunctionContext& of_function) { function.open(of_function); })
    function.open(FunctionContext(context));
}

// Requires that open_function was called; `context` is null if it was not.
template <class F>
void close_function(F& function, const OperatorContext* context) {
  if constexpr (requires { function.close(); }) {
    if (context == nullptr) return;
    try {
      function.close();
    } catch (const std::exception& e) {
      context->warn("close() of '" + context->operator_name + "' threw an exception: " + e.what());
    } catch (...) {
      context->warn("close() of '" + context->operator_name + "' threw something");
    }
  }
}

// Base of operators that run one function F, for the two calls.
template <class F>
class FunctionOperator : public Operator {
 public:
  explicit FunctionOperator(F function) : f_(std::move(function)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    open_function(f_, context);
    opened_ = &context;
    return {};
  }
  void close() override { close_function(f_, std::exchange(opened_, nullptr)); }

 protected:
  F f_;

 private:
  const OperatorContext* opened_ = nullptr;
};

}  // namespace weir
