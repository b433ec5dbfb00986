// Joins of two keyed streams by key and window.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "dataflow/api/function_traits.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/stream.h"
#include "dataflow/api/window_function.h"
#include "dataflow/api/windowed_stream.h"
#include "dataflow/operators/window_join.h"

namespace weir {

// The key of a record of either side.
template <class L, class SelectorL, class R, class SelectorR>
struct JoinSideSelector {
  SelectorL left;
  SelectorR right;

  KeyOf<SelectorL, L> operator()(const JoinSide<L, R>& side) const {
    if (const L* of_left = std::get_if<0>(&side)) return std::invoke(left, *of_left);
    return std::invoke(right, std::get<1>(side));
  }
};

namespace join_detail {

template <class Callback>
struct SidesOf;
template <class F, class L, class R, class Ctx>
struct SidesOf<void (F::*)(L, R, Ctx&)> {
  using Context = Ctx;
};

}  // namespace join_detail

// Two keyed streams divided into the same windows. Made by KeyedStream::join and co_group:
//
//   clicks.key_by(&Click::user)
//       .join(buys.key_by(&Buy::user))
//       .window(Tumbling::of(1min))
//       .process("bought", [](const Click& c, const Buy& b) { return Bought{c.page, b.item}; });
//
// Both sides' elements are kept until their window is over; rows have its last millisecond as their time. Triggers, evictors and
// lateness are those of windows (WindowedStream); what they see is JoinSide<L, R>.
template <class L, class SelectorL, class R, class SelectorR, class Windows, bool grouped>
class WindowJoin {
 public:
  using K = KeyOf<SelectorL, L>;

  explicit WindowJoin(Windows windows) : windows_(std::move(windows)) {}

  template <class Trigger>
  [[nodiscard]] auto trigger(Trigger trigger) const {
    return with(windows_.trigger(std::move(trigger)));
  }
  template <class Evictor>
  [[nodiscard]] auto evictor(Evictor evictor) const {
    return with(windows_.evictor(std::move(evictor)));
  }
  [[nodiscard]] WindowJoin allowed_lateness(Duration lateness) const {
    return WindowJoin(windows_.allowed_lateness(lateness));
  }

  // Of join: make(const L&, const R&) → the row, for each pair. Of co_group: a function with
  //   void on_window(const std::vector<L>&, const std::vector<R>&, WindowContext<K, Out>&)
  // for each key and window with an element on either side; the other may be empty. It may have what window functions have: state, side
  // outputs (dataflow/api/window_function.h).
  template <class F>
  [[nodiscard]] auto process(std::string name, F function) const {
    if constexpr (grouped) {
      static_assert(
          requires { typename join_detail::SidesOf<decltype(&F::on_window)>::Context; },
          "weir: co_group needs a function with void on_window(const std::vector<L>&, "
          "const std::vector<R>&, WindowContext<K, Out>&)");
      using Ctx = typename join_detail::SidesOf<decltype(&F::on_window)>::Context;
      using Out = typename Ctx::Output;
      Windows::template check_window_function<F, Ctx, const std::vector<L>&,
                                              const std::vector<R>&>();
      return windows_.template fire<Out>(std::move(name), CoGroupCall<L, R, K, Out, F>(function),
                                         &function);
    } else {
      static_assert(std::invocable<F&, const L&, const R&>,
                    "weir: a window join needs a function (const Left&, const Right&) → row");
      using Out = stream_detail::ResultOf<F, const L&, const R&>;
      const void* no_members = nullptr;
      return windows_.template fire<Out>(
          std::move(name), JoinPairs<L, R, K, Out, F>(std::move(function)), no_members);
    }
  }

 private:
  template <class Other>
  [[nodiscard]] static auto with(Other windows) {
    return WindowJoin<L, SelectorL, R, SelectorR, Other, grouped>(std::move(windows));
  }

  Windows windows_;
};

// Two keyed streams that wait for their windows.
template <class L, class SelectorL, class R, class SelectorR, bool grouped>
class WindowJoinPair {
 public:
  WindowJoinPair(KeyedStream<L, SelectorL> left, KeyedStream<R, SelectorR> right)
      : left_(std::move(left)), right_(std::move(right)) {}

  template <class Assigner>
  [[nodiscard]] auto window(Assigner assigner) const {
    using Side = JoinSide<L, R>;
    const Stream<Side> both = side_of<Side, 0>(left_).union_with(side_of<Side, 1>(right_));
    auto windows = both.key_by(JoinSideSelector<L, SelectorL, R, SelectorR>{left_.selector(),
                                                                            right_.selector()})
                       .window(std::move(assigner));
    return WindowJoin<L, SelectorL, R, SelectorR, decltype(windows), grouped>(std::move(windows));
  }

 private:
  template <class Side, std::size_t index, class T, class Selector>
  [[nodiscard]] static Stream<Side> side_of(const KeyedStream<T, Selector>& stream) {
    std::vector<Origin> origins = stream.origins();
    for (Origin& origin : origins) origin.partitioning.reset();
    const Stream<T> unkeyed(stream.builder(), std::move(origins), false);
    const Stream<Side> side =
        unkeyed.map([](const T& value) { return Side(std::in_place_index<index>, value); });
    stream.builder().set_kind(side.origins().front().node, index == 0 ? "left side" : "right side");
    return side;
  }

  KeyedStream<L, SelectorL> left_;
  KeyedStream<R, SelectorR> right_;
};

}  // namespace weir
