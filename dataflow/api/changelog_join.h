// Joins of two keyed changelogs.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "dataflow/api/function_traits.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/operators/changelog_join.h"
#include "dataflow/plan/plan_builder.h"

namespace weir {

template <class T>
class ChangelogStream;

// Adds the step of a join; its rows are a changelog. Left, Right: as KeyedChangelog.
template <JoinType type, class Out, class Left, class Right, class Make>
[[nodiscard]] ChangelogStream<Out> add_changelog_join(std::string name, const Left& left,
                                                      const Right& right, Make make) {
  const auto left_input = left.join_input();
  const auto right_input = right.join_input();
  auto node = left.rows().template keyed_node<Out>(
      std::move(name), "join", [left_input, right_input, make] {
        using Op = ChangelogJoinOperator<type, std::remove_const_t<decltype(left_input)>,
                                         std::remove_const_t<decltype(right_input)>, Out, Make>;
        return std::make_unique<Op>(left_input, right_input, make);
      });
  node.input_hashers.push_back(right.rows().hasher());
  PlanBuilder& builder = left.rows().builder();
  const NodeId id = builder.add(std::move(node));
  builder.connect(left.rows().origins(), id, InputPort{0});
  builder.connect(right.rows().origins(), id, InputPort{1});
  return ChangelogStream<Out>(Stream<Out>(builder, {Origin{id, {}, {}, nullptr}}));
}

// Two keyed changelogs that wait for the function that makes rows of them. Made by KeyedChangelog::join, left_join, right_join and
// full_join.
template <JoinType type, class Left, class Right>
class ChangelogJoin {
 public:
  ChangelogJoin(Left left, Right right) : left_(std::move(left)), right_(std::move(right)) {}

  // make(const L&, const R&) → the row. The side that a row may lack is a pointer: (const L&, const R*) of left_join, (const L*, const R&)
  // of right_join, (const L*, const R*) of full_join. It must give the same row for the same records: rows are taken back as they were
  // put out.
  template <class Make>
  [[nodiscard]] auto process(std::string name, Make make) const {
    using L = typename Left::value_type;
    using R = typename Right::value_type;
    if constexpr (type == JoinType::left) {
      static_assert(std::invocable<Make&, const L&, const R*>,
                    "weir: a left join needs a function (const Left&, const Right*) → row: the "
                    "right one is null if there is none");
      return joined<const L&, const R*>(std::move(name), std::move(make));
    } else if constexpr (type == JoinType::right) {
      static_assert(std::invocable<Make&, const L*, const R&>,
                    "weir: a right join needs a function (const Left*, const Right&) → row: the "
                    "left one is null if there is none");
      return joined<const L*, const R&>(std::move(name), std::move(make));
    } else if constexpr (type == JoinType::full) {
      static_assert(std::invocable<Make&, const L*, const R*>,
                    "weir: a full join needs a function (const Left*, const Right*) → row: one of "
                    "both may be null");
      return joined<const L*, const R*>(std::move(name), std::move(make));
    } else {
      static_assert(std::invocable<Make&, const L&, const R&>,
                    "weir: a join needs a function (const Left&, const Right&) → row");
      return joined<const L&, const R&>(std::move(name), std::move(make));
    }
  }

 private:
  template <class OfLeft, class OfRight, class Make>
  [[nodiscard]] auto joined(std::string name, Make make) const {
    using Out = stream_detail::ResultOf<Make, OfLeft, OfRight>;
    return add_changelog_join<type, Out>(std::move(name), left_, right_, std::move(make));
  }

  Left left_;
  Right right_;
};

}  // namespace weir
