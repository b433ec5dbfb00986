// Streams divided by key.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataflow/api/built_in_aggregates.h"
#include "dataflow/api/function_traits.h"
#include "dataflow/api/process.h"
#include "dataflow/api/results.h"
#include "dataflow/api/rolling_stream.h"
#include "dataflow/api/stream.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/process.h"
#include "dataflow/operators/rolling.h"
#include "dataflow/plan/plan_builder.h"
#include "dataflow/window/evictor.h"
#include "dataflow/window/evictors/count_evictor.h"
#include "dataflow/window/global.h"
#include "dataflow/window/triggers/count_trigger.h"
#include "dataflow/window/triggers/default_trigger.h"
#include "dataflow/window/triggers/purging.h"
#include "dataflow/window/window_assigner.h"

namespace weir {

template <class T, class Selector, class Assigner, class Trigger, class Evictor>
class WindowedStream;
template <class T, class SelectorA, class U, class SelectorB>
class KeyedConnectedStreams;
template <class T, class Selector, class U>
class KeyedBroadcastStreams;
template <class T, class SelectorT, class U, class SelectorU>
class IntervalJoinPair;
template <class T, class SelectorT, class U, class SelectorU, bool grouped>
class WindowJoinPair;
template <class T, class Selector, class Identity>
class KeyedChangelog;
template <class T, class SelectorT, class U, class SelectorU, bool keeps_unmatched>
class TemporalJoin;

// A stream whose records of one key are in one subtask. Steps on it have state and so a name, their
// identity on restore.
template <class T, class Selector>
class KeyedStream : public BuiltInAggregates<KeyedStream<T, Selector>, T> {
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
    check_not_opened<Agg>();
    using Row = Keyed<K, AggregateResult<Agg>>;
    return rolling<Row>(std::move(name), "aggregate", std::move(agg),
                        [](const K& key, AggregateResult<Agg> value) {
                          return Row{key, std::move(value)};
                        });
  }
  // The records of a key folded into one: f(const T&, const T&) → T. Rows are T.
  template <class F>
  [[nodiscard]] auto reduce(std::string name, F f) const {
    static_assert(std::is_invocable_r_v<T, const F&, const T&, const T&>,
                  "weir: reduce needs a const-callable function (const T&, const T&) → T");
    check_not_opened<F>();
    return rolling<T>(std::move(name), "reduce", Reduce<F, T>{std::move(f)},
                      [](const K&, T value) { return value; });
  }

  // What has no key, so that the order of calls is one sentence.
  template <class... Args>
  void map(Args&&...) const {
    static_assert(
        stream_detail::never<Args...>,
        "weir: a keyed stream leads to steps per key (count, window, process …): put .map(…) "
        "before .key_by(…)");
  }
  template <class... Args>
  void filter(Args&&...) const {
    static_assert(stream_detail::never<Args...>,
                  "weir: a keyed stream leads to steps per key (count, window, process …): put "
                  ".filter(…) before .key_by(…)");
  }
  template <class... Args>
  void to(Args&&...) const {
    static_assert(stream_detail::never<Args...>,
                  "weir: a keyed stream leads to steps per key (count, window, process …): add one "
                  "before .to(…)");
  }

  // Tumbling, Sliding, Cumulative, Session, Global, or a type of the program's own with
  // std::vector<Window> windows_of(const T&, EventTime) const.
  template <class Assigner>
  [[nodiscard]] auto window(Assigner windows) const {
    if constexpr (WindowAssigner<Assigner, T>) {
      if (const auto mistake = windows.mistake()) builder_->add_mistake(*mistake);
      return WindowedStream<T, Selector, Assigner, DefaultTrigger, NoEvictor>(*this,
                                                                              std::move(windows));
    } else {
      static_assert(AssignsWindows<Assigner, T>,
                    "weir: window needs Tumbling, Sliding, Cumulative, Session, Global, or a type "
                    "with std::vector<Window> windows_of(const T&, EventTime) const");
      return window(CustomAssigner<Assigner>(std::move(windows)));
    }
  }

  // Every `count` records of a key: the window then begins anew.
  [[nodiscard]] auto count_window(std::int64_t count) const {
    return window(Global{}).trigger(purging(CountTrigger{count}));
  }
  // After every `slide` records of a key, the last `count` of them.
  [[nodiscard]] auto count_window(std::int64_t count, std::int64_t slide) const {
    return window(Global{}).trigger(CountTrigger{slide}).evictor(CountEvictor{count});
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
                  "weir: a function on a keyed stream takes KeyedContext<K, Out>& with the "
                  "stream's key type K");
    static_assert(
        !declares_timer<F>() ||
            requires(F f, const TimerFiring& firing, Ctx& ctx) { f.on_timer(firing, ctx); },
        "weir: the function has a Timer but no void on_timer(const TimerFiring&, KeyedContext<K, "
        "Out>&)");
    auto node = keyed_node<Out>(std::move(name), "process", [function, selector = selector_] {
      using Op = KeyedProcessOperator<F, K, Out, std::tuple<Selector>, T>;
      return std::make_unique<Op>(function, std::tuple{selector});
    });
    static_assert(!declares_broadcast_state<F>(),
                  "weir: only a broadcast stream may change a BroadcastState: connect this stream "
                  "with one, .connect(rules.broadcast())");
    static_assert(
        !requires { &F::on_end; },
        "weir: on_end is for functions without key; per key, set a Timer at EventTime::max()");
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

  // Pairs with records of another stream of the same key in the same window, respectively both sides' records of each window
  // together: .window(…).process(…). See dataflow/api/window_join.h.
  template <class U, class SelectorU>
  [[nodiscard]] WindowJoinPair<T, Selector, U, SelectorU, false> join(
      const KeyedStream<U, SelectorU>& right) const {
    static_assert(std::is_same_v<K, KeyOf<SelectorU, U>>,
                  "weir: a window join needs two streams of the same key type");
    return {*this, right};
  }
  template <class U, class SelectorU>
  [[nodiscard]] WindowJoinPair<T, Selector, U, SelectorU, true> co_group(
      const KeyedStream<U, SelectorU>& right) const {
    static_assert(std::is_same_v<K, KeyOf<SelectorU, U>>,
                  "weir: co_group needs two streams of the same key type");
    return {*this, right};
  }

  // Pairs with records of another stream of the same key whose time is near: .between(lower, upper).
  template <class U, class SelectorU>
  [[nodiscard]] IntervalJoinPair<T, Selector, U, SelectorU> interval_join(
      const KeyedStream<U, SelectorU>& right) const {
    static_assert(std::is_same_v<K, KeyOf<SelectorU, U>>,
                  "weir: an interval join needs two streams of the same key type");
    return IntervalJoinPair<T, Selector, U, SelectorU>(*this, right);
  }

  // Each record with the version of its key's row that was valid at its time, of a changelog with event times:
  // .process(…). See dataflow/api/temporal_join.h.
  template <class U, class SelectorU, class Identity>
  [[nodiscard]] TemporalJoin<T, Selector, U, SelectorU, false> temporal_join(
      const KeyedChangelog<U, SelectorU, Identity>& versions) const {
    static_assert(std::is_same_v<K, KeyOf<SelectorU, U>>,
                  "weir: a temporal join needs two streams of the same key type");
    return {*this, versions.rows(), versions.ttl()};
  }
  // The same, and those that have none.
  template <class U, class SelectorU, class Identity>
  [[nodiscard]] TemporalJoin<T, Selector, U, SelectorU, true> temporal_left_join(
      const KeyedChangelog<U, SelectorU, Identity>& versions) const {
    static_assert(std::is_same_v<K, KeyOf<SelectorU, U>>,
                  "weir: a temporal join needs two streams of the same key type");
    return {*this, versions.rows(), versions.ttl()};
  }
  template <class U, class SelectorU>
  void temporal_join(const KeyedStream<U, SelectorU>&) const {
    static_assert(stream_detail::never<U>,
                  "weir: the versions of a temporal join are a changelog: put .changelog(…) before "
                  "their .key_by(…)");
  }

  // This stream and one whose records go to all subtasks: connect(rules.broadcast()).
  template <class U>
  [[nodiscard]] KeyedBroadcastStreams<T, Selector, U> connect(const Stream<U>& broadcast) const {
    return KeyedBroadcastStreams<T, Selector, U>(*this, broadcast.origins());
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

}  // namespace weir
