// Where operators put what they produce.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/limits.h"
#include "dataflow/batch.h"
#include "dataflow/runtime/element.h"
#include "dataflow/split_change.h"

namespace weir {

// One output port of one operator instance: collects records into a batch that the chain then
// passes on.
class AnyOutput {
 public:
  virtual ~AnyOutput() = default;
  [[nodiscard]] virtual bool empty() const = 0;
  // True when the operator should return `output_full`; pushing on is allowed, and ends with one
  // user call's output.
  [[nodiscard]] virtual bool full() const = 0;
  // The collected batch, null if empty.
  [[nodiscard]] virtual BatchPtr take() = 0;
  // An empty batch to collect into, in place of a new one. Must be of the port's type.
  virtual void reuse(BatchPtr empty_batch) = 0;
  [[nodiscard]] virtual bool wants_batch() const = 0;
};

template <class T>
class Output final : public AnyOutput {
 public:
  void push(T value) { push(std::move(value), no_timestamp); }

  // Also no_timestamp.
  void push(T value, EventTime at) {
    Batch<T>& to = batch();
    account(value);
    if (at != no_timestamp && to.times.empty()) to.times.resize(to.values.size(), no_timestamp);
    to.values.push_back(std::move(value));
    if (at != no_timestamp || !to.times.empty()) to.times.push_back(at);
  }

  // A row of a changelog. Others of the same batch may come by the calls above: they are inserts.
  void push(T value, EventTime at, RowKind kind) {
    Batch<T>& to = batch();
    if (kind != RowKind::insert || !to.kinds.empty()) {
      to.kinds.resize(to.values.size(), RowKind::insert);
      to.kinds.push_back(kind);
    }
    push(std::move(value), at);
  }

  // What make() returns, without a time. Not copied if it is an aggregate.
  template <std::invocable Make>
  void push_made(Make make) {
    Batch<T>& to = batch();
    if constexpr (std::is_aggregate_v<T>) {
      to.values.emplace_back(InPlace<Make>{make});
    } else {
      to.values.push_back(make());
    }
    account(to.values.back());
    if (!to.times.empty()) to.times.push_back(no_timestamp);
  }

  // With the time of the record it was made from: row `row` of `input`.
  template <class In>
  void push_from(const Batch<In>& input, std::size_t row, T value) {
    push(std::move(value), input.times.empty() ? no_timestamp : input.times[row]);
  }

  // Passes a whole batch on, values and columns. Requires empty().
  void forward(BatchPtr whole) {
    WEIR_CHECK(empty());
    WEIR_CHECK(&whole->type() == &batch_type_of<T>());
    spare_ = std::exchange(batch_, std::static_pointer_cast<Batch<T>>(std::move(whole)));
  }

  // The batch under construction, for loops that fill its columns themselves.
  [[nodiscard]] Batch<T>& batch() {
    if (!batch_) batch_ = std::make_shared<Batch<T>>();
    return *batch_;
  }

  [[nodiscard]] bool empty() const override { return !batch_ || batch_->values.empty(); }
  [[nodiscard]] bool full() const override {
    if (!batch_) return false;
    return batch_->values.size() >= rows_max || heap_bytes_ >= limits::batch_bytes_max;
  }
  [[nodiscard]] BatchPtr take() override {
    heap_bytes_ = 0;
    if (empty()) return nullptr;
    if (!batch_->kinds.empty()) batch_->kinds.resize(batch_->values.size(), RowKind::insert);
    return std::exchange(batch_, std::exchange(spare_, nullptr));
  }
  void reuse(BatchPtr empty_batch) override {
    WEIR_CHECK(empty_batch->size() == 0);
    if (!batch_) batch_ = std::static_pointer_cast<Batch<T>>(std::move(empty_batch));
  }
  [[nodiscard]] bool wants_batch() const override { return !batch_; }

  static constexpr std::size_t rows_max = std::max<std::size_t>(
      1, std::min(limits::batch_rows_max, limits::batch_bytes_max / sizeof(T)));

 private:
  // Becomes the value where one is constructed from it; a class's constructor might take it for something else.
  template <class Make>
  struct InPlace {
    Make& make;
    operator T() const { return make(); }  // NOLINT(google-explicit-constructor): that is its use
  };

  void account(const T& value) {
    if constexpr (has_heap<T>) heap_bytes_ += sizeof(T) + heap_bytes(value);
  }

  std::shared_ptr<Batch<T>> batch_;  // shared in type only: held by this port alone
  std::shared_ptr<Batch<T>> spare_;  // the empty one that a forwarded batch displaced
  std::size_t heap_bytes_ = 0;       // of pushed records, counted only when T owns heap memory
};

// Type of an output port, as the plan knows it.
struct PortType {
  const BatchType* batch;
  std::unique_ptr<AnyOutput> (*make_output)();
};

template <class T>
PortType port_type_of() {
  return {.batch = &batch_type_of<T>(),
          .make_output = [] { return std::unique_ptr<AnyOutput>(std::make_unique<Output<T>>()); }};
}

// How long the current step may go on. Loops over user calls ask `spent()` now and then and yield.
class StepBudget {
 public:
  StepBudget(const Clock& clock, std::chrono::nanoseconds length)
      : clock_(&clock), deadline_(clock.now() + length) {}
  [[nodiscard]] bool spent() const { return clock_->now() >= deadline_; }
  [[nodiscard]] const Clock& clock() const { return *clock_; }

 private:
  const Clock* clock_;
  MonotonicTime deadline_;
};

// Asks a budget now and then: each of the first calls, which may be slow, then every 32nd.
class BudgetCheck {
 public:
  explicit BudgetCheck(const StepBudget& budget) : budget_(&budget) {}
  [[nodiscard]] bool spent() {
    constexpr unsigned calls_between_looks = 32;
    ++calls_;
    return (calls_ < calls_between_looks || calls_ % calls_between_looks == 0) && budget_->spent();
  }

 private:
  const StepBudget* budget_;
  unsigned calls_ = 0;
};

// What an operator's call writes to: its ports, and a watermark or idleness that follows the
// records on all of them.
class Outputs {
 public:
  Outputs(std::span<const std::unique_ptr<AnyOutput>> ports, const StepBudget& budget,
          SplitIndex split = {})
      : ports_(ports), budget_(&budget), split_(split) {}

  // Requires that the port exists and carries T.
  template <class T>
  [[nodiscard]] Output<T>& port(OutputPort port = {}) const {
    WEIR_CHECK(port.value < ports_.size());
    return static_cast<Output<T>&>(*ports_[port.value]);
  }
  [[nodiscard]] bool any_full() const {
    for (const auto& port : ports_) {
      if (port->full()) return true;
    }
    return false;
  }

  [[nodiscard]] const StepBudget& budget() const { return *budget_; }
  // The source's split that the records being processed are of, if it reads in this chain and says so.
  [[nodiscard]] SplitIndex split() const { return split_; }

  // Sent after everything this call and those before it have put out.
  void emit_watermark(EventTime watermark) { watermark_ = watermark; }
  void emit_idle(bool idle) { idle_ = idle; }
  void emit_loop_marker(LoopMarker marker) { loop_marker_ = marker; }
  [[nodiscard]] std::optional<EventTime> watermark() const { return watermark_; }
  [[nodiscard]] std::optional<bool> idle() const { return idle_; }
  [[nodiscard]] std::optional<LoopMarker> loop_marker() const { return loop_marker_; }

 private:
  std::span<const std::unique_ptr<AnyOutput>> ports_;
  const StepBudget* budget_;
  SplitIndex split_;
  std::optional<EventTime> watermark_;
  std::optional<bool> idle_;
  std::optional<LoopMarker> loop_marker_;
};

}  // namespace weir
