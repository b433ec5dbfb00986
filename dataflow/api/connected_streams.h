// Two streams of different types, into one function.
#pragma once

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataflow/api/function_traits.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/stream.h"
#include "dataflow/operators/process.h"
#include "dataflow/plan/plan_builder.h"

namespace weir {

namespace stream_detail {

// A broadcast state stays the same in all subtasks only if all of them see what changes it.
template <class F>
void check_broadcast(PlanBuilder& builder, const std::string& name,
                     const std::vector<Origin>& second) {
  for (const Origin& origin : second) {
    if (!declares_broadcast_state<F>() || origin.partitioning == Partitioning::broadcast) continue;
    builder.add_mistake("'" + name + "' has a broadcast state, but its second input '" +
                        builder.node(origin.node).name +
                        "' does not go to all subtasks: connect with .broadcast()");
  }
}

}  // namespace stream_detail

// Two streams into one function without key.
template <class A, class B>
class ConnectedStreams {
 public:
  ConnectedStreams(PlanBuilder& builder, std::vector<Origin> first, std::vector<Origin> second)
      : builder_(&builder), first_(std::move(first)), second_(std::move(second)) {}

  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    static_assert(stream_detail::TwoInputFunction<F>,
                  "weir: a co-process function needs on_element1(const A&, Context<Out>&) and "
                  "on_element2(const B&, …)");
    using Ctx = typename process_detail::CallbackTypes<decltype(&F::on_element1)>::ContextType;
    using Out = typename Ctx::Output;
    static_assert(std::is_same_v<Ctx, Context<Out>>,
                  "weir: this function works per key: connect streams that are keyed, "
                  "a.key_by(…).connect(b.key_by(…))");
    static_assert(!declares_state<F>(),
                  "weir: this function has state or timers, which belong to a key: connect streams "
                  "that are keyed");
    stream_detail::check_broadcast<F>(*builder_, name, second_);
    LogicalNode node;
    node.name = std::move(name);
    node.name_given = true;
    node.kind = "co-process";
    node.stateful = declares_operator_state<F>();
    node.factory = [function] { return std::make_unique<ProcessOperator<F, Out, A, B>>(function); };
    node.outputs.push_back(port_type_of<Out>());
    node.output_names.emplace_back();
    node.input_hashers.resize(2);
    append_side_outputs(function, node.outputs, node.output_names);
    const NodeId id = builder_->add(std::move(node));
    builder_->connect(first_, id, InputPort{0});
    builder_->connect(second_, id, InputPort{1});
    return Stream<Out>(*builder_, {Origin{id, {}, {}, nullptr}});
  }

 private:
  PlanBuilder* builder_;
  std::vector<Origin> first_;
  std::vector<Origin> second_;
};

// Two streams of the same key into one function, which shares its state between them.
template <class A, class SelectorA, class B, class SelectorB>
class KeyedConnectedStreams {
 public:
  KeyedConnectedStreams(KeyedStream<A, SelectorA> first, KeyedStream<B, SelectorB> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    static_assert(stream_detail::TwoInputFunction<F>,
                  "weir: a keyed co-process function needs on_element1(const A&, KeyedContext<K, "
                  "Out>&) and on_element2");
    using K = KeyOf<SelectorA, A>;
    using Ctx = typename process_detail::CallbackTypes<decltype(&F::on_element1)>::ContextType;
    using Out = typename Ctx::Output;
    static_assert(std::is_same_v<Ctx, KeyedContext<K, Out>>,
                  "weir: the function's KeyedContext must name the streams' key type");
    static_assert(
        !declares_timer<F>() ||
            requires(F f, const TimerFiring& firing, Ctx& ctx) { f.on_timer(firing, ctx); },
        "weir: the function has a Timer but no void on_timer(const TimerFiring&, KeyedContext<K, "
        "Out>&)");
    static_assert(!declares_broadcast_state<F>(),
                  "weir: only a broadcast stream may change a BroadcastState: connect with "
                  "rules.broadcast() instead of a keyed stream");
    auto node = first_.template keyed_node<Out>(
        std::move(name), "co-process", [function, a = first_.selector(), b = second_.selector()] {
          using Op = KeyedProcessOperator<F, K, Out, std::tuple<SelectorA, SelectorB>, A, B>;
          return std::make_unique<Op>(function, std::tuple{a, b});
        });
    node.input_hashers.push_back(second_.hasher());
    append_side_outputs(function, node.outputs, node.output_names);
    PlanBuilder& builder = first_.builder();
    const NodeId id = builder.add(std::move(node));
    builder.connect(first_.origins(), id, InputPort{0});
    builder.connect(second_.origins(), id, InputPort{1});
    return Stream<Out>(builder, {Origin{id, {}, {}, nullptr}});
  }

 private:
  KeyedStream<A, SelectorA> first_;
  KeyedStream<B, SelectorB> second_;
};

// A keyed stream and one whose records go to all subtasks, into one function: its second input has
// no key, sees no keyed state, and alone may change a BroadcastState.
template <class A, class SelectorA, class B>
class KeyedBroadcastStreams {
 public:
  KeyedBroadcastStreams(KeyedStream<A, SelectorA> first, std::vector<Origin> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    static_assert(stream_detail::TwoInputFunction<F>,
                  "weir: a keyed function with a broadcast input needs on_element1(const A&, "
                  "KeyedContext<K, Out>&) and on_element2(const B&, Context<Out>&)");
    using K = KeyOf<SelectorA, A>;
    using Ctx = typename process_detail::CallbackTypes<decltype(&F::on_element1)>::ContextType;
    using Ctx2 = typename process_detail::CallbackTypes<decltype(&F::on_element2)>::ContextType;
    using Out = typename Ctx::Output;
    static_assert(std::is_same_v<Ctx, KeyedContext<K, Out>>,
                  "weir: the function's KeyedContext must name the stream's key type");
    static_assert(std::is_same_v<Ctx2, Context<Out>>,
                  "weir: records of the broadcast stream have no key: on_element2 takes "
                  "(const B&, Context<Out>&)");
    static_assert(
        !declares_timer<F>() ||
            requires(F f, const TimerFiring& firing, Ctx& ctx) { f.on_timer(firing, ctx); },
        "weir: the function has a Timer but no void on_timer(const TimerFiring&, KeyedContext<K, "
        "Out>&)");
    PlanBuilder& builder = first_.builder();
    stream_detail::check_broadcast<F>(builder, name, second_);
    auto node = first_.template keyed_node<Out>(
        std::move(name), "co-process", [function, selector = first_.selector()] {
          using Op = KeyedProcessOperator<F, K, Out, std::tuple<SelectorA, NoSelector>, A, B>;
          return std::make_unique<Op>(function, std::tuple{selector, NoSelector{}});
        });
    node.input_hashers.push_back(nullptr);
    append_side_outputs(function, node.outputs, node.output_names);
    const NodeId id = builder.add(std::move(node));
    builder.connect(first_.origins(), id, InputPort{0});
    builder.connect(second_, id, InputPort{1});
    return Stream<Out>(builder, {Origin{id, {}, {}, nullptr}});
  }

 private:
  KeyedStream<A, SelectorA> first_;
  std::vector<Origin> second_;
};

}  // namespace weir
