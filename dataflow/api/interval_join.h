// Joins of two keyed streams by how far the times of their records are apart.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/late_output.h"
#include "dataflow/api/stream.h"
#include "dataflow/operators/interval_join.h"
#include "dataflow/window/join_interval.h"

namespace weir {

// Rows of an interval join.
template <class Out, class L, class R>
class IntervalJoinResults : public Stream<Out> {
 public:
  using MakeFactory = std::function<OperatorFactory(JoinLatePorts)>;

  IntervalJoinResults(Stream<Out> stream, MakeFactory make_factory)
      : Stream<Out>(std::move(stream)), make_factory_(std::move(make_factory)) {}

  // The records that came behind the watermark, with their times. Without it they are counted and dropped.
  [[nodiscard]] Stream<L> late_left() { return late<L>(ports_.left, "late left"); }
  [[nodiscard]] Stream<R> late_right() { return late<R>(ports_.right, "late right"); }

 private:
  template <class T>
  [[nodiscard]] Stream<T> late(std::optional<OutputPort>& port, const char* name) {
    return late_output<T>(*this, port, name, [this] { return make_factory_(ports_); });
  }

  MakeFactory make_factory_;
  JoinLatePorts ports_;
};

// Pairs of a key whose event times are near each other:
//
//   orders.key_by(&Order::id)
//       .interval_join(payments.key_by(&Payment::order))
//       .between(-1min, 1h)                 // payment time - order time
//       .process("paid", [](const Order& o, const Payment& p) { return Paid{o.id, p.at}; });
//
// Both ends belong to it unless said otherwise. A row has the later of both times. State keeps a record up to twice as long as it can match.
template <class L, class SelectorL, class R, class SelectorR>
class IntervalJoin {
 public:
  IntervalJoin(KeyedStream<L, SelectorL> left, KeyedStream<R, SelectorR> right,
               JoinInterval interval)
      : left_(std::move(left)), right_(std::move(right)), interval_(interval) {}

  [[nodiscard]] IntervalJoin lower_bound_exclusive() const {
    return {left_, right_, interval_.without_lower()};
  }
  [[nodiscard]] IntervalJoin upper_bound_exclusive() const {
    return {left_, right_, interval_.without_upper()};
  }

  // make(const L&, const R&) → the row; or make(const L&, const R&, const IntervalJoinContext&), which knows both times.
  template <class Make>
  [[nodiscard]] auto process(std::string name, Make make) const {
    if constexpr (std::invocable<Make&, const L&, const R&>) {
      return joined<stream_detail::ResultOf<Make, const L&, const R&>>(std::move(name),
                                                                       std::move(make));
    } else if constexpr (std::invocable<Make&, const L&, const R&, const IntervalJoinContext&>) {
      return joined<stream_detail::ResultOf<Make, const L&, const R&, const IntervalJoinContext&>>(
          std::move(name), std::move(make));
    } else {
      static_assert(stream_detail::never<Make>,
                    "weir: an interval join needs a function (const Left&, const Right&) → row; it "
                    "may take a const IntervalJoinContext& too");
    }
  }

 private:
  template <class Out, class Make>
  [[nodiscard]] auto joined(std::string name, Make make) const {
    if (const auto mistake = interval_.mistake()) left_.builder().add_mistake(*mistake);
    auto make_factory = [make, interval = interval_, left = left_.selector(),
                         right = right_.selector()](JoinLatePorts late) {
      return OperatorFactory([=] {
        using Op = IntervalJoinOperator<L, SelectorL, R, SelectorR, Out, Make>;
        return std::make_unique<Op>(left, right, interval, make, late);
      });
    };
    auto node = left_.template keyed_node<Out>(std::move(name), "interval join", make_factory({}));
    node.input_hashers.push_back(right_.hasher());
    PlanBuilder& builder = left_.builder();
    const NodeId id = builder.add(std::move(node));
    builder.connect(left_.origins(), id, InputPort{0});
    builder.connect(right_.origins(), id, InputPort{1});
    return IntervalJoinResults<Out, L, R>(Stream<Out>(builder, {Origin{id, {}, {}, nullptr}}),
                                          std::move(make_factory));
  }

  KeyedStream<L, SelectorL> left_;
  KeyedStream<R, SelectorR> right_;
  JoinInterval interval_;
};

// Two streams that wait for their interval.
template <class L, class SelectorL, class R, class SelectorR>
class IntervalJoinPair {
 public:
  IntervalJoinPair(KeyedStream<L, SelectorL> left, KeyedStream<R, SelectorR> right)
      : left_(std::move(left)), right_(std::move(right)) {}

  // How much later than a record on the left one on the right may be, both ends included; below 0: earlier. A lower bound above the
  // upper one is a mistake of the plan.
  [[nodiscard]] IntervalJoin<L, SelectorL, R, SelectorR> between(Duration lower,
                                                                 Duration upper) const {
    return {left_, right_, JoinInterval(lower, upper)};
  }

 private:
  KeyedStream<L, SelectorL> left_;
  KeyedStream<R, SelectorR> right_;
};

}  // namespace weir
