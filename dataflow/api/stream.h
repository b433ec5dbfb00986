// Streams: what a job's description is made of. A stream is a handle to the output of a step; each
// call adds a step.
//
// Functions are stored by value and copied into every parallel instance. They are called by one
// thread at a time per instance, with const access to the record; an exception fails the task with
// its message.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "dataflow/api/aggregates.h"
#include "dataflow/api/process.h"
#include "dataflow/api/results.h"
#include "dataflow/connectors/collect.h"
#include "dataflow/connectors/descriptions.h"
#include "dataflow/operators/event_time.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/parse.h"
#include "dataflow/operators/process.h"
#include "dataflow/operators/rolling.h"
#include "dataflow/operators/stateless.h"
#include "dataflow/operators/tumbling_window.h"
#include "dataflow/plan/plan_builder.h"
#include "dataflow/window/window.h"

namespace weir {

template <class T>
class Stream;
template <class T, class Selector>
class KeyedStream;
template <class A, class B>
class ConnectedStreams;
template <class T, class SelectorA, class U, class SelectorB>
class KeyedConnectedStreams;

namespace stream_detail {

template <class F, class... Args>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<F&, Args...>>;

template <class F>
inline constexpr bool never = false;

template <class F, class T>
concept RangeFunction =
    std::invocable<F&, const T&> && std::ranges::input_range<std::invoke_result_t<F&, const T&>>;

// The element type of the Collector that F takes second.
template <class F>
struct CollectorArgument;
template <class F, class R, class T, class Out>
struct CollectorArgument<R (F::*)(T, Collector<Out>&) const> {
  using Type = Out;
};
template <class F, class R, class T, class Out>
struct CollectorArgument<R (F::*)(T, Collector<Out>&)> {
  using Type = Out;
};
template <class R, class T, class Out>
struct CollectorArgument<R (*)(T, Collector<Out>&)> {
  using Type = Out;
};
template <class F>
struct CollectedBy {};
template <class F>
requires requires {
  typename CollectorArgument<F>::Type;
}
struct CollectedBy<F> : CollectorArgument<F> {};
template <class F>
requires requires {
  typename CollectorArgument<decltype(&F::operator())>::Type;
}
struct CollectedBy<F> : CollectorArgument<decltype(&F::operator())> {};

template <class F>
concept CollectingFunction = requires {
  typename CollectedBy<F>::Type;
};

template <class F>
concept OneInputFunction = requires {
  typename process_detail::CallbackTypes<decltype(&F::on_element)>::Value;
};
template <class F>
concept TwoInputFunction = requires {
  typename process_detail::CallbackTypes<decltype(&F::on_element1)>::Value;
  typename process_detail::CallbackTypes<decltype(&F::on_element2)>::Value;
};

template <class T, class F>
class FunctionPartitioner final : public CustomPartitioner {
 public:
  explicit FunctionPartitioner(F f) : f_(std::move(f)) {}
  void choose(const AnyBatch& batch, std::uint32_t count,
              std::vector<std::uint32_t>& targets) const override {
    const auto& values = static_cast<const Batch<T>&>(batch).values;
    targets.clear();
    for (const T& value : values)
      targets.push_back(static_cast<std::uint32_t>(std::invoke(f_, value, count)));
  }

 private:
  F f_;
};

}  // namespace stream_detail

// What every kind of stream can say about the step it comes from. Self is the stream type, returned
// for chaining.
template <class Self>
class StepSettings {
 public:
  // The step's name for people; its identity if it has state.
  Self named(std::string name) {
    self().last_node().name = std::move(name);
    self().last_node().name_given = true;
    return self();
  }
  Self parallelism(std::uint32_t subtasks) {
    self().last_node().parallelism = subtasks;
    return self();
  }
  // Fixes the number of key groups of this step.
  Self max_parallelism(std::uint32_t key_groups) {
    self().last_node().max_parallelism = key_groups;
    return self();
  }
  // Steps of different groups never share a slot.
  Self slot_group(std::string group) {
    self().last_node().slot_group = std::move(group);
    return self();
  }
  // Not chained to any other step, respectively not to the one before.
  Self no_chain() {
    self().last_node().chaining = Chaining::never;
    return self();
  }
  Self start_new_chain() {
    self().last_node().chaining = Chaining::head;
    return self();
  }
  // The function blocks (files, other services): its task gets a thread of its own.
  Self blocking() {
    self().last_node().blocking = true;
    return self();
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

// The end of a branch.
class SinkStep : public StepSettings<SinkStep> {
 public:
  SinkStep(PlanBuilder& builder, NodeId node) : builder_(&builder), node_(node) {}
  [[nodiscard]] LogicalNode& last_node() { return builder_->node(node_); }

 private:
  PlanBuilder* builder_;
  NodeId node_;
};

template <class T>
class Stream : public StepSettings<Stream<T>> {
 public:
  using value_type = T;

  // For the API's own use: `builder` outlives the stream.
  Stream(PlanBuilder& builder, std::vector<Origin> origins)
      : builder_(&builder), origins_(std::move(origins)) {}

  // One record for each: f(const T&) → U.
  template <class F>
  [[nodiscard]] auto map(F f) const {
    if constexpr (std::invocable<F&, const T&>) {
      using U = stream_detail::ResultOf<F, const T&>;
      static_assert(!std::is_void_v<U>,
                    "weir: map needs a function that returns something; use filter or process");
      return then<U>(
          transform<U>("map", [f] { return std::make_unique<MapOperator<T, U, F>>(f); }));
    } else {
      static_assert(stream_detail::never<F>,
                    "weir: map needs a function callable with a const record");
    }
  }

  // Keeps the records for which keeps(const T&) is true.
  template <class Predicate>
  [[nodiscard]] Stream filter(Predicate keeps) const {
    static_assert(std::predicate<Predicate&, const T&>,
                  "weir: filter needs a function from a const record to bool");
    return then<T>(transform<T>(
        "filter", [keeps] { return std::make_unique<FilterOperator<T, Predicate>>(keeps); }));
  }

  // Any number of records for each: f returns a range of them, which may be lazy, or takes (const
  // T&, Collector<U>&).
  template <class F>
  [[nodiscard]] auto flat_map(F f) const {
    if constexpr (stream_detail::RangeFunction<F, T>) {
      using U = std::ranges::range_value_t<std::invoke_result_t<F&, const T&>>;
      return then<U>(
          transform<U>("flat map", [f] { return std::make_unique<FlatMapOperator<T, U, F>>(f); }));
    } else if constexpr (stream_detail::CollectingFunction<F>) {
      using U = typename stream_detail::CollectedBy<F>::Type;
      return then<U>(transform<U>(
          "flat map", [f] { return std::make_unique<CollectingFlatMapOperator<T, U, F>>(f); }));
    } else {
      static_assert(stream_detail::never<F>,
                    "weir: flat_map needs a function that returns a range, or one that takes "
                    "(const T&, Collector<U>&)");
    }
  }

  // Records that f(const T&) → Result<U> or std::optional<U> can read. Others are counted and the
  // first ones shown; with
  // --strict the first fails the job.
  template <class F>
  [[nodiscard]] auto parse(std::string name, F f) const {
    static_assert(std::invocable<F&, const T&>,
                  "weir: parse needs a function callable with a const record");
    using U = typename stream_detail::ResultOf<F, const T&>::value_type;
    auto node = transform<U>("parse", [f] { return std::make_unique<ParseOperator<T, U, F>>(f); });
    node.name = std::move(name);
    node.name_given = true;
    return then<U>(std::move(node));
  }

  // Gives records their time, extract(const T&) → EventTime or std::chrono::sys_time, and the
  // stream watermarks.
  template <class Extract>
  [[nodiscard]] Stream event_time(Extract extract, WatermarkStrategy strategy) const {
    static_assert(std::invocable<Extract&, const T&>,
                  "weir: event_time needs a function or member of the record that gives a time");
    return then<T>(transform<T>("event time", [extract, strategy] {
      return std::make_unique<EventTimeOperator<T, Extract>>(extract, strategy);
    }));
  }

  // Partitions by selector(const T&), or a member, so that all records of a key meet.
  template <class Selector>
  [[nodiscard]] KeyedStream<T, Selector> key_by(Selector selector) const {
    return keyed(std::move(selector), Partitioning::hash);
  }
  // The same for a stream that is partitioned by that key already: nothing moves. Records that are
  // not where they belong fail the job.
  template <class Selector>
  [[nodiscard]] KeyedStream<T, Selector> reinterpret_as_keyed(Selector selector) const {
    return keyed(std::move(selector), Partitioning::forward);
  }

  // This stream and others as one; their records mix in any order.
  [[nodiscard]] Stream union_with(std::initializer_list<Stream> others) const {
    std::vector<Origin> all = origins_;
    for (const Stream& other : others)
      all.insert(all.end(), other.origins_.begin(), other.origins_.end());
    return Stream(*builder_, std::move(all));
  }
  [[nodiscard]] Stream union_with(const Stream& other) const { return union_with({other}); }

  // This stream and one of another type into one function.
  template <class U>
  [[nodiscard]] ConnectedStreams<T, U> connect(const Stream<U>& other) const {
    return ConnectedStreams<T, U>(*builder_, origins_, other.origins());
  }

  // Runs a process function; see dataflow/api/process.h.
  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    static_assert(stream_detail::OneInputFunction<F>,
                  "weir: a process function needs one void on_element(const T&, Context<Out>&)");
    using Ctx = typename process_detail::CallbackTypes<decltype(&F::on_element)>::ContextType;
    static_assert(std::is_same_v<Ctx, Context<typename Ctx::Output>>,
                  "weir: this function works per key: put .key_by(…) before .process(…)");
    using Out = typename Ctx::Output;
    static_assert(!declares_state<F>(),
                  "weir: this function has state or timers, which belong to a key: put .key_by(…) "
                  "before .process(…)");
    auto node = transform<Out>(
        "process", [function] { return std::make_unique<ProcessOperator<F, Out, T>>(function); });
    node.name = std::move(name);
    node.name_given = true;
    append_side_outputs(function, node.outputs, node.output_names);
    return then<Out>(std::move(node));
  }

  // A side output of the process function this stream comes from, by its member:
  // stream.side(&Alerts::refused).
  template <class F, class U>
  [[nodiscard]] Stream<U> side(SideOutput<U> F::*member) const {
    Origin origin = origins_.front();
    origin.port = side_output_port(member);
    const auto& node = builder_->node(origin.node);
    if (origin.port.value >= node.outputs.size() ||
        node.outputs[origin.port.value].batch != &batch_type_of<U>()) {
      builder_->add_mistake("'" + node.name +
                            "' has no such side output: ask the stream that .process(…) returned");
      origin.port = {};
    }
    return Stream<U>(*builder_, {origin});
  }

  // How records are divided among the subtasks of the next step.
  [[nodiscard]] Stream forward() const { return partitioned(Partitioning::forward); }
  [[nodiscard]] Stream rebalance() const { return partitioned(Partitioning::rebalance); }
  [[nodiscard]] Stream rescale() const { return partitioned(Partitioning::rescale); }
  [[nodiscard]] Stream broadcast() const { return partitioned(Partitioning::broadcast); }
  [[nodiscard]] Stream shuffle() const { return partitioned(Partitioning::shuffle); }
  [[nodiscard]] Stream global() const { return partitioned(Partitioning::global); }
  // choose(const T&, subtask count) → number of the subtask.
  template <class Choose>
  [[nodiscard]] Stream partition_custom(Choose choose) const {
    static_assert(
        std::invocable<const Choose&, const T&, std::uint32_t>,
        "weir: partition_custom needs a function (const T&, std::uint32_t subtasks) → subtask");
    Stream result = partitioned(Partitioning::custom);
    const auto custom =
        std::make_shared<const stream_detail::FunctionPartitioner<T, Choose>>(std::move(choose));
    for (Origin& origin : result.origins_) origin.custom = custom;
    return result;
  }

  // Ends the branch in a sink: print(), csv_files(directory) …
  template <class Sink>
  requires SinkDescription<Sink, T> SinkStep to(std::string name, Sink sink)
  const {
    LogicalNode node = sink_node(sink);
    node.name = std::move(name);
    node.name_given = true;
    return end_in(std::move(node));
  }

  // Ends the branch in memory: the rows are there once the job has run in this process.
  [[nodiscard]] std::shared_ptr<CollectedRows<T>> collect() const {
    auto rows = std::make_shared<CollectedRows<T>>();
    end_in(sink_node(weir::collect(rows)));
    return rows;
  }

  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  [[nodiscard]] LogicalNode& last_node() { return builder_->node(origins_.front().node); }

 private:
  template <class U>
  friend class Stream;

  template <class U, class Factory>
  [[nodiscard]] static LogicalNode transform(std::string kind, Factory factory) {
    LogicalNode node;
    node.kind = std::move(kind);
    node.factory = std::move(factory);
    node.outputs.push_back(port_type_of<U>());
    node.output_names.emplace_back();
    node.input_hashers.resize(1);
    return node;
  }

  template <class Sink>
  [[nodiscard]] static LogicalNode sink_node(const Sink& sink) {
    LogicalNode node;
    node.kind = sink.describe();
    node.role = StageRole::sink;
    node.factory = [sink] { return sink.template make_writer<T>(); };
    node.make_committer = [sink] { return sink.make_committer(); };
    node.check = [sink] { return sink.check(); };
    node.input_hashers.resize(1);
    return node;
  }

  SinkStep end_in(LogicalNode node) const {
    const NodeId id = builder_->add(std::move(node));
    builder_->connect(origins_, id);
    return SinkStep(*builder_, id);
  }

  template <class U>
  [[nodiscard]] Stream<U> then(LogicalNode node) const {
    const NodeId id = builder_->add(std::move(node));
    builder_->connect(origins_, id);
    return Stream<U>(*builder_, {Origin{id, {}, {}, nullptr}});
  }

  [[nodiscard]] Stream partitioned(Partitioning partitioning) const {
    Stream result = *this;
    for (Origin& origin : result.origins_) origin.partitioning = partitioning;
    return result;
  }

  template <class Selector>
  [[nodiscard]] KeyedStream<T, Selector> keyed(Selector selector, Partitioning partitioning) const {
    static_assert(std::invocable<const Selector&, const T&>,
                  "weir: key_by needs a function or member of the record that gives a key");
    static_assert(
        Hashable<KeyOf<Selector, T>>,
        "weir: this key has no hash: use numbers, strings, enums, times, or aggregates of them");
    return KeyedStream<T, Selector>(*builder_, partitioned(partitioning).origins_,
                                    std::move(selector));
  }

  PlanBuilder* builder_;
  std::vector<Origin> origins_;
};

// Rows of a rolling aggregate: every update, or with at_end() only the last value of each key.
template <class Out, class MakeFactory>
class RollingStream : public Stream<Out> {
 public:
  RollingStream(Stream<Out> stream, MakeFactory make_factory)
      : Stream<Out>(std::move(stream)), make_factory_(std::move(make_factory)) {}

  [[nodiscard]] Stream<Out> at_end() {
    this->last_node().factory = make_factory_(Emission::at_end);
    return *this;
  }

 private:
  MakeFactory make_factory_;
};

template <class T, class Selector>
class WindowedStream;

// A stream whose records of one key are in one subtask. Steps on it have state and so a name, their
// identity on restore.
template <class T, class Selector>
class KeyedStream {
 public:
  using K = KeyOf<Selector, T>;

  KeyedStream(PlanBuilder& builder, std::vector<Origin> origins, Selector selector)
      : builder_(&builder),
        origins_(std::move(origins)),
        selector_(std::move(selector)),
        hasher_(std::make_shared<const SelectorHasher<T, Selector>>(selector_,
                                                                    builder.next_key_tag())) {}

  // A running value per key: Agg is an AggregateFunction. Rows are Keyed<K, result>.
  template <class Agg>
  [[nodiscard]] auto aggregate(std::string name, Agg agg) const {
    static_assert(AggregateFunction<Agg, T>,
                  "weir: an aggregate needs a default-constructible Accumulator, add(Accumulator&, "
                  "const T&) const "
                  "and result(const Accumulator&) const");
    using Row = Keyed<K, AggregateResult<Agg>>;
    return rolling<Row>(std::move(name), "aggregate", std::move(agg),
                        [](const K& key, AggregateResult<Agg> value) {
                          return Row{key, std::move(value)};
                        });
  }
  [[nodiscard]] auto count(std::string name) const { return aggregate(std::move(name), Count{}); }
  // Of a field: a member pointer or a function of the record.
  template <class Field>
  [[nodiscard]] auto sum(std::string name, Field field) const {
    return aggregate(std::move(name), Sum<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class Field>
  [[nodiscard]] auto min(std::string name, Field field) const {
    return aggregate(std::move(name), Min<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class Field>
  [[nodiscard]] auto max(std::string name, Field field) const {
    return aggregate(std::move(name), Max<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  // The records of a key folded into one: f(const T&, const T&) → T. Rows are T.
  template <class F>
  [[nodiscard]] auto reduce(std::string name, F f) const {
    static_assert(std::is_invocable_r_v<T, const F&, const T&, const T&>,
                  "weir: reduce needs a const-callable function (const T&, const T&) → T");
    return rolling<T>(std::move(name), "reduce", Reduce<F, T>{std::move(f)},
                      [](const K&, T value) { return value; });
  }

  [[nodiscard]] WindowedStream<T, Selector> window(Tumbling windows) const {
    return WindowedStream<T, Selector>(*this, windows);
  }

  // Runs a keyed process function; see dataflow/api/process.h.
  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    static_assert(stream_detail::OneInputFunction<F>,
                  "weir: a keyed process function needs one void on_element(const T&, "
                  "KeyedContext<K, Out>&)");
    using Ctx = typename process_detail::CallbackTypes<decltype(&F::on_element)>::ContextType;
    using Out = typename Ctx::Output;
    static_assert(std::is_same_v<Ctx, KeyedContext<K, Out>>,
                  "weir: the function's KeyedContext must name the stream's key type");
    static_assert(
        !declares_timer<F>() ||
            requires(F f, const TimerFiring& firing, Ctx& ctx) { f.on_timer(firing, ctx); },
        "weir: the function has a Timer but no void on_timer(const TimerFiring&, KeyedContext<K, "
        "Out>&)");
    auto node = keyed_node<Out>(std::move(name), "process", [function, selector = selector_] {
      using Op = KeyedProcessOperator<F, K, Out, std::tuple<Selector>, T>;
      return std::make_unique<Op>(function, std::tuple{selector});
    });
    append_side_outputs(function, node.outputs, node.output_names);
    return then<Out>(std::move(node));
  }

  // This stream and another of the same key into one function.
  template <class U, class SelectorU>
  [[nodiscard]] KeyedConnectedStreams<T, Selector, U, SelectorU> connect(
      const KeyedStream<U, SelectorU>& other) const {
    static_assert(std::is_same_v<K, KeyOf<SelectorU, U>>,
                  "weir: connected keyed streams need the same key type");
    return KeyedConnectedStreams<T, Selector, U, SelectorU>(*this, other);
  }

  // For the API's own use.
  template <class Row, class Factory>
  [[nodiscard]] LogicalNode keyed_node(std::string name, std::string kind, Factory factory) const {
    LogicalNode node;
    node.name = std::move(name);
    node.name_given = true;
    node.kind = std::move(kind);
    node.keyed = true;
    node.stateful = true;
    node.factory = std::move(factory);
    node.outputs.push_back(port_type_of<Row>());
    node.output_names.emplace_back();
    node.input_hashers.push_back(hasher_);
    return node;
  }
  template <class Row>
  [[nodiscard]] Stream<Row> then(LogicalNode node) const {
    const NodeId id = builder_->add(std::move(node));
    builder_->connect(origins_, id);
    return Stream<Row>(*builder_, {Origin{id, {}, {}, nullptr}});
  }
  [[nodiscard]] PlanBuilder& builder() const { return *builder_; }
  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  [[nodiscard]] const Selector& selector() const { return selector_; }
  [[nodiscard]] std::shared_ptr<const KeyHasher> hasher() const { return hasher_; }

 private:
  template <class Row, class Agg, class Make>
  [[nodiscard]] auto rolling(std::string name, std::string kind, Agg agg, Make make) const {
    auto make_factory = [agg = std::move(agg), make, selector = selector_](Emission emission) {
      return OperatorFactory([agg, make, selector, emission] {
        using Op = RollingOperator<T, Selector, Agg, Row, Make>;
        return std::make_unique<Op>(selector, agg, make, emission);
      });
    };
    auto node =
        keyed_node<Row>(std::move(name), std::move(kind), make_factory(Emission::each_record));
    return RollingStream(then<Row>(std::move(node)), std::move(make_factory));
  }

  PlanBuilder* builder_;
  std::vector<Origin> origins_;
  Selector selector_;
  std::shared_ptr<const KeyHasher> hasher_;
};

// Records per key and window of event time. Results carry the window's last millisecond as their
// time.
template <class T, class Selector>
class WindowedStream {
 public:
  using K = KeyOf<Selector, T>;

  WindowedStream(KeyedStream<T, Selector> stream, Tumbling windows)
      : stream_(std::move(stream)), windows_(windows) {}

  // make(const K&, Window, result) → the row.
  template <class Agg, class Make>
  [[nodiscard]] auto aggregate(std::string name, Agg agg, Make make) const {
    static_assert(AggregateFunction<Agg, T>,
                  "weir: an aggregate needs a default-constructible Accumulator, add(Accumulator&, "
                  "const T&) const "
                  "and result(const Accumulator&) const");
    static_assert(std::invocable<Make&, const K&, Window, AggregateResult<Agg>>,
                  "weir: the result function needs to be callable with (const Key&, Window, the "
                  "aggregate's result)");
    using Row = stream_detail::ResultOf<Make, const K&, Window, AggregateResult<Agg>>;
    using Op = TumblingWindowOperator<T, Selector, Agg, Row, Make>;
    return stream_.template then<Row>(stream_.template keyed_node<Row>(
        std::move(name), "tumbling window",
        [agg, make, windows = windows_, selector = stream_.selector()] {
          return std::make_unique<Op>(selector, windows, agg, make);
        }));
  }
  // Rows are Windowed<K, result>.
  template <class Agg>
  [[nodiscard]] auto aggregate(std::string name, Agg agg) const {
    using Row = Windowed<K, AggregateResult<Agg>>;
    return aggregate(std::move(name), std::move(agg),
                     [](const K& key, Window window, AggregateResult<Agg> value) {
                       return Row{window.start, window.end, key, std::move(value)};
                     });
  }
  [[nodiscard]] auto count(std::string name) const { return aggregate(std::move(name), Count{}); }
  template <class Field>
  [[nodiscard]] auto sum(std::string name, Field field) const {
    return aggregate(std::move(name), Sum<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class Field>
  [[nodiscard]] auto min(std::string name, Field field) const {
    return aggregate(std::move(name), Min<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class Field>
  [[nodiscard]] auto max(std::string name, Field field) const {
    return aggregate(std::move(name), Max<Field, stream_detail::ResultOf<Field, const T&>>{field});
  }
  template <class F>
  [[nodiscard]] auto reduce(std::string name, F f) const {
    return aggregate(std::move(name), Reduce<F, T>{std::move(f)},
                     [](const K&, Window, T value) { return value; });
  }

 private:
  KeyedStream<T, Selector> stream_;
  Tumbling windows_;
};

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
