// Which windows a record belongs to.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dataflow/window/window.h"

namespace weir {

// Whose time windows are of: the records' own, or that of the machine when they arrive. Windows of processing time hold
// their milliseconds since 1970 in the same type, Window.
enum class TimeDomain : std::uint8_t { event, processing };

// A value that assigns windows to records of type T:
//   assign(value, time, windows)   appends the windows of a record with that time, newest start first
//   merging                        whether windows of a key that overlap or touch become one
//   domain()                       whose time `time` is
//   mistake()                      what is wrong with its settings, for people; nothing if it can be used
//   name()                         "tumbling window" …
//   needs_time                     optional: false if records need no event time
//   needs_trigger                  optional: true if its windows never end by themselves
// It may be asked at any time and from any thread, and depends on nothing but its arguments.
template <class A, class T>
concept WindowAssigner = std::copy_constructible<A> &&
    requires(const A& assigner, const T& value, EventTime time, std::vector<Window>& windows) {
  assigner.assign(value, time, windows);
  { A::merging } -> std::convertible_to<bool>;
  { assigner.domain() } -> std::same_as<TimeDomain>;
  { assigner.mistake() } -> std::same_as<std::optional<std::string>>;
  { assigner.name() } -> std::same_as<std::string>;
};

// Base of assigners that exist for both time domains. Self is the assigner.
template <class Self>
class InEitherTime {
 public:
  [[nodiscard]] constexpr Self in_processing_time() const {
    Self copy = static_cast<const Self&>(*this);
    copy.domain_ = TimeDomain::processing;
    return copy;
  }
  [[nodiscard]] constexpr TimeDomain domain() const { return domain_; }

 private:
  TimeDomain domain_ = TimeDomain::event;
};

// A user's type that says which windows a record belongs to: std::vector<Window> windows_of(const T&, EventTime) const. Its windows
// are of event time and do not merge.
template <class A, class T>
concept AssignsWindows = std::copy_constructible<A> &&
    requires(const A& assigner, const T& value, EventTime time) {
  { assigner.windows_of(value, time) } -> std::same_as<std::vector<Window>>;
};

// Such a type as an assigner.
template <class A>
class CustomAssigner {
 public:
  static constexpr bool merging = false;

  explicit CustomAssigner(A assigns) : assigns_(std::move(assigns)) {}

  template <class T>
  void assign(const T& value, EventTime time, std::vector<Window>& windows) const {
    for (const Window& window : assigns_.windows_of(value, time)) windows.push_back(window);
  }
  [[nodiscard]] TimeDomain domain() const { return TimeDomain::event; }
  [[nodiscard]] std::optional<std::string> mistake() const { return {}; }
  [[nodiscard]] std::string name() const { return "window"; }

 private:
  A assigns_;
};

namespace window_detail {

// Of aligned windows that begin every `every`, moved by `offset`.
[[nodiscard]] inline std::optional<std::string> offset_mistake(const std::string& window,
                                                               Duration offset, Duration every) {
  if (offset < every && -offset < every) return {};
  return "the offset of a " + window + " is " + std::to_string(offset.count()) +
         " ms: it must be between -" + std::to_string(every.count()) + " and " +
         std::to_string(every.count()) + " ms, without these";
}

[[nodiscard]] inline std::optional<std::string> length_mistake(const std::string& what,
                                                               Duration length) {
  if (length > Duration{0}) return {};
  return what + " is " + std::to_string(length.count()) + " ms: it must be above 0";
}

}  // namespace window_detail

}  // namespace weir
