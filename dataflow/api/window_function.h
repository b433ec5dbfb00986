// Functions of whole windows: the user's own logic per firing, with state and side outputs.
//
// As a process function (dataflow/api/process.h) a window function is an aggregate with public members:
//
//   struct Median {
//     double at_least = 0;                 // a parameter
//     ValueState<int> windows_seen{};      // state of the key, over all its windows
//     WindowState<int> firings{};          // state of the key and window; gone with the window
//     SideOutput<std::string> empty{};     // a second output: stream.side(&Median::empty)
//     void on_window(std::span<const Reading> readings, WindowContext<std::string, Row>& ctx);
//   };
//
// on_window is called when the window fires, with all its elements in the order of their arrival, which are then kept until the
// window is over. Behind an aggregate, `.aggregate("name", Agg{}, Function{})`, it gets the aggregate's result instead,
// on_window(const Result&, …), and no elements are kept. What it puts out has the time of the window's last millisecond.
// A window function has no timers: the trigger of its windows says when it is called.
#pragma once

#include <optional>
#include <utility>

#include "base/check.h"
#include "dataflow/api/process.h"
#include "dataflow/window/window.h"

namespace weir {

// The key of window_all, which does not divide the stream.
struct NoKey {
  friend bool operator==(const NoKey&, const NoKey&) = default;
};

// What a window function can do and see.
template <class K, class Out>
class WindowContext : public KeyedContext<K, Out> {
 public:
  WindowContext(CallbackScope& scope, const CurrentKey<K>& current, const Window& window)
      : KeyedContext<K, Out>(scope, current), window_(window) {}

  [[nodiscard]] const Window& window() const { return window_; }

 private:
  Window window_;
};

// The same for windows of window_all.
template <class Out>
using AllWindowContext = WindowContext<NoKey, Out>;

// A value per key and window, as a member of a window function; only for windows that do not merge. Goes when the window is
// over. Usable only inside the function's callbacks.
template <class V>
class WindowState {
 public:
  using Value = V;

  // Null if the window has none.
  [[nodiscard]] const V* get() const { return slot().has_value() ? &*slot() : nullptr; }
  [[nodiscard]] V value_or(V otherwise) const {
    return slot().has_value() ? *slot() : std::move(otherwise);
  }
  void set(V value) { slot() = std::move(value); }
  // The window's value for changing it in place, V{} at first.
  [[nodiscard]] V& update() {
    if (!slot().has_value()) slot().emplace();
    return *slot();
  }
  void clear() { slot().reset(); }

  // For the operator that owns the function: where the value of the current window is, null between callbacks.
  void point_at(std::optional<V>* slot) { slot_ = slot; }

 private:
  [[nodiscard]] std::optional<V>& slot() const {
    WEIR_CHECK(slot_ != nullptr);  // a window's state outside of on_window
    return *slot_;
  }

  std::optional<V>* slot_ = nullptr;
};

}  // namespace weir
