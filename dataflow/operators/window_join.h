// What a window of two united streams does when it fires.
#pragma once

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "dataflow/operators/window_firing.h"

namespace weir {

// A record of either side of a join. By position: both may be of one type.
template <class L, class R>
using JoinSide = std::variant<L, R>;

// Calls a window function with both sides' elements apart; a Firing (window_firing.h).
template <class L, class R, class K, class Out, class F>
class CoGroupCall {
 public:
  using PerWindow = typename WindowFunctionCall<K, Out, F>::PerWindow;

  explicit CoGroupCall(F function) : call_(std::move(function)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) { return call_.open(context); }
  void close() { call_.close(); }
  void call(const K& key, KeyHash hash, const Window& window, PerWindow& per_window,
            std::span<const JoinSide<L, R>> elements, EventTime watermark, Outputs& out) {
    std::vector<L> left;
    std::vector<R> right;
    for (const JoinSide<L, R>& element : elements) {
      if (const L* of_left = std::get_if<0>(&element)) {
        left.push_back(*of_left);
      } else {
        right.push_back(std::get<1>(element));
      }
    }
    call_.call_with(key, hash, window, per_window, watermark, out, std::as_const(left),
                    std::as_const(right));
  }

 private:
  WindowFunctionCall<K, Out, F> call_;
};

}  // namespace weir
