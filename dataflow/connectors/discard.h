// A sink that takes rows and does nothing with them, for measuring what is before it.
#pragma once

#include <memory>
#include <string>

#include "dataflow/sink.h"

namespace weir {

class DiscardWriter final : public SinkOperator {
 public:
  [[nodiscard]] Result<Progress> process(InputPort /*port*/, BatchPtr& /*in*/, RowRange rows,
                                         Outputs& /*out*/) override {
    return Progress{StepResult::done, rows.end};
  }
};

class Discard {
 public:
  [[nodiscard]] std::string describe() const { return "discard"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<DiscardWriter>();
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }
};

[[nodiscard]] inline Discard discard() {
  return {};
}

}  // namespace weir
