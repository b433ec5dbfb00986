// What the stream API asks of the functions it is given.
#pragma once

#include <concepts>
#include <ranges>
#include <type_traits>

#include "dataflow/api/async.h"
#include "dataflow/operators/event_time.h"
#include "dataflow/operators/process.h"
#include "dataflow/operators/stateless.h"
#include "dataflow/row_kind.h"

namespace weir {

namespace stream_detail {

template <class F, class... Args>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<F&, Args...>>;

template <class... F>
inline constexpr bool never = false;

// What event_time takes from a record.
template <class T>
concept Time = requires(const T& time) {
  to_event_time(time);
};

template <class F, class T>
concept RangeFunction =
    std::invocable<F&, const T&> && std::ranges::input_range<std::invoke_result_t<F&, const T&>>;

// What a function of changelog says.
template <class Said>
inline constexpr bool is_change = false;
template <class Row>
inline constexpr bool is_change<Change<Row>> = true;
template <class Said, class T>
struct RowOf {
  using Type = T;
};
template <class Row, class T>
struct RowOf<Change<Row>, T> {
  using Type = Row;
};

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

// The record type that an asynchronous function F answers with.
template <class F>
struct AsyncArgument;
template <class F, class R, class T, class Out>
struct AsyncArgument<R (F::*)(T, AsyncResult<Out>) const> {
  using Type = Out;
};
template <class F, class R, class T, class Out>
struct AsyncArgument<R (F::*)(T, AsyncResult<Out>)> {
  using Type = Out;
};
template <class R, class T, class Out>
struct AsyncArgument<R (*)(T, AsyncResult<Out>)> {
  using Type = Out;
};
template <class F>
struct AnsweredBy {};
template <class F>
requires requires {
  typename AsyncArgument<F>::Type;
}
struct AnsweredBy<F> : AsyncArgument<F> {};
template <class F>
requires requires {
  typename AsyncArgument<decltype(&F::operator())>::Type;
}
struct AnsweredBy<F> : AsyncArgument<decltype(&F::operator())> {};

template <class F>
concept AsyncFunction = requires {
  typename AnsweredBy<F>::Type;
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

}  // namespace stream_detail

}  // namespace weir
