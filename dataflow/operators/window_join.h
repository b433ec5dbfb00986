// What a window of two united streams does when it fires.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "dataflow/api/rich_function.h"
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
  bool call(const K& key, KeyHash hash, const Window& window, PerWindow& per_window,
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
    return true;
  }

 private:
  WindowFunctionCall<K, Out, F> call_;
};

// Puts out make(const L&, const R&) for all pairs; a Firing.
template <class L, class R, class K, class Out, class Make>
class JoinPairs {
 public:
  using PerWindow = Absent;
  static constexpr bool stops_midway = true;

  explicit JoinPairs(Make make) : make_(std::move(make)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) {
    open_function(make_, context);
    opened_ = &context;
    return {};
  }
  void close() { close_function(make_, std::exchange(opened_, nullptr)); }

  // Requires that the elements are the same until it has said that it is done.
  bool call(const K& /*key*/, KeyHash /*hash*/, const Window& window, PerWindow& /*per_window*/,
            std::span<const JoinSide<L, R>> elements, EventTime /*watermark*/, Outputs& out) {
    if (!std::exchange(is_under_way_, true)) begin(elements);
    BudgetCheck check(out.budget());
    auto& output = out.port<Out>();
    for (; left_at_ < left_.size(); ++left_at_, right_at_ = 0) {
      const L& of_left = std::get<0>(elements[left_[left_at_]]);
      while (right_at_ < right_.size()) {
        output.push(make_(of_left, std::get<1>(elements[right_[right_at_++]])), window.max_time());
        if (output.full() || check.spent()) return false;
      }
    }
    is_under_way_ = false;
    return true;
  }

 private:
  void begin(std::span<const JoinSide<L, R>> elements) {
    left_.clear();
    right_.clear();
    for (std::size_t i = 0; i < elements.size(); ++i)
      (elements[i].index() == 0 ? left_ : right_).push_back(i);
    left_at_ = right_at_ = 0;
  }

  Make make_;
  const OperatorContext* opened_ = nullptr;
  // Of the firing under way: where the elements of each side are, and the next pair.
  bool is_under_way_ = false;
  std::vector<std::size_t> left_;
  std::vector<std::size_t> right_;
  std::size_t left_at_ = 0;
  std::size_t right_at_ = 0;
};

}  // namespace weir
