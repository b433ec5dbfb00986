// A sink that shows rows to people.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/row_text.h"
#include "dataflow/connectors/line_output.h"
#include "dataflow/sink.h"

namespace weir {

struct PrintOptions {
  // Never null; shared by all writers of the process.
  std::shared_ptr<LineOutput> output = standard_output();
};

// One line a row, which begins with "3> " if there are several writers and it is the third. The
// rows of a call are written at once.
template <RowWritable T>
class PrintWriter final : public SinkOperator {
 public:
  explicit PrintWriter(std::shared_ptr<LineOutput> output) : output_(std::move(output)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    if (context.parallelism > 1) prefix_ = std::to_string(context.subtask.value + 1) + "> ";
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort /*port*/, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    const auto& values = batch_cast<T>(*in).values;
    lines_.clear();
    for (std::size_t i = rows.begin; i < rows.end; ++i) {
      lines_ += prefix_;
      append_text(lines_, values[i]);
      lines_ += '\n';
    }
    WEIR_TRY(output_->write(lines_));
    return Progress{StepResult::done, rows.end};
  }

 private:
  std::shared_ptr<LineOutput> output_;
  std::string prefix_;
  std::string lines_;
};

class Print {
 public:
  explicit Print(PrintOptions options) : output_(std::move(options.output)) {}

  [[nodiscard]] std::string describe() const { return "print"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <RowWritable T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<PrintWriter<T>>(output_);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }

 private:
  std::shared_ptr<LineOutput> output_;
};

[[nodiscard]] inline Print print(PrintOptions options = {}) {
  return Print(std::move(options));
}

}  // namespace weir
