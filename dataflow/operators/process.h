// Runs process functions.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/reflect.h"
#include "dataflow/api/process.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/output.h"

namespace weir {

namespace process_detail {

// Whether a member is a Kind<…>.
template <class M, template <class> class Kind>
inline constexpr bool is_a = false;
template <class T, template <class> class Kind>
inline constexpr bool is_a<Kind<T>, Kind> = true;
// What a member is, by what it can be bound to.
template <class M>
concept KeyedState = requires(M member, const KeyedStateScope<int>& scope) {
  { member.bind(scope, "") } -> std::same_as<Result<void>>;
};
template <class M>
concept ListOfOperator = requires(M member, StateBackend& backend) {
  { member.bind(backend, "") } -> std::same_as<Result<void>>;
};
template <class M>
concept MapOfBroadcast = requires(M member, StateBackend& backend, const bool& may_change) {
  { member.bind(backend, "", may_change) } -> std::same_as<Result<void>>;
};

// The value and context types of a callback (const T&, Ctx&).
template <class Callback>
struct CallbackTypes;
template <class F, class T, class Ctx>
struct CallbackTypes<void (F::*)(T, Ctx&)> {
  using Value = std::remove_cvref_t<T>;
  using ContextType = Ctx;
};

}  // namespace process_detail

// Whether a function has timers, so that it must have on_timer too.
template <class F>
consteval bool declares_timer() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (std::is_same_v<std::tuple_element_t<I, FieldTypes<F>>, Timer> || ...);
  }
  (std::make_index_sequence<field_count<F>>{});
}

// Whether a function has state or timers, which belong to a key.
template <class F>
consteval bool declares_state() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (process_detail::KeyedState<std::tuple_element_t<I, FieldTypes<F>>> || ...) ||
           declares_timer<F>();
  }
  (std::make_index_sequence<field_count<F>>{});
}

// Whether a function has state of its instance, which belongs to no key.
template <class F>
consteval bool declares_operator_state() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return ((process_detail::ListOfOperator<std::tuple_element_t<I, FieldTypes<F>>> ||
             process_detail::MapOfBroadcast<std::tuple_element_t<I, FieldTypes<F>>>) ||
            ...);
  }
  (std::make_index_sequence<field_count<F>>{});
}

// Whether a function has a broadcast state, which only a broadcast stream may change.
template <class F>
consteval bool declares_broadcast_state() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (process_detail::MapOfBroadcast<std::tuple_element_t<I, FieldTypes<F>>> || ...);
  }
  (std::make_index_sequence<field_count<F>>{});
}

// The output ports that a function's members declare, in the order of the members, behind the main
// port.
template <class F>
void append_side_outputs(const F& function, std::vector<PortType>& ports,
                         std::vector<std::string>& names) {
  for_each_field(function, [&](std::string_view name, const auto& field) {
    using Member = std::remove_cvref_t<decltype(field)>;
    if constexpr (process_detail::is_a<Member, SideOutput>) {
      ports.push_back(port_type_of<typename Member::Value>());
      names.emplace_back(name);
    }
  });
}

// The port of a function's side output, by the member. Requires that it is one of F's.
template <class F, class T>
OutputPort side_output_port(SideOutput<T> F::*member) {
  const F function{};
  const void* wanted = &(function.*member);
  std::uint16_t port = 0;
  std::uint16_t found = 0;
  for_each_field(function, [&](std::string_view, const auto& field) {
    using Member = std::remove_cvref_t<decltype(field)>;
    if constexpr (process_detail::is_a<Member, SideOutput>) {
      ++port;
      if (static_cast<const void*>(&field) == wanted) found = port;
    }
  });
  WEIR_CHECK(found > 0);
  return {found};
}

// In place of the KeyedStateScope of a function that has no key.
struct NoKeyedStates {};

// Binds a function's members to what they stand for: side outputs, in their order, to the ports behind the main one; states to the
// backend, by their names; timers to the service. Keyed is KeyedStateScope<K> or NoKeyedStates. All outlives the function.
template <class F, class Keyed>
[[nodiscard]] Result<void> bind_members(F& function, const CallbackScope& scope,
                                        StateBackend& backend, const Keyed& states,
                                        const bool* may_change_broadcast = nullptr,
                                        TimerService* timer_service = nullptr) {
  std::uint16_t port = 0;
  std::uint32_t timer = 0;
  Result<void> bound;
  for_each_field(function, [&](std::string_view name, auto& field) {
    using Member = std::remove_cvref_t<decltype(field)>;
    if (!bound) return;
    if constexpr (process_detail::is_a<Member, SideOutput>) {
      field.bind({++port}, scope);
    } else if constexpr (process_detail::KeyedState<Member>) {
      if constexpr (!std::is_same_v<Keyed, NoKeyedStates>) bound = field.bind(states, name);
    } else if constexpr (process_detail::ListOfOperator<Member>) {
      bound = field.bind(backend, name);
    } else if constexpr (process_detail::MapOfBroadcast<Member>) {
      if (may_change_broadcast != nullptr) bound = field.bind(backend, name, *may_change_broadcast);
    } else if constexpr (std::is_same_v<Member, Timer>) {
      if (timer_service != nullptr) field.bind({timer++}, *timer_service);
    }
  });
  return bound;
}

// A function without key, of one or two inputs.
template <class F, class Out, class... Inputs>
class ProcessOperator final : public Operator {
 public:
  explicit ProcessOperator(F function) : function_(std::move(function)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    scope_.clock = context.clock;
    WEIR_TRY(bind_members(function_, scope_, *context.state, NoKeyedStates{}, &on_second_input_));
    open_function(function_, context);
    opened_ = &context;
    return {};
  }
  void close() override { close_function(function_, std::exchange(opened_, nullptr)); }

  [[nodiscard]] Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if constexpr (sizeof...(Inputs) == 2) {
      if (port.value == 1) return process_rows<1>(*in, rows, out);
    }
    return process_rows<0>(*in, rows, out);
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    scope_.watermark = watermark;
    if (watermark == EventTime::max()) end(out);
    out.emit_watermark(watermark);
    return StepResult::done;
  }

 private:
  // Before the last watermark leaves, so that those behind still take what on_end puts out.
  void end(Outputs& out) {
    if constexpr (requires(F & f, Context<Out> & ctx) { f.on_end(ctx); }) {
      scope_.outputs = &out;
      scope_.timestamp = no_timestamp;
      Context<Out> context(scope_);
      function_.on_end(context);
      scope_.outputs = nullptr;
    }
  }

  template <std::size_t Input>
  Result<Progress> process_rows(AnyBatch& any, RowRange rows, Outputs& out) {
    using T = std::tuple_element_t<Input, std::tuple<Inputs...>>;
    const auto& input = batch_cast<T>(any);
    scope_.outputs = &out;
    on_second_input_ = Input == 1;
    Context<Out> context(scope_);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (out.any_full()) return Progress{StepResult::output_full, row};
      scope_.timestamp = input.times.empty() ? no_timestamp : input.times[row];
      if constexpr (sizeof...(Inputs) == 1) {
        function_.on_element(input.values[row], context);
      } else if constexpr (Input == 0) {
        function_.on_element1(input.values[row], context);
      } else {
        function_.on_element2(input.values[row], context);
      }
    }
    scope_.outputs = nullptr;
    on_second_input_ = false;
    return Progress{StepResult::done, rows.end};
  }

  F function_;
  const OperatorContext* opened_ = nullptr;
  CallbackScope scope_;
  bool on_second_input_ = false;  // whose records may change a broadcast state
};

// In place of the selector of an input whose records have no key and go to all subtasks.
struct NoSelector {};

// A keyed function, of one or two inputs, each with its selector: state and timers belong to the
// current key. The second input may be a broadcast one, which alone changes broadcast states.
template <class F, class K, class Out, class Selectors, class... Inputs>
class KeyedProcessOperator final : public Operator, private TimerService {
 public:
  KeyedProcessOperator(F function, Selectors selectors)
      : function_(std::move(function)), selectors_(std::move(selectors)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    operator_context_ = &context;
    scope_.clock = context.clock;
    scope_.watermark = context.watermark;
    const KeyedStateScope<K> states{*context.state, current_, *context.clock};
    WEIR_TRY(bind_members(function_, scope_, *context.state, states, &on_broadcast_side_, this));
    if constexpr (declares_timer<F>()) WEIR_TRY(open_timers(*context.state));
    open_function(function_, context);
    opened_ = &context;
    return {};
  }
  void close() override { close_function(function_, std::exchange(opened_, nullptr)); }

  [[nodiscard]] Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    if constexpr (sizeof...(Inputs) == 2) {
      if (port.value == 1) return process_rows<1>(*in, rows, out);
    }
    return process_rows<0>(*in, rows, out);
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    scope_.watermark = watermark;
    const StepResult fired =
        fire_due(event_timers_.get(), watermark.ms, out, [](const TimerEntry<K>& entry) {
          return TimerFiring{entry.timer, EventTime{entry.time_ms}, {}};
        });
    if (fired == StepResult::done) out.emit_watermark(watermark);
    return fired;
  }

  [[nodiscard]] std::optional<ProcessingTime> next_processing_timer() const override {
    if (processing_timers_ == nullptr) return std::nullopt;
    const auto next = processing_timers_->next_time_ms();
    return next ? std::optional(ProcessingTime{*next}) : std::nullopt;
  }

  [[nodiscard]] Result<StepResult> on_processing_time(ProcessingTime now, Outputs& out) override {
    return fire_due(processing_timers_.get(), now.ms, out, [](const TimerEntry<K>& entry) {
      return TimerFiring{entry.timer, {}, ProcessingTime{entry.time_ms}};
    });
  }

 private:
  using Ctx = KeyedContext<K, Out>;
  static constexpr int firings_between_clock_reads = 16;

  Result<void> open_timers(StateBackend& backend) {
    std::vector<std::string> names;
    for_each_field(function_, [&names](std::string_view name, const auto& field) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, Timer>)
        names.emplace_back(name);
    });
    auto event_timers = backend.timers<K>(StateKind::event_timers, names);
    if (!event_timers) return event_timers.error();
    auto processing_timers = backend.timers<K>(StateKind::processing_timers, names);
    if (!processing_timers) return processing_timers.error();
    event_timers_ = *std::move(event_timers);
    processing_timers_ = *std::move(processing_timers);
    return {};
  }

  template <std::size_t Input>
  Result<Progress> process_rows(AnyBatch& any, RowRange rows, Outputs& out) {
    using Selector = std::tuple_element_t<Input, Selectors>;
    if constexpr (std::is_same_v<Selector, NoSelector>) {
      return process_broadcast<Input>(any, rows, out);
    } else {
      return process_keyed<Input>(any, rows, out);
    }
  }

  template <std::size_t Input>
  Result<Progress> process_broadcast(AnyBatch& any, RowRange rows, Outputs& out) {
    static_assert(Input == 1);
    const auto& input = batch_cast<std::tuple_element_t<Input, std::tuple<Inputs...>>>(any);
    scope_.outputs = &out;
    Context<Out> context(scope_);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (out.any_full()) return Progress{StepResult::output_full, row};
      scope_.timestamp = input.times.empty() ? no_timestamp : input.times[row];
      on_broadcast_side_ = true;
      current_.exists = false;
      function_.on_element2(input.values[row], context);
      on_broadcast_side_ = false;
      current_.exists = true;
    }
    scope_.outputs = nullptr;
    return Progress{StepResult::done, rows.end};
  }

  template <std::size_t Input>
  Result<Progress> process_keyed(AnyBatch& any, RowRange rows, Outputs& out) {
    using T = std::tuple_element_t<Input, std::tuple<Inputs...>>;
    const auto& input = batch_cast<T>(any);
    const auto& selector = std::get<Input>(selectors_);
    WEIR_TRY(check_keys(input, rows, selector, operator_context_->keys,
                        operator_context_->operator_name));
    scope_.outputs = &out;
    Ctx context(scope_, current_);
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (out.any_full()) return Progress{StepResult::output_full, row};
      scope_.timestamp = input.times.empty() ? no_timestamp : input.times[row];
      current_.key = std::invoke(selector, input.values[row]);
      current_.hash = input.hashes[row];
      if constexpr (sizeof...(Inputs) == 1) {
        function_.on_element(input.values[row], context);
      } else if constexpr (Input == 0) {
        function_.on_element1(input.values[row], context);
      } else {
        function_.on_element2(input.values[row], context);
      }
    }
    scope_.outputs = nullptr;
    return Progress{StepResult::done, rows.end};
  }

  template <class MakeFiring>
  StepResult fire_due(TimerQueue<K>* timers, std::int64_t now_ms, Outputs& out,
                      MakeFiring make_firing) {
    if (timers == nullptr) return StepResult::done;
    scope_.outputs = &out;
    Ctx context(scope_, current_);
    for (int fired = 1;; ++fired) {
      if (out.any_full()) return StepResult::output_full;
      auto entry = timers->pop_due(now_ms);
      if (!entry) break;
      const TimerFiring firing = make_firing(*entry);
      scope_.timestamp = firing.event_time.value_or(no_timestamp);
      current_.key = std::move(entry->key);
      current_.hash = hash_of(current_.key);
      if constexpr (requires { function_.on_timer(firing, context); })
        function_.on_timer(firing, context);
      if (fired % firings_between_clock_reads == 0 && out.budget().spent())
        return StepResult::yield;
    }
    scope_.outputs = nullptr;
    return StepResult::done;
  }

  void add_event_timer(TimerIndex timer, EventTime at) override {
    event_timers_->add({at.ms, timer, timer_key()});
  }
  void remove_event_timer(TimerIndex timer, EventTime at) override {
    event_timers_->remove({at.ms, timer, timer_key()});
  }
  void add_processing_timer(TimerIndex timer, ProcessingTime at) override {
    processing_timers_->add({at.ms, timer, timer_key()});
  }
  void remove_processing_timer(TimerIndex timer, ProcessingTime at) override {
    processing_timers_->remove({at.ms, timer, timer_key()});
  }

  [[nodiscard]] const K& timer_key() const { return state_detail::checked(current_).key; }

  F function_;
  Selectors selectors_;
  const OperatorContext* operator_context_ = nullptr;
  const OperatorContext* opened_ = nullptr;
  CallbackScope scope_;
  CurrentKey<K> current_;
  bool on_broadcast_side_ = false;
  // Shared with the backend; none if the function has no timers.
  std::shared_ptr<TimerQueue<K>> event_timers_;
  std::shared_ptr<TimerQueue<K>> processing_timers_;
};

}  // namespace weir
