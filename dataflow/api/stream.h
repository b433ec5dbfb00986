// Streams: what a job's description is made of. A stream is a handle to the output of a step; each
// call adds a step.
//
// Functions are stored by value and copied into every parallel instance. They are called by one
// thread at a time per instance, with const access to the record; an exception fails the task with
// its message. The job runs when `describe` has returned, so lambdas capture by value: a reference to
// a local variable dangles.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "dataflow/api/async.h"
#include "dataflow/api/function_traits.h"
#include "dataflow/api/process.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/api/step_settings.h"
#include "dataflow/api/window_function.h"
#include "dataflow/connectors/collect.h"
#include "dataflow/connectors/descriptions.h"
#include "dataflow/operators/async_map.h"
#include "dataflow/operators/changelog.h"
#include "dataflow/operators/event_time.h"
#include "dataflow/operators/function_partitioner.h"
#include "dataflow/operators/iteration.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/parse.h"
#include "dataflow/operators/process.h"
#include "dataflow/operators/stateless.h"
#include "dataflow/plan/plan_builder.h"

namespace weir {

template <class T, class Selector>
class KeyedStream;
template <class A, class B>
class ConnectedStreams;
template <class T>
class ChangelogStream;

// The selector of window_all.
struct AllRecords {
  template <class T>
  [[nodiscard]] NoKey operator()(const T& /*value*/) const {
    return {};
  }
};

// What a loop's function returns.
template <class Feedback, class Output>
struct LoopEnds {
  Feedback feedback;  // a Stream of what goes round again
  Output output;      // a Stream of what leaves
};
template <class Feedback, class Output>
LoopEnds(Feedback, Output) -> LoopEnds<Feedback, Output>;

template <class T>
class Stream : public StepSettings<Stream<T>> {
 public:
  using value_type = T;

  // For the API's own use: `builder` outlives the stream.
  Stream(PlanBuilder& builder, std::vector<Origin> origins, bool is_steps_own = true)
      : builder_(&builder), origins_(std::move(origins)), is_steps_own_(is_steps_own) {}

  // One record for each: f(const T&) → U.
  template <class F>
  [[nodiscard]] auto map(F f) const {
    if constexpr (std::invocable<F&, const T&>) {
      using U = stream_detail::ResultOf<F, const T&>;
      static_assert(!std::is_void_v<U>,
                    "weir: map needs a function that returns something; use filter or process");
      return then<U>(row_wise<U>("map", [f] { return std::make_unique<MapOperator<T, U, F>>(f); }));
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
    return then<T>(row_wise<T>(
        "filter", [keeps] { return std::make_unique<FilterOperator<T, Predicate>>(keeps); }));
  }

  // Any number of records for each: f returns a range of them, which may be lazy, or takes (const
  // T&, Collector<U>&).
  template <class F>
  [[nodiscard]] auto flat_map(F f) const {
    if constexpr (stream_detail::RangeFunction<F, T>) {
      using U = std::ranges::range_value_t<std::invoke_result_t<F&, const T&>>;
      return then<U>(
          row_wise<U>("flat map", [f] { return std::make_unique<FlatMapOperator<T, U, F>>(f); }));
    } else if constexpr (stream_detail::CollectingFunction<F>) {
      using U = typename stream_detail::CollectedBy<F>::Type;
      return then<U>(row_wise<U>(
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
    static_assert(
        requires { typename stream_detail::ResultOf<F, const T&>::value_type; },
        "weir: parse needs a function that returns Result<U> or std::optional<U>");
    using U = typename stream_detail::ResultOf<F, const T&>::value_type;
    auto node = row_wise<U>("parse", [f] { return std::make_unique<ParseOperator<T, U, F>>(f); });
    node.name = std::move(name);
    node.name_given = true;
    return then<U>(std::move(node));
  }

  // Gives records their time, extract(const T&) → EventTime or std::chrono::sys_time, and the
  // stream watermarks: bounded(5s), monotonous(), punctuated(f), generated(generator).
  template <class Extract, class Strategy>
  [[nodiscard]] Stream event_time(Extract extract, Strategy strategy) const {
    static_assert(std::invocable<Extract&, const T&>,
                  "weir: event_time needs a function or member of the record that gives a time");
    static_assert(
        stream_detail::Time<stream_detail::ResultOf<Extract, const T&>>,
        "weir: event_time needs an EventTime or a std::chrono::sys_time; wrap a number of "
        "milliseconds as EventTime{ms}");
    static_assert(WatermarksOf<Strategy, T>,
                  "weir: event_time needs a watermark strategy for these records: monotonous(), "
                  "bounded(…), punctuated(f) with f(const T&, EventTime) → "
                  "std::optional<EventTime>, or generated(generator)");
    check_not_opened<Extract>();
    if (const auto mistake = strategy.mistake()) builder_->add_mistake(*mistake);
    auto node = row_wise<T>("event time", [extract, strategy] {
      return std::make_unique<EventTimeOperator<T, Extract, Strategy>>(extract, strategy);
    });
    node.alignment = strategy.options().alignment;
    return then<T>(std::move(node));
  }
  // Gives records the time of the machine at which they are here, and watermarks that follow it.
  [[nodiscard]] Stream ingestion_time() const {
    return then<T>(transform<T>("ingestion time",
                                [] { return std::make_unique<IngestionTimeOperator<T>>(); }));
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
    return Stream(*builder_, std::move(all), false);
  }
  [[nodiscard]] Stream union_with(const Stream& other) const { return union_with({other}); }

  // These records as changes of a table: f(const T&) → RowKind says what a record does with its row, which is the record; or → Change<Row>,
  // with another row. See dataflow/api/changelog_stream.h.
  template <class F>
  [[nodiscard]] auto changelog(F f) const {
    static_assert(std::invocable<F&, const T&>,
                  "weir: changelog needs a function callable with a const record");
    using Said = stream_detail::ResultOf<F, const T&>;
    static_assert(std::is_same_v<Said, RowKind> || stream_detail::is_change<Said>,
                  "weir: changelog needs a function from a record to its RowKind, or to a "
                  "Change<Row>");
    check_not_opened<F>();
    using Row = typename stream_detail::RowOf<Said, T>::Type;
    return ChangelogStream<Row>(then<Row>(transform<Row>(
        "changelog", [f] { return std::make_unique<ChangelogOperator<T, Row, F>>(f); })));
  }

  // Windows of all records together, in one subtask: window_all(Tumbling::of(1min)).count("all").
  template <class Assigner>
  [[nodiscard]] auto window_all(Assigner windows) const {
    return key_by(AllRecords{}).window(std::move(windows));
  }

  // This stream and one of another type into one function.
  template <class U>
  [[nodiscard]] ConnectedStreams<T, U> connect(const Stream<U>& other) const {
    return ConnectedStreams<T, U>(*builder_, origins_, other.origins());
  }

  // What needs a key, so that forgetting it is one sentence.
  template <class... Args>
  void window(Args&&...) const {
    static_assert(stream_detail::never<Args...>,
                  "weir: windows are per key: put .key_by(…) before, or say .window_all(…)");
  }
  template <class... Args>
  void count(Args&&...) const {
    static_assert(stream_detail::never<Args...>, "weir: counts are per key: put .key_by(…) before");
  }
  template <class... Args>
  void aggregate(Args&&...) const {
    static_assert(stream_detail::never<Args...>,
                  "weir: aggregates are per key: put .key_by(…) before");
  }
  template <class... Args>
  void reduce(Args&&...) const {
    static_assert(stream_detail::never<Args...>, "weir: reduce is per key: put .key_by(…) before");
  }

  // A loop: body is given the stream of these records and of those that it feeds back, and says what goes round again and what leaves:
  //   numbers.iterate("halve", [](Stream<int> in) {
  //     auto halves = in.map([](int x) { return x / 2; });
  //     return LoopEnds{halves.filter([](int x) { return x > 1; }), halves.filter([](int x) { return x <= 1; })};
  //   });
  // It ends when its input has and nothing is on its way. What is on its way is part of checkpoints.
  template <class Body>
  [[nodiscard]] auto iterate(std::string name, Body body) const {
    static_assert(std::invocable<Body&, Stream<T>>,
                  "weir: iterate needs a function (Stream<T>) → LoopEnds{feedback, output}");
    static_assert(
        requires(std::invoke_result_t<Body&, Stream<T>> ends) {
          { ends.feedback } -> std::convertible_to<Stream<T>>;
          ends.output;
        },
        "weir: the function of iterate returns LoopEnds{feedback, output}; what goes "
        "round again is of the same type as what went in");
    static_assert(Encodable<T>,
                  "weir: records in a loop are part of snapshots, so they need a codec: make them "
                  "aggregates of encodable fields");
    const auto hub = std::make_shared<FeedbackHub>();
    auto head =
        transform<T>("iteration head", [hub] { return std::make_unique<IterationHead<T>>(hub); });
    head.name = name;
    head.name_given = true;
    head.stateful = true;
    head.chaining = Chaining::head;
    const Stream<T> in = then<T>(std::move(head));
    auto ends = std::invoke(body, in);
    LogicalNode tail;
    tail.kind = "iteration tail";
    tail.name = name + " feedback";
    tail.name_given = true;
    tail.role = StageRole::sink;
    tail.factory = [hub] { return std::make_unique<IterationTail>(hub); };
    tail.input_hashers.resize(1);
    tail.loop_head = in.origins().front().node;
    tail.parallelism = builder_->node(*tail.loop_head).parallelism;
    tail.slot_group = builder_->node(*tail.loop_head).slot_group;
    const Stream<T> feedback = ends.feedback;
    (void)feedback.end_in(std::move(tail));
    return ends.output;
  }

  // Calls f(const T&, AsyncResult<Out>) for each record and goes on while it waits for the answers; see dataflow/api/async.h. What is
  // under way is part of snapshots; after a restore it is asked for again.
  template <class F>
  [[nodiscard]] auto async_map(std::string name, F f, AsyncOptions options = {}) const {
    static_assert(stream_detail::AsyncFunction<F>,
                  "weir: async_map needs a function (const T&, AsyncResult<Out>)");
    using Out = typename stream_detail::AnsweredBy<F>::Type;
    static_assert(Encodable<T>,
                  "weir: the records that async_map has under way are part of snapshots, so they "
                  "need a codec: make them aggregates of encodable fields");
    if (const auto mistake = options.mistake()) builder_->add_mistake(*mistake);
    auto node = transform<Out>("async map", [f, options] {
      return std::make_unique<AsyncMapOperator<T, Out, F>>(f, options);
    });
    node.name = std::move(name);
    node.name_given = true;
    node.stateful = true;
    return then<Out>(std::move(node));
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
    static_assert(!declares_broadcast_state<F>(),
                  "weir: only a broadcast stream may change a BroadcastState: connect this stream "
                  "with one, .connect(rules.broadcast())");
    auto node = transform<Out>(
        "process", [function] { return std::make_unique<ProcessOperator<F, Out, T>>(function); });
    node.name = std::move(name);
    node.name_given = true;
    node.stateful = declares_operator_state<F>();
    node.keeps_splits = !node.stateful;
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
    return Stream<U>(*builder_, {origin}, false);
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
    check_not_opened<Choose>();
    Stream result = partitioned(Partitioning::custom);
    const auto custom = std::make_shared<const FunctionPartitioner<T, Choose>>(std::move(choose));
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

  // For the API's own use.
  [[nodiscard]] PlanBuilder& builder() const { return *builder_; }
  [[nodiscard]] const std::vector<Origin>& origins() const { return origins_; }
  // The step that this stream is the output of; after union_with, side and partitionings it is nobody's alone.
  [[nodiscard]] LogicalNode& last_node() {
    if (is_steps_own_) return builder_->node(origins_.front().node);
    return builder_->refuse_settings(builder_->node(origins_.front().node).name);
  }

 private:
  template <class U>
  friend class Stream;
  template <class U>
  friend class ChangelogStream;

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

  // A step that keeps splits.
  template <class U, class Factory>
  [[nodiscard]] static LogicalNode row_wise(std::string kind, Factory factory) {
    LogicalNode node = transform<U>(std::move(kind), std::move(factory));
    node.keeps_splits = true;
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
    if constexpr (requires { sink.paths(); }) node.paths = sink.paths();
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
    result.is_steps_own_ = false;
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
    check_not_opened<Selector>();
    for (const Origin& origin : origins_) {
      if (!origin.partitioning) continue;
      builder_->add_mistake("a key follows the " + std::string(name_of(*origin.partitioning)) +
                            " partitioning after '" + builder_->node(origin.node).name +
                            "': keys divide the records themselves, leave the partitioning out");
    }
    return KeyedStream<T, Selector>(*builder_, partitioned(partitioning).origins_,
                                    std::move(selector));
  }

  PlanBuilder* builder_;
  std::vector<Origin> origins_;
  bool is_steps_own_;  // or the outputs of several steps, or one on its way to the next
};

}  // namespace weir
