// When a window puts out its result.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/codec.h"
#include "base/time.h"
#include "dataflow/window/window.h"
#include "dataflow/window/window_assigner.h"

namespace weir {

// What a trigger answers: nothing; to put out the window's result; to drop its contents; the first, then the second. A window
// without contents puts nothing out.
enum class TriggerResult : std::uint8_t { continue_, fire, purge, fire_and_purge };

[[nodiscard]] constexpr bool fires(TriggerResult result) {
  return result == TriggerResult::fire || result == TriggerResult::fire_and_purge;
}
[[nodiscard]] constexpr bool purges(TriggerResult result) {
  return result == TriggerResult::purge || result == TriggerResult::fire_and_purge;
}

// Whether a window has an end timer, by domain.
struct EndTimers {
  bool event = false;
  bool processing = false;
};

// The other timers of one window, ascending.
struct TriggerTimers {
  std::vector<EventTime> event;
  std::vector<ProcessingTime> processing;
};

// What a trigger sees and does during a callback. Timers belong to the window and go with it; each fires once, however often
// it is set. One whose time has passed fires with the next watermark, or at once in processing time.
class TriggerContext {
 public:
  // `timers` is null for a trigger that has said it sets none but end timers.
  TriggerContext(const Window& window, TimeDomain domain, EventTime watermark, const Clock& clock,
                 EndTimers& end, TriggerTimers* timers)
      : window_(&window),
        domain_(domain),
        watermark_(watermark),
        clock_(&clock),
        end_(&end),
        timers_(timers) {}

  [[nodiscard]] const Window& window() const { return *window_; }
  // Whose time the window is of.
  [[nodiscard]] TimeDomain domain() const { return domain_; }
  [[nodiscard]] EventTime watermark() const { return watermark_; }
  [[nodiscard]] ProcessingTime processing_time() const { return clock_->processing_time(); }

  void set_timer(EventTime at) { insert(timers().event, at); }
  void set_timer(ProcessingTime at) { insert(timers().processing, at); }
  void cancel_timer(EventTime at) { std::erase(timers().event, at); }
  void cancel_timer(ProcessingTime at) { std::erase(timers().processing, at); }

  // A timer for window().max_time(), which moves with it when windows merge. It comes as any other.
  void set_end_timer(TimeDomain domain) { end_timer(domain) = true; }
  void cancel_end_timer(TimeDomain domain) { end_timer(domain) = false; }

 private:
  template <class Time>
  static void insert(std::vector<Time>& sorted, Time at) {
    const auto place = std::lower_bound(sorted.begin(), sorted.end(), at);
    if (place == sorted.end() || *place != at) sorted.insert(place, at);
  }
  bool& end_timer(TimeDomain domain) {
    return domain == TimeDomain::event ? end_->event : end_->processing;
  }
  TriggerTimers& timers() {
    WEIR_CHECK(timers_ != nullptr);  // the trigger has declared `other_timers = false`
    return *timers_;
  }

  const Window* window_;
  TimeDomain domain_;
  EventTime watermark_;
  const Clock* clock_;
  EndTimers* end_;
  TriggerTimers* timers_;
};

// A trigger is a value; its copies behave alike, and what it has to remember is in its State, which exists per key and window,
// begins as State{} and is part of snapshots:
//
//   struct Trigger {
//     struct State {…};                                        // may be left out, as `State&` then is everywhere
//     TriggerResult on_element(const T&, EventTime, TriggerContext&, State&);      // for each record of the window
//     TriggerResult on_event_time(EventTime, TriggerContext&, State&);             // for a timer; may be left out
//     TriggerResult on_processing_time(ProcessingTime, TriggerContext&, State&);   // for a timer; may be left out
//     void merge(State& into, const State& other);             // of windows that become one; without, no such windows
//     static constexpr bool other_timers = false;              // it sets no timers but end timers: saves memory
//     std::optional<std::string> mistake() const;              // what is wrong with its settings; may be left out
//   };
//
// on_element comes after the record has entered the window and windows have merged. A window's timers of both need no merging:
// they are the one's and the other's.
namespace trigger_detail {

// Of triggers that remember nothing.
struct NoState {
  friend bool operator==(NoState, NoState) = default;
};

template <class Trigger>
struct StateOf {
  using Type = NoState;
};
template <class Trigger>
requires requires {
  typename Trigger::State;
}
struct StateOf<Trigger> {
  using Type = typename Trigger::State;
};

}  // namespace trigger_detail

template <class Trigger>
using TriggerState = typename trigger_detail::StateOf<Trigger>::Type;

template <class Trigger>
inline constexpr bool remembers_nothing =
    std::is_same_v<TriggerState<Trigger>, trigger_detail::NoState>;

template <class Trigger>
consteval bool sets_other_timers() {
  if constexpr (requires { Trigger::other_timers; })
    return Trigger::other_timers;
  else
    return true;
}

// Whether its windows may become one.
template <class Trigger>
inline constexpr bool can_merge = remembers_nothing<Trigger> ||
                                  requires(Trigger& trigger, TriggerState<Trigger>& into,
                                           const TriggerState<Trigger>& other) {
  trigger.merge(into, other);
};

namespace trigger_detail {

// The callbacks, whether the trigger leaves out the state or all of it.
template <class Trigger, class T>
TriggerResult on_element(Trigger& trigger, const T& value, EventTime time, TriggerContext& context,
                         TriggerState<Trigger>& state) {
  if constexpr (requires { trigger.on_element(value, time, context, state); })
    return trigger.on_element(value, time, context, state);
  else
    return trigger.on_element(value, time, context);
}
template <class Trigger>
TriggerResult on_event_time(Trigger& trigger, EventTime time, TriggerContext& context,
                            TriggerState<Trigger>& state) {
  if constexpr (requires { trigger.on_event_time(time, context, state); })
    return trigger.on_event_time(time, context, state);
  else if constexpr (requires { trigger.on_event_time(time, context); })
    return trigger.on_event_time(time, context);
  else
    return TriggerResult::continue_;
}
template <class Trigger>
TriggerResult on_processing_time(Trigger& trigger, ProcessingTime time, TriggerContext& context,
                                 TriggerState<Trigger>& state) {
  if constexpr (requires { trigger.on_processing_time(time, context, state); })
    return trigger.on_processing_time(time, context, state);
  else if constexpr (requires { trigger.on_processing_time(time, context); })
    return trigger.on_processing_time(time, context);
  else
    return TriggerResult::continue_;
}
template <class Trigger>
void merge(Trigger& trigger, TriggerState<Trigger>& into, const TriggerState<Trigger>& other) {
  if constexpr (requires { trigger.merge(into, other); }) trigger.merge(into, other);
}

}  // namespace trigger_detail

// Whether a trigger can be asked about records of type T.
template <class Trigger, class T>
concept TriggerOf = std::copy_constructible<Trigger> &&(
    requires(Trigger& trigger, const T& value, EventTime time, TriggerContext& context,
             TriggerState<Trigger>& state) {
      { trigger.on_element(value, time, context, state) } -> std::same_as<TriggerResult>;
    } ||
    requires(Trigger & trigger, const T& value, EventTime time, TriggerContext& context) {
      { trigger.on_element(value, time, context) } -> std::same_as<TriggerResult>;
    });

}  // namespace weir
