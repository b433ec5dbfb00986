// What a user says of an aggregate: what is kept of many records, and what comes out of it.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {

// A type A that folds records of type T, as Flink's AggregateFunction:
//   struct A {
//     struct Accumulator { … };                                    // default: nothing folded yet
//     void add(Accumulator&, const T&) const;
//     Out result(const Accumulator&) const;
//     void merge(Accumulator&, const Accumulator& other) const;    // optional for tumbling windows
//     void retract(Accumulator& from, const Accumulator& part) const;
//         // optional: takes back, without a trace, what was merged
//   };
template <class A, class T>
concept AggregateFunction = requires(const A& a, typename A::Accumulator& acc,
                                     const typename A::Accumulator& done, const T& value) {
  requires std::default_initializable<typename A::Accumulator>;
  a.add(acc, value);
  a.result(done);
};

template <class A>
concept MergesAggregates = requires(const A& a, typename A::Accumulator& into,
                                    const typename A::Accumulator& other) {
  a.merge(into, other);
};

template <class A>
concept RetractsAggregates = MergesAggregates<A> &&
    requires(const A& a, typename A::Accumulator& from, const typename A::Accumulator& part) {
  a.retract(from, part);
};

template <class A>
using AggregateResult = std::remove_cvref_t<decltype(std::declval<const A&>().result(
    std::declval<const typename A::Accumulator&>()))>;

}  // namespace weir
