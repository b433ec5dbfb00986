// The untyped part of a harness: a plan with inputs that are fed by hand and outputs that are kept.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dataflow/plan/plan_builder.h"
#include "dataflow/runtime/element.h"
#include "dataflow/runtime/stepped_tasks.h"
#include "dataflow/source.h"

namespace weir {

struct HarnessOptions {
  bool strict = false;                // records that do not parse fail the run, as with --strict
  bool chaining = true;               // false: every step in a task of its own
  ProcessingTime processing_time{0};  // at the beginning
  JobSnapshot restored = {};          // a harness's snapshot(), of the same piece
};

// What has been fed to an input and not been read by its source yet. Elements come in order.
using HarnessQueue = std::deque<Element>;

// Reads a queue of batches of T, an element a poll.
template <class T>
class HarnessReader final : public SourceOperator {
 public:
  explicit HarnessReader(std::shared_ptr<HarnessQueue> queue) : queue_(std::move(queue)) {}

  // A split says that there is something in the queue.
  [[nodiscard]] Result<void> add_split(Split /*split*/) override { return {}; }
  [[nodiscard]] Result<Poll> poll(Outputs& out) override {
    if (queue_->empty()) return Poll{PollResult::need_split};
    Element element = std::move(queue_->front());
    queue_->pop_front();
    if (std::holds_alternative<EndOfInput>(element)) return Poll{PollResult::finished};
    if (auto* batch = std::get_if<BatchPtr>(&element)) out.port<T>().forward(std::move(*batch));
    if (const auto* watermark = std::get_if<Watermark>(&element))
      out.emit_watermark(watermark->time);
    if (const auto* status = std::get_if<WatermarkStatus>(&element)) out.emit_idle(status->idle);
    return Poll{PollResult::more};
  }
  [[nodiscard]] std::vector<Split> snapshot_splits() const override { return {}; }

 private:
  std::shared_ptr<HarnessQueue> queue_;  // shared with the harness and the enumerator
};

// Owned by a harness; see dataflow/harness.h for what the calls mean. First the description:
// add_input for each input, the user's steps on builder(), start. Then the run.
class HarnessRun {
 public:
  using InputIndex = StrongId<struct HarnessInputTag, std::uint32_t>;

  explicit HarnessRun(HarnessOptions options) : options_(std::move(options)) {
    clock_.advance(options_.processing_time - ProcessingTime{0});
  }
  HarnessRun(const HarnessRun&) = delete;
  HarnessRun& operator=(const HarnessRun&) = delete;

  [[nodiscard]] PlanBuilder& builder() { return builder_; }

  template <class T>
  [[nodiscard]] Origin add_input() {
    auto queue = std::make_shared<HarnessQueue>();
    return add_source(port_type_of<T>(), queue,
                      [queue] { return std::make_unique<HarnessReader<T>>(queue); });
  }
  // Keeps what comes out of the step that these origins belong to, of its side outputs too.
  void start(const std::vector<Origin>& origins);

  void feed(InputIndex input, Element element);
  [[nodiscard]] ProcessingTime processing_time() const { return clock_.processing_time(); }
  void advance_to(ProcessingTime time);

  // What has come out of a port; nothing but records and control elements.
  [[nodiscard]] std::vector<Element> take(OutputPort port);

  // Of the step that start was told of.
  [[nodiscard]] OutputPort last_port() const {
    return {static_cast<std::uint16_t>(kept_.size() - 1)};
  }

  [[nodiscard]] JobSnapshot snapshot() const { return tasks_ ? tasks_->snapshot() : JobSnapshot{}; }

  [[nodiscard]] const Result<void>& status() const { return status_; }
  [[nodiscard]] bool finished() const { return tasks_ && tasks_->finished(); }
  [[nodiscard]] std::uint64_t late_records_dropped() const {
    return tasks_ ? tasks_->late_records_dropped() : 0;
  }
  [[nodiscard]] std::uint64_t bad_records() const { return tasks_ ? tasks_->bad_records() : 0; }
  [[nodiscard]] std::uint64_t records_ahead() const { return tasks_ ? tasks_->records_ahead() : 0; }
  [[nodiscard]] std::int64_t counter(const std::string& name) const {
    return tasks_ ? tasks_->counter(name) : 0;
  }

 private:
  using Kept = std::vector<Element>;

  [[nodiscard]] Origin add_source(PortType port, std::shared_ptr<HarnessQueue> queue,
                                  OperatorFactory factory);
  void keep(const std::vector<Origin>& origins);
  void run();

  HarnessOptions options_;
  PlanBuilder builder_;
  ManualClock clock_;
  std::vector<std::shared_ptr<HarnessQueue>> queues_;  // by input
  std::vector<std::shared_ptr<Kept>> kept_;            // by port; shared with the writers
  std::optional<SteppedTasks> tasks_;                  // none if the plan has mistakes
  Result<void> status_;
};

}  // namespace weir
