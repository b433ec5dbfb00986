// A sink that keeps rows in memory for the program or test that runs the job in its own process.
#pragma once

#include <concepts>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/sink.h"

namespace weir {

// Rows of all writers, those of one writer in their order. Thread-safe.
template <class T>
class CollectedRows {
 public:
  void append(std::vector<T> rows) {
    const std::lock_guard lock(mutex_);
    rows_.insert(rows_.end(), std::make_move_iterator(rows.begin()),
                 std::make_move_iterator(rows.end()));
  }
  // What there is so far.
  [[nodiscard]] std::vector<T> rows() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  [[nodiscard]] std::vector<T> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(rows_, {});
  }

 private:
  mutable std::mutex mutex_;
  std::vector<T> rows_;
};

template <class T>
class CollectWriter final : public SinkOperator {
 public:
  explicit CollectWriter(std::shared_ptr<CollectedRows<T>> into) : into_(std::move(into)) {}

  [[nodiscard]] Result<Progress> process(InputPort /*port*/, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    const auto first = batch_cast<T>(*in).values.begin();
    into_->append(std::vector<T>(first + static_cast<std::ptrdiff_t>(rows.begin),
                                 first + static_cast<std::ptrdiff_t>(rows.end)));
    return Progress{StepResult::done, rows.end};
  }

 private:
  std::shared_ptr<CollectedRows<T>> into_;
};

template <class T>
class Collect {
 public:
  explicit Collect(std::shared_ptr<CollectedRows<T>> into) : into_(std::move(into)) {}

  [[nodiscard]] std::string describe() const { return "collect"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <std::same_as<T> U>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<CollectWriter<U>>(into_);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }

 private:
  std::shared_ptr<CollectedRows<T>>
      into_;  // shared with the program, which outlives the job or not
};

template <class T>
[[nodiscard]] Collect<T> collect(std::shared_ptr<CollectedRows<T>> into) {
  return Collect<T>(std::move(into));
}

}  // namespace weir
