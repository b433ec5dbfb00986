// Streams divided by key and window.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "dataflow/api/built_in_aggregates.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/results.h"
#include "dataflow/api/window_function.h"
#include "dataflow/api/window_results.h"
#include "dataflow/operators/sliced_window.h"
#include "dataflow/operators/tumbling_window.h"
#include "dataflow/operators/window.h"
#include "dataflow/operators/window_contents.h"
#include "dataflow/operators/window_firing.h"
#include "dataflow/window/evictor.h"
#include "dataflow/window/slices.h"
#include "dataflow/window/trigger.h"
#include "dataflow/window/triggers/default_trigger.h"
#include "dataflow/window/tumbling.h"
#include "dataflow/window/window_assigner.h"

namespace weir {

namespace stream_detail {

// A function with on_window, rather than a function of key, window and result that makes a row.
template <class F>
concept WindowFunction = requires {
  typename process_detail::CallbackTypes<decltype(&F::on_window)>::Value;
};

}  // namespace stream_detail

// Records per key and window. Results carry the window's last time as theirs.
//
//   keyed.window(Session::with_gap(10min))
//       .trigger(timeout(EventTimeTrigger{}, 1min))   // in place of the default: at the window's end
//       .evictor(CountEvictor{100})                    // leaves the last 100 elements
//       .allowed_lateness(5min)                        // a late record fires its window again
//       .count("visits");
//
// Each step gives a WindowResults, a stream whose late() are the records that were too late.
template <class T, class Selector, class Assigner, class Trigger = DefaultTrigger,
          class Evictor = NoEvictor>
class WindowedStream
    : public BuiltInAggregates<WindowedStream<T, Selector, Assigner, Trigger, Evictor>, T> {
 public:
  using K = KeyOf<Selector, T>;

  WindowedStream(KeyedStream<T, Selector> stream, Assigner assigner, Trigger trigger = {},
                 Evictor evictor = {}, Duration allowed_lateness = Duration{0})
      : stream_(std::move(stream)),
        assigner_(std::move(assigner)),
        trigger_(std::move(trigger)),
        evictor_(std::move(evictor)),
        allowed_lateness_(allowed_lateness) {}

  // When windows fire; see dataflow/window/trigger.h and triggers/.
  template <class Other>
  [[nodiscard]] auto trigger(Other trigger) const {
    static_assert(TriggerOf<Other, T>,
                  "weir: a trigger needs TriggerResult on_element(const T&, EventTime, "
                  "TriggerContext&), with a State& behind if it has a State");
    static_assert(!Assigner::merging || can_merge<Other>,
                  "weir: these windows merge, so their trigger, which has a State, needs void "
                  "merge(State& into, const State& other)");
    static_assert(remembers_nothing<Other> || Encodable<TriggerState<Other>>,
                  "weir: a trigger's State is part of snapshots, so it needs a codec: make it an "
                  "aggregate of encodable fields");
    add_mistake_of(trigger);
    return WindowedStream<T, Selector, Assigner, Other, Evictor>(
        stream_, assigner_, std::move(trigger), evictor_, allowed_lateness_);
  }

  // What leaves a window that fires; see dataflow/window/evictor.h and evictors/.
  template <class Other>
  [[nodiscard]] auto evictor(Other evictor) const {
    static_assert(EvictorOf<Other, T>,
                  "weir: an evictor needs void evict(WindowElements<T>&, const Window&) const");
    add_mistake_of(evictor);
    return WindowedStream<T, Selector, Assigner, Trigger, Other>(
        stream_, assigner_, trigger_, std::move(evictor), allowed_lateness_);
  }

  // For so long after its end a window of event time still takes records, and fires again for each.
  [[nodiscard]] WindowedStream allowed_lateness(Duration lateness) const {
    if (lateness < Duration{0}) {
      builder().add_mistake("allowed_lateness(…) is " + std::to_string(lateness.count()) +
                            " ms: it must not be below 0");
    } else if (assigner_.domain() == TimeDomain::processing && lateness > Duration{0}) {
      builder().add_mistake(
          "allowed_lateness(…) is set for windows of processing time, for which no record is "
          "late: leave it out");
    }
    WindowedStream result = *this;
    result.allowed_lateness_ = lateness;
    return result;
  }

  // Third: make(const K&, Window, result) → the row; or a window function with on_window(const Result&, …).
  template <class Agg, class Then>
  [[nodiscard]] auto aggregate(std::string name, Agg agg, Then then) const {
    check_aggregate<Agg>();
    if constexpr (stream_detail::WindowFunction<Then>) {
      check_window_function<Then, ContextOf<Then>, AggregateResult<Agg>>();
      using Out = typename ContextOf<Then>::Output;
      return step<Out>(std::move(name), contents_of(std::move(agg)),
                       WindowFunctionCall<K, Out, Then>(then), &then);
    } else {
      static_assert(std::invocable<Then&, const K&, Window, AggregateResult<Agg>>,
                    "weir: the result function needs to be callable with (const Key&, Window, the "
                    "aggregate's result)");
      check_not_opened<Then>();
      using Row = stream_detail::ResultOf<Then, const K&, Window, AggregateResult<Agg>>;
      return aggregated<Row>(std::move(name), std::move(agg), std::move(then));
    }
  }
  // Rows are Windowed<K, result>; of window_all, AllWindowed<result>.
  template <class Agg>
  [[nodiscard]] auto aggregate(std::string name, Agg agg) const {
    check_aggregate<Agg>();
    using Value = AggregateResult<Agg>;
    if constexpr (std::is_same_v<K, NoKey>) {
      using Row = AllWindowed<Value>;
      return aggregated<Row>(std::move(name), std::move(agg),
                             [](const K&, Window window, Value value) {
                               return Row{window.start, window.end, std::move(value)};
                             });
    } else {
      using Row = Windowed<K, Value>;
      return aggregated<Row>(std::move(name), std::move(agg),
                             [](const K& key, Window window, Value value) {
                               return Row{window.start, window.end, key, std::move(value)};
                             });
    }
  }
  // The records of a window folded into one: f(const T&, const T&) → T. Rows are T.
  template <class F>
  [[nodiscard]] auto reduce(std::string name, F f) const {
    static_assert(std::is_invocable_r_v<T, const F&, const T&, const T&>,
                  "weir: reduce needs a const-callable function (const T&, const T&) → T");
    check_not_opened<F>();
    return aggregated<T>(std::move(name), Reduce<F, T>{std::move(f)},
                         [](const K&, Window, T value) { return value; });
  }

  // Runs a window function on all elements; see dataflow/api/window_function.h.
  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    static_assert(stream_detail::WindowFunction<F>,
                  "weir: a window function needs one void on_window(std::span<const T>, "
                  "WindowContext<K, Out>&)");
    check_window_function<F, ContextOf<F>, std::span<const T>>();
    using Out = typename ContextOf<F>::Output;
    return step<Out>(std::move(name), ElementContents<T, Evictor>(evictor_),
                     WindowFunctionCall<K, Out, F>(function), &function);
  }

  // For the API's own use: what a function with on_window(given…, Ctx&) must be.
  template <class F, class Ctx, class... Given>
  static constexpr void check_window_function() {
    using Out = typename Ctx::Output;
    static_assert(std::is_same_v<Ctx, WindowContext<K, Out>>,
                  "weir: a window function takes WindowContext<K, Out>& with the stream's key type "
                  "K; behind window_all, AllWindowContext<Out>&");
    static_assert(
        requires(F f, Given... given, Ctx & ctx) { f.on_window(given..., ctx); },
        "weir: on_window takes the window's elements, std::span<const T>, behind an aggregate its "
        "result, and of a co_group both sides' elements, const std::vector<L>& and const "
        "std::vector<R>&");
    static_assert(!declares_timer<F>(),
                  "weir: a window function has no timers: the trigger of its windows says when it "
                  "is called");
    static_assert(!declares_broadcast_state<F>(),
                  "weir: only a broadcast stream may change a BroadcastState, and windows have "
                  "none as input");
    static_assert(!Assigner::merging || !declares_window_state<F>,
                  "weir: windows that merge have no WindowState: keep it in a ValueState of the "
                  "key, or use windows that do not merge");
  }

  // Likewise: does something else with all elements when a window fires, see window_firing.h; `function` has the members.
  template <class Out, class Firing, class Function>
  [[nodiscard]] auto fire(std::string name, Firing firing, const Function* function) const {
    return step<Out>(std::move(name), ElementContents<T, Evictor>(evictor_), std::move(firing),
                     function);
  }

 private:
  static constexpr bool has_evictor = !std::is_same_v<Evictor, NoEvictor>;
  static constexpr bool has_default_trigger = std::is_same_v<Trigger, DefaultTrigger>;

  template <class F>
  using ContextOf = typename process_detail::CallbackTypes<decltype(&F::on_window)>::ContextType;

  [[nodiscard]] PlanBuilder& builder() const { return stream_.builder(); }

  template <class Setting>
  void add_mistake_of(const Setting& setting) const {
    if constexpr (requires { setting.mistake(); }) {
      if (const auto mistake = setting.mistake()) builder().add_mistake(*mistake);
    }
  }

  template <class Agg>
  static constexpr void check_aggregate() {
    static_assert(AggregateFunction<Agg, T>,
                  "weir: an aggregate needs a default-constructible Accumulator, add(Accumulator&, "
                  "const T&) const "
                  "and result(const Accumulator&) const");
    check_not_opened<Agg>();
    static_assert(
        !Assigner::merging || has_evictor ||
            requires(const Agg& agg, typename Agg::Accumulator& into,
                     const typename Agg::Accumulator& other) { agg.merge(into, other); },
        "weir: these windows merge, so their aggregate needs void merge(Accumulator& into, const "
        "Accumulator& other) const");
  }
  template <class Agg>
  [[nodiscard]] auto contents_of(Agg agg) const {
    if constexpr (has_evictor)
      return EvictedAggregateContents<T, Agg, Evictor>(std::move(agg), evictor_);
    else
      return AggregateContents<T, Agg>(std::move(agg));
  }

  // Which operator runs an aggregate: those for special cases come first, WindowOperator can do everything.
  template <class Row, class Agg, class Make>
  [[nodiscard]] auto aggregated(std::string name, Agg agg, Make make) const {
    check_aggregate<Agg>();
    if constexpr (has_default_trigger && !has_evictor) {
      const bool is_plain =
          assigner_.domain() == TimeDomain::event && allowed_lateness_ == Duration{0};
      if constexpr (std::is_same_v<Assigner, Tumbling>) {
        using Op = TumblingWindowOperator<T, Selector, Agg, Row, Make>;
        if (is_plain) return special<Op, Row>(std::move(name), std::move(agg), std::move(make));
      } else if constexpr (MergesAggregates<Agg> && requires { slices_of(assigner_); }) {
        using Op = SlicedWindowOperator<T, Selector, Assigner, Agg, Row, Make>;
        if (is_plain) return special<Op, Row>(std::move(name), std::move(agg), std::move(make));
      }
    }
    const void* no_members = nullptr;
    return step<Row>(std::move(name), contents_of(std::move(agg)),
                     WindowRow<K, Row, Make>(std::move(make)), no_members);
  }

  template <class Op, class Row, class Agg, class Make>
  [[nodiscard]] WindowResults<Row, T> special(std::string name, Agg agg, Make make) const {
    return results<Row>(std::move(name), [agg, make, windows = assigner_,
                                          selector = stream_.selector()](LatePort late) {
      return OperatorFactory([agg, make, windows, selector, late] {
        return std::make_unique<Op>(selector, windows, agg, make, late);
      });
    });
  }

  template <class Row, class Contents, class Firing, class Function>
  [[nodiscard]] WindowResults<Row, T> step(std::string name, Contents contents, Firing firing,
                                           const Function* function) const {
    return results<Row>(
        std::move(name),
        [contents, firing, assigner = assigner_, trigger = trigger_, lateness = allowed_lateness_,
         selector = stream_.selector()](LatePort late) {
          return OperatorFactory([=] {
            using Op = WindowOperator<T, Selector, Assigner, Trigger, Contents, Firing>;
            return std::make_unique<Op>(selector, assigner, trigger, contents, firing,
                                        WindowSettings{lateness, late});
          });
        },
        function);
  }

  // The step, with the side outputs that the function's members declare, if there is one.
  template <class Row, class Function = void>
  [[nodiscard]] WindowResults<Row, T> results(std::string name, LateFactory make_factory,
                                              const Function* function = nullptr) const {
    static_assert(
        !has_default_trigger || !requires { Assigner::needs_trigger; },
        "weir: a global window never ends by itself: say when it fires, .trigger(…)");
    auto node = stream_.template keyed_node<Row>(std::move(name), assigner_.name(),
                                                 make_factory(std::nullopt));
    if constexpr (std::is_same_v<K, NoKey>) node.parallelism = 1;
    if constexpr (!std::is_void_v<Function>)
      append_side_outputs(*function, node.outputs, node.output_names);
    return WindowResults<Row, T>(stream_.template then<Row>(std::move(node)),
                                 std::move(make_factory));
  }

  KeyedStream<T, Selector> stream_;
  Assigner assigner_;
  Trigger trigger_;
  Evictor evictor_;
  Duration allowed_lateness_;
};

}  // namespace weir
