// Joins of a stream with the versions of a table's rows.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "dataflow/api/function_traits.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/operators/temporal_join.h"
#include "state/ttl.h"

namespace weir {

// Made by KeyedStream::temporal_join and temporal_left_join:
//
//   orders.key_by(&Order::currency)
//       .temporal_join(rates.changelog(…).key_by(&Rate::currency))
//       .process("in euros", [](const Order& o, const Rate& r) { return o.amount * r.euros; });
//
// Both have event times; the table has one row per key. A record waits until the watermark has reached its time, and has it still when it
// comes out, joined with the last version that is not later. A version stays until the watermark has passed a later one of its key, so
// what is kept is about the table, and grows with its keys; `state_ttl` on the versions limits it: a key that has had no record on either
// side for so long is forgotten.
template <class L, class SelectorL, class R, class SelectorR, bool keeps_unmatched>
class TemporalJoin {
 public:
  TemporalJoin(KeyedStream<L, SelectorL> left, KeyedStream<R, SelectorR> versions, StateTtl ttl)
      : left_(std::move(left)), versions_(std::move(versions)), ttl_(ttl) {}

  // make(const L&, const R&) → the row. Of temporal_left_join: make(const L&, const R*), null if there was no version.
  template <class Make>
  [[nodiscard]] auto process(std::string name, Make make) const {
    if constexpr (keeps_unmatched) {
      static_assert(std::invocable<Make&, const L&, const R*>,
                    "weir: a temporal left join needs a function (const Left&, const Version*) → "
                    "row: the version is null if there is none");
      return joined<stream_detail::ResultOf<Make, const L&, const R*>>(std::move(name),
                                                                       std::move(make));
    } else {
      static_assert(std::invocable<Make&, const L&, const R&>,
                    "weir: a temporal join needs a function (const Left&, const Version&) → row");
      return joined<stream_detail::ResultOf<Make, const L&, const R&>>(std::move(name),
                                                                       std::move(make));
    }
  }

 private:
  template <class Out, class Make>
  [[nodiscard]] Stream<Out> joined(std::string name, Make make) const {
    static_assert(
        Encodable<L> && Encodable<R>,
        "weir: the records that a temporal join keeps are part of snapshots, so they need "
        "a codec: make them aggregates of encodable fields");
    auto node = left_.template keyed_node<Out>(
        std::move(name), "temporal join",
        [make, left = left_.selector(), right = versions_.selector(), ttl = ttl_] {
          using Op = TemporalJoinOperator<L, SelectorL, R, SelectorR, Out, Make, keeps_unmatched>;
          return std::make_unique<Op>(left, right, make, ttl);
        });
    node.input_hashers.push_back(versions_.hasher());
    PlanBuilder& builder = left_.builder();
    const NodeId id = builder.add(std::move(node));
    builder.connect(left_.origins(), id, InputPort{0});
    builder.connect(versions_.origins(), id, InputPort{1});
    return Stream<Out>(builder, {Origin{id, {}, {}, nullptr}});
  }

  KeyedStream<L, SelectorL> left_;
  KeyedStream<R, SelectorR> versions_;
  StateTtl ttl_;
};

}  // namespace weir
