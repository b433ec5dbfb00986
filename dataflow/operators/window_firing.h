// What a window operator does when a window fires.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dataflow/api/rich_function.h"
#include "dataflow/api/window_function.h"
#include "dataflow/operator.h"
#include "dataflow/operators/open_windows.h"
#include "dataflow/operators/process.h"
#include "dataflow/output.h"

namespace weir {

// Each has a PerWindow, what it keeps for every window; open and close; and call, which returns whether it is done. One that has
// `stops_midway` says no when the output is full or the step's time is up, and goes on by the same call.

// One row per firing: Make (const K&, Window, given) → Out.
template <class K, class Out, class Make>
class WindowRow {
 public:
  using PerWindow = Absent;

  explicit WindowRow(Make make) : make_(std::move(make)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& /*context*/) { return {}; }
  void close() {}
  template <class Given>
  bool call(const K& key, KeyHash /*hash*/, const Window& window, PerWindow& /*per_window*/,
            Given&& given, EventTime /*watermark*/, Outputs& out) {
    out.port<Out>().push(make_(key, window, std::forward<Given>(given)), window.max_time());
    return true;
  }

 private:
  Make make_;
};

namespace window_detail {

// An optional for each WindowState among the members, in their order.
template <class Members>
struct SlotsOf;
template <class... M>
struct SlotsOf<std::tuple<M...>> {
  template <class Member>
  static auto slot() {
    if constexpr (process_detail::is_a<Member, WindowState>)
      return std::tuple<std::optional<typename Member::Value>>{};
    else
      return std::tuple<>{};
  }
  using Type = decltype(std::tuple_cat(slot<M>()...));
};

}  // namespace window_detail

// Whether a firing may be under way for more than one call.
template <class Firing>
inline constexpr bool stops_midway = requires {
  Firing::stops_midway;
};

// Whether a window function has state per window.
template <class F>
inline constexpr bool declares_window_state =
    !std::is_same_v<typename window_detail::SlotsOf<FieldTypes<F>>::Type, std::tuple<>>;

// Calls a window function; see dataflow/api/window_function.h.
template <class K, class Out, class F>
class WindowFunctionCall {
 public:
  using Slots = typename window_detail::SlotsOf<FieldTypes<F>>::Type;
  using PerWindow = std::conditional_t<declares_window_state<F>, Slots, Absent>;

  explicit WindowFunctionCall(F function) : function_(std::move(function)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) {
    scope_.clock = context.clock;
    const KeyedStateScope<K> states{*context.state, current_, *context.clock};
    WEIR_TRY(bind_members(function_, scope_, *context.state, states));
    open_function(function_, context);
    opened_ = &context;
    return {};
  }
  void close() { close_function(function_, std::exchange(opened_, nullptr)); }

  template <class Given>
  bool call(const K& key, KeyHash hash, const Window& window, PerWindow& per_window, Given&& given,
            EventTime watermark, Outputs& out) {
    call_with(key, hash, window, per_window, watermark, out, given);
    return true;
  }
  // on_window(given…, context)
  template <class... Given>
  void call_with(const K& key, KeyHash hash, const Window& window, PerWindow& per_window,
                 EventTime watermark, Outputs& out, Given&... given) {
    scope_.outputs = &out;
    scope_.timestamp = window.max_time();
    scope_.watermark = watermark;
    current_.key = key;
    current_.hash = hash;
    if constexpr (declares_window_state<F>) point_at(per_window);
    WindowContext<K, Out> context(scope_, current_, window);
    function_.on_window(given..., context);
    scope_.outputs = nullptr;
  }

 private:
  void point_at(PerWindow& per_window) {
    std::apply(
        [this](auto&... slots) {
          std::tuple<decltype(&slots)...> addresses{&slots...};
          point_members<0, 0>(addresses);
        },
        per_window);
  }
  template <std::size_t Member, std::size_t Slot, class Addresses>
  void point_members(Addresses& addresses) {
    if constexpr (Member < field_count<F>) {
      auto& member = std::get<Member>(fields_of(function_));
      if constexpr (process_detail::is_a<std::remove_cvref_t<decltype(member)>, WindowState>) {
        member.point_at(std::get<Slot>(addresses));
        point_members<Member + 1, Slot + 1>(addresses);
      } else {
        point_members<Member + 1, Slot>(addresses);
      }
    }
  }

  F function_;
  const OperatorContext* opened_ = nullptr;
  CallbackScope scope_;
  CurrentKey<K> current_;
};

}  // namespace weir
