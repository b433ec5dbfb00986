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
    LogicalNode node;
    node.name = std::move(name);
    node.name_given = true;
    node.kind = "co-process";
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

}  // namespace weir
