// Joins two streams of a key by how far their times are apart.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/time.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/operators/join_buffer.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/late_records.h"
#include "dataflow/operators/sweep.h"
#include "dataflow/output.h"
#include "dataflow/window/join_interval.h"
#include "state/keyed_table.h"

namespace weir {

// Where records that come behind the watermark go; none: they are counted and dropped.
struct JoinLatePorts {
  std::optional<OutputPort> left;
  std::optional<OutputPort> right;
};

// What the function of an interval join may ask for about a pair: make(const L&, const R&, const IntervalJoinContext&).
struct IntervalJoinContext {
  EventTime left_timestamp;
  EventTime right_timestamp;
  EventTime timestamp;  // the row's: the later of both
};

// Puts out make(const L&, const R&), which may take a context too, for each pair of the same key whose times lie in the interval, with the later of both times.
//
// A record waits until the watermark says that no partner can come any more. One whose time is before the watermark is late, as
// in Apache Flink. Records are joined as they arrive, so there is nothing to do when the watermark moves but to clean up. What
// waits in vain goes when its key is used again, or a Sweep comes by: at the latest when it has waited twice as long.
template <class L, class SelectorL, class R, class SelectorR, class Out, class Make>
class IntervalJoinOperator final : public Operator {
 public:
  using K = KeyOf<SelectorL, L>;

  IntervalJoinOperator(SelectorL left, SelectorR right, JoinInterval interval, Make make,
                       JoinLatePorts late)
      : left_(std::move(left)),
        right_(std::move(right)),
        interval_(interval),
        make_(std::move(make)),
        late_(late) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    watermark_ = context.watermark;
    auto buffers = context.state->keyed<K, Buffers>("join buffers", StateKind::value);
    if (!buffers) return buffers.error();
    buffers_ = *std::move(buffers);
    sweep_.emplace(watermark_, std::max(Duration{1}, interval_.longest_wait()));
    open_function(make_, context);
    opened_ = &context;
    return {};
  }
  void close() override { close_function(make_, std::exchange(opened_, nullptr)); }

  [[nodiscard]] Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    return port.value == 0 ? join_rows<0>(*in, rows, out) : join_rows<1>(*in, rows, out);
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    watermark_ = watermark;
    const bool is_swept = sweep_->go_on(
        watermark, *buffers_, out.budget(),
        [this](const Buffers& waiting) { return first_useless(waiting) <= watermark_; },
        [this](Buffers& waiting) {
          drop_useless<0>(waiting.left);
          drop_useless<1>(waiting.right);
          return !waiting.left.empty() || !waiting.right.empty();
        });
    if (!is_swept) return StepResult::yield;
    out.emit_watermark(watermark);
    return StepResult::done;
  }

 private:
  using Buffers = JoinBuffers<L, R>;

  static constexpr auto touch_waiting = [](const Buffers& waiting) {
    waiting.left.touch();
    waiting.right.touch();
  };

  template <std::size_t Side>
  static auto& own(Buffers& buffers) {
    if constexpr (Side == 0) {
      return buffers.left;
    } else {
      return buffers.right;
    }
  }

  template <std::size_t Side>
  Result<Progress> join_rows(AnyBatch& any, RowRange rows, Outputs& out) {
    using T = std::tuple_element_t<Side, std::tuple<L, R>>;
    const auto& input = batch_cast<T>(any);
    const auto& selector = std::get<Side>(std::tie(left_, right_));
    if (input.times.empty())
      return missing_time(context_->operator_name, "on both streams before the interval join");
    WEIR_TRY(check_keys(input, rows, selector, context_->keys, context_->operator_name));
    TouchAhead ahead;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (out.any_full()) return Progress{StepResult::output_full, row};
      ahead.row(*buffers_, input.hashes, row, rows.end, touch_waiting);
      const EventTime at = input.times[row];
      if (at == no_timestamp)
        return missing_time(context_->operator_name, "on both streams before the interval join");
      if (at < watermark_) {
        drop_late(input.values[row], at, Side == 0 ? late_.left : late_.right, *context_->metrics,
                  out);
        continue;
      }
      const auto& key = std::invoke(selector, input.values[row]);
      Buffers& buffers = buffers_->find_or_insert(input.hashes[row], key);
      // What is over but not swept must not be found: a record at the watermark is not late, and could.
      drop_useless<0>(buffers.left);
      drop_useless<1>(buffers.right);
      const StepResult joined = join_row<Side>(buffers, input.values[row], at, out);
      if (joined != StepResult::done) return Progress{joined, row};
      own<Side>(buffers).insert({at, input.values[row]});
    }
    return Progress{StepResult::done, rows.end};
  }

  // With all that wait on the other side, from where the last call for this row stopped.
  template <std::size_t Side, class T>
  StepResult join_row(Buffers& buffers, const T& value, EventTime at, Outputs& out) {
    const auto& others = own<1 - Side>(buffers);
    const auto [first, last] = Side == 0 ? interval_.rights_of(at) : interval_.lefts_of(at);
    const std::size_t begin = others.lower_bound(first);
    auto& output = out.port<Out>();
    for (std::size_t i = begin + std::exchange(pairs_made_, 0); i < others.size(); ++i) {
      const auto& other = others[i];
      if (other.at > last) break;
      if (output.full()) {
        pairs_made_ = i - begin;
        return StepResult::output_full;
      }
      if constexpr (Side == 0) {
        push_pair(value, at, other.value, other.at, output);
      } else {
        push_pair(other.value, other.at, value, at, output);
      }
    }
    return StepResult::done;
  }
  void push_pair(const L& left, EventTime left_at, const R& right, EventTime right_at,
                 Output<Out>& output) {
    const EventTime later = std::max(left_at, right_at);
    if constexpr (std::invocable<Make&, const L&, const R&>) {
      output.push(make_(left, right), later);
    } else {
      output.push(make_(left, right, IntervalJoinContext{left_at, right_at, later}), later);
    }
  }

  // From this watermark on no partner can come.
  template <std::size_t Side>
  [[nodiscard]] EventTime useless_at(EventTime at) const {
    return std::max(at, (Side == 0 ? interval_.rights_of(at) : interval_.lefts_of(at)).second);
  }
  [[nodiscard]] EventTime first_useless(const Buffers& buffers) const {
    EventTime first = EventTime::max();
    if (!buffers.left.empty()) first = useless_at<0>(buffers.left.front().at);
    if (!buffers.right.empty()) first = std::min(first, useless_at<1>(buffers.right.front().at));
    return first;
  }

  template <std::size_t Side, class T>
  void drop_useless(JoinBuffer<T>& side) {
    side.drop_front([this](const JoinElement<T>& element) {
      return useless_at<Side>(element.at) <= watermark_;
    });
  }

  SelectorL left_;
  SelectorR right_;
  JoinInterval interval_;
  Make make_;
  JoinLatePorts late_;
  const OperatorContext* context_ = nullptr;
  const OperatorContext* opened_ = nullptr;          // of make
  std::shared_ptr<KeyedTable<K, Buffers>> buffers_;  // shared with the backend
  std::optional<Sweep> sweep_;                       // once opened
  std::size_t pairs_made_ = 0;                       // of the row that a call stopped in
  EventTime watermark_ = EventTime::min();
};

}  // namespace weir
