// Runs asynchronous functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "dataflow/api/async.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/operator.h"
#include "dataflow/operators/async_queue.h"
#include "dataflow/output.h"

namespace weir {

// A record that is under way, as it is in snapshots.
template <class T>
struct AsyncInput {
  T value{};
  EventTime time = no_timestamp;
};

// Calls function(const T&, AsyncResult<Out>) for each record and puts out what it answers, with the record's time.
//
// The records that have not been answered, or whose answer has not left, are the state; after a restore their requests are made again.
// So a request may be made more than once, but its answer counts once. So is the watermark that each instance has received, which may wait
// behind them: records of any instance may be anywhere after a restore, so they are followed by the least of all.
template <class T, class Out, class F>
class AsyncMapOperator final : public Operator {
 public:
  AsyncMapOperator(F function, AsyncOptions options)
      : function_(std::move(function)), options_(options), queue_(options.order) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    inbox_ = std::make_shared<async_detail::Inbox<Out>>(context.waker);
    auto inputs = context.state->list<AsyncInput<T>>("records under way", StateKind::split_list);
    if (!inputs) return inputs.error();
    inputs_ = *std::move(inputs);
    auto received = context.state->list<EventTime>("watermark received", StateKind::union_list);
    if (!received) return received.error();
    received_ = *std::move(received);
    open_function(function_, context);
    opened_ = &context;
    for (AsyncInput<T>& input : std::exchange(*inputs_, {})) begin(std::move(input));
    const auto least = std::ranges::min_element(*received_);
    received_->assign(1, least == received_->end() ? EventTime::min() : *least);
    if (received_->front() > EventTime::min()) {
      add(Watermark{received_->front()});
      may_go_on_ = true;
    }
    return {};
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<T>(*in);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      WEIR_TRY(drain(out));
      if (out.any_full()) return Progress{StepResult::output_full, row};
      if (may_go_on_) return Progress{StepResult::yield, row};
      if (queue_.size() >= options_.capacity) return Progress{StepResult::blocked, row};
      begin({input.values[row], input.times.empty() ? no_timestamp : input.times[row]});
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    if (watermark <= received_->front()) return StepResult::done;  // read again after a restore
    received_->front() = watermark;
    add(Watermark{watermark});
    WEIR_TRY(drain(out));
    return StepResult::done;
  }
  [[nodiscard]] Result<StepResult> on_idle(bool idle, Outputs& out) override {
    add(WatermarkStatus{idle});
    WEIR_TRY(drain(out));
    return StepResult::done;
  }

  [[nodiscard]] Result<StepResult> on_loop_marker(LoopMarker marker, Outputs& out) override {
    add(marker);
    WEIR_TRY(drain(out));
    return StepResult::done;
  }

  // At once if there is something to put out, also when nothing comes in.
  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    if (may_go_on_ || !inbox_->empty()) return ProcessingTime{};
    return next_due_;
  }
  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    WEIR_TRY(drain(out));
    if (next_due_ && *next_due_ <= now) WEIR_TRY(look_at_times(now));
    return StepResult::done;
  }

  [[nodiscard]] Result<StepResult> finish(Outputs& out) override {
    WEIR_TRY(drain(out));
    if (may_go_on_) return StepResult::yield;
    return queue_.size() == 0 ? StepResult::done : StepResult::blocked;
  }

  [[nodiscard]] Result<void> prepare_snapshot(CheckpointId) override {
    inputs_->clear();
    queue_.for_each([this](const Request& request) { inputs_->push_back(request.input); });
    return {};
  }

  void close() override {
    if (inbox_ != nullptr) inbox_->close();
    close_function(function_, std::exchange(opened_, nullptr));
  }

 private:
  struct Request {
    AsyncInput<T> input;
    std::uint64_t id = 0;
    ProcessingTime deadline{};
    std::uint32_t attempt = 0;  // the one under way
    std::optional<ProcessingTime> again_at{};
    std::optional<std::vector<Out>> answer{};
    std::size_t left = 0;  // of the answer's records, those that have been put out
  };

  void begin(AsyncInput<T> input) {
    auto request = std::make_shared<Request>();
    request->input = std::move(input);
    request->id = ++last_id_;
    request->deadline = context_->clock->processing_time() + options_.timeout;
    under_way_.emplace(request->id, request);
    due_by(request->deadline);
    queue_.add(request);
    call(*request);
  }

  // An exception is a failure of the request.
  void call(Request& request) {
    const AsyncResult<Out> result(inbox_, request.id, ++request.attempt);
    try {
      function_(std::as_const(request.input.value), result);
    } catch (const std::exception& e) {
      result.fail(e.what());
    } catch (...) {
      result.fail("an exception that is not a std::exception");
    }
  }

  [[nodiscard]] Result<void> take_answers() {
    for (auto& answer : inbox_->take()) {
      const auto found = under_way_.find(answer.request);
      if (found == under_way_.end() || found->second->attempt != answer.attempt) continue;
      Request& request = *found->second;
      if (request.again_at) continue;  // this attempt has failed before
      if (!answer.failure) {
        request.answer = std::move(answer.values);
        under_way_.erase(found);
        may_leave_ = true;
      } else if (request.attempt < options_.retry.attempts) {
        request.again_at = context_->clock->processing_time() + delay_after(request.attempt);
        due_by(*request.again_at);
      } else {
        return failed(*answer.failure, request);
      }
    }
    return {};
  }

  [[nodiscard]] Duration delay_after(std::uint32_t attempt) const {
    double delay = static_cast<double>(options_.retry.delay.count());
    for (std::uint32_t i = 1; i < attempt && delay < 1e15; ++i) delay *= options_.retry.backoff;
    return std::min(options_.retry.delay_max,
                    Duration{static_cast<std::int64_t>(std::min(delay, 1e15))});
  }

  // Requests that have waited too long, or that are to be made again.
  [[nodiscard]] Result<void> look_at_times(ProcessingTime now) {
    next_due_.reset();
    std::vector<std::shared_ptr<Request>> again;
    for (const auto& [id, request] : under_way_) {
      if (request->deadline <= now) {
        return Error{Errc::timeout,
                     "'" + context_->operator_name + "' got no answer for a record within " +
                         std::to_string(options_.timeout.count()) +
                         " ms (AsyncOptions::timeout): is the service there? Attempts made: " +
                         std::to_string(request->attempt)};
      }
      due_by(request->deadline);
      if (!request->again_at) continue;
      if (*request->again_at <= now) {
        again.push_back(request);
      } else {
        due_by(*request->again_at);
      }
    }
    for (const auto& request : again) {
      request->again_at.reset();
      call(*request);
    }
    return {};
  }

  void due_by(ProcessingTime time) {
    if (!next_due_ || time < *next_due_) next_due_ = time;
  }

  [[nodiscard]] Error failed(const std::string& why, const Request& request) const {
    return {Errc::user_code,
            "'" + context_->operator_name + "' failed a request" +
                (request.attempt > 1 ? " after " + std::to_string(request.attempt) + " attempts"
                                     : std::string()) +
                ": " + why};
  }

  void add(typename AsyncQueue<Request>::Control control) {
    queue_.add(control);
    may_leave_ = true;
  }

  // Puts out what may leave, up to a full batch or the next control: that leaves behind all that a call has put out.
  [[nodiscard]] Result<void> drain(Outputs& out) {
    WEIR_TRY(take_answers());
    may_go_on_ = false;
    auto& output = out.port<Out>();
    while (may_leave_) {
      if (leaving_ != nullptr) {
        put_out(*leaving_, output);
        may_go_on_ = output.full();
        if (may_go_on_) return {};
        leaving_.reset();
      }
      auto next = queue_.next([](const Request& request) { return request.answer.has_value(); });
      if (auto* request = std::get_if<std::shared_ptr<Request>>(&next)) {
        leaving_ = std::move(*request);
        continue;
      }
      const auto* control = std::get_if<typename AsyncQueue<Request>::Control>(&next);
      may_leave_ = control != nullptr;
      if (!may_leave_) break;
      if (const auto* watermark = std::get_if<Watermark>(control))
        out.emit_watermark(watermark->time);
      if (const auto* status = std::get_if<WatermarkStatus>(control)) out.emit_idle(status->idle);
      if (const auto* marker = std::get_if<LoopMarker>(control)) out.emit_loop_marker(*marker);
      may_go_on_ = true;
      break;
    }
    return {};
  }

  // As much of its answer as there is room for.
  static void put_out(Request& request, Output<Out>& output) {
    auto& values = *request.answer;
    for (; request.left < values.size() && !output.full(); ++request.left)
      output.push(std::move(values[request.left]), request.input.time);
  }
  F function_;
  AsyncOptions options_;
  AsyncQueue<Request> queue_;
  const OperatorContext* context_ = nullptr;
  const OperatorContext* opened_ = nullptr;          // of the function
  std::shared_ptr<async_detail::Inbox<Out>> inbox_;  // shared with the requests under way
  std::unordered_map<std::uint64_t, std::shared_ptr<Request>> under_way_;  // without answer
  std::shared_ptr<std::vector<AsyncInput<T>>>
      inputs_;  // shared with the backend, filled for snapshots
  std::shared_ptr<std::vector<EventTime>> received_;  // the last watermark; likewise
  std::shared_ptr<Request> leaving_;                  // its answer is being put out
  std::optional<ProcessingTime> next_due_;
  bool may_leave_ = false;  // something of the queue, which is not looked through otherwise
  bool may_go_on_ = false;  // with what need not wait for an answer
  std::uint64_t last_id_ = 0;
};

}  // namespace weir
