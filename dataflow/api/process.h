// Process functions: the user's own logic per record, with state, timers and side outputs.
//
// A process function is an aggregate with public members and callbacks:
//
//   struct Alerts {
//     int limit = 5;                      // a parameter
//     ValueState<int> failures{};         // keyed only: state of the current key
//     Timer expiry{};                     // keyed only
//     SideOutput<std::string> refused{};  // a second output: stream.side(&Alerts::refused)
//     void on_element(const Login& login, KeyedContext<std::string, Alert>& ctx);
//     void on_timer(const TimerFiring& firing, KeyedContext<std::string, Alert>& ctx);
//   };
//
// The braces let a program write Alerts{.limit = 3} without a warning. A function without key takes
// Context<Alert>& and may have on_end(Context<Alert>&), called when the input has ended.
//
// The other keyed states are ListState, MapState, ReducingState and AggregatingState; each can have
// a time to live: ValueState<int> failures{ttl(1h)}. A function without key can have an
// OperatorListState, and one whose second input is a broadcast stream a BroadcastState.
//
// The context's types say what comes out, and for keyed functions by what key. Two inputs:
// on_element1 and on_element2; if a keyed stream is connected with a broadcast one, the latter's
// records have no key: on_element2(const B&, Context<Out>&). Callbacks of one instance never
// overlap. Members are found by
// reflection; their names are their identity.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/time.h"
#include "dataflow/output.h"
#include "state/aggregating_state.h"
#include "state/broadcast_state.h"
#include "state/list_state.h"
#include "state/map_state.h"
#include "state/operator_list_state.h"
#include "state/reducing_state.h"
#include "state/timer_queue.h"
#include "state/value_state.h"

namespace weir {

// What timers and contexts of one operator share during a callback.
struct CallbackScope {
  Outputs* outputs = nullptr;  // null between callbacks
  EventTime timestamp = no_timestamp;
  EventTime watermark = EventTime::min();
  const Clock* clock = nullptr;
};

// A function's second, third … output.
template <class T>
class SideOutput {
 public:
  using Value = T;

  // With the time of the record being processed.
  void push(T value) {
    WEIR_CHECK(scope_ != nullptr);
    WEIR_CHECK(scope_->outputs != nullptr);
    scope_->outputs->port<T>(port_).push(std::move(value), scope_->timestamp);
  }

  // For the operator that owns the function.
  void bind(OutputPort port, const CallbackScope& scope) {
    port_ = port;
    scope_ = &scope;
  }

 private:
  OutputPort port_{};
  const CallbackScope* scope_ = nullptr;
};

// Registers and deletes, for the current key, the timers of one member of a function.
class TimerService {
 public:
  virtual ~TimerService() = default;
  virtual void add_event_timer(TimerIndex timer, EventTime at) = 0;
  virtual void remove_event_timer(TimerIndex timer, EventTime at) = 0;
  virtual void add_processing_timer(TimerIndex timer, ProcessingTime at) = 0;
  virtual void remove_processing_timer(TimerIndex timer, ProcessingTime at) = 0;
};

// A named timer of a keyed function: any number of times per key, each fires once. A time that has
// passed fires with the next watermark, or at once in processing time.
class Timer {
 public:
  void at(EventTime time) { service().add_event_timer(index_, time); }
  void at(ProcessingTime time) { service().add_processing_timer(index_, time); }
  void cancel(EventTime time) { service().remove_event_timer(index_, time); }
  void cancel(ProcessingTime time) { service().remove_processing_timer(index_, time); }

  // For the operator that owns the function.
  void bind(TimerIndex index, TimerService& service) {
    index_ = index;
    service_ = &service;
  }
  [[nodiscard]] TimerIndex index() const { return index_; }

 private:
  TimerService& service() {
    WEIR_CHECK(service_ != nullptr);  // a timer of a function that runs in no keyed operator
    return *service_;
  }

  TimerIndex index_{};
  TimerService* service_ = nullptr;
};

// Which timer has fired, and for when it was set: one of the two times.
struct TimerFiring {
  TimerIndex index;
  std::optional<EventTime> event_time;
  std::optional<ProcessingTime> processing_time;

  [[nodiscard]] bool is(const Timer& timer) const { return timer.index() == index; }
};

// What a callback of a function without key can do and see.
template <class Out>
class Context {
 public:
  using Output = Out;

  explicit Context(CallbackScope& scope) : scope_(&scope) {}

  // Puts out a value, with the time of the record or timer being processed, or another.
  void emit(Out value) { emit(std::move(value), scope_->timestamp); }
  void emit(Out value, EventTime at) {
    scope_->outputs->template port<Out>().push(std::move(value), at);
  }

  // Time of the record being processed, no_timestamp if it has none; of a timer, what it was set
  // to.
  [[nodiscard]] EventTime timestamp() const { return scope_->timestamp; }
  [[nodiscard]] EventTime watermark() const { return scope_->watermark; }
  [[nodiscard]] ProcessingTime processing_time() const { return scope_->clock->processing_time(); }

 private:
  CallbackScope* scope_;
};

// The same for a keyed function.
template <class K, class Out>
class KeyedContext : public Context<Out> {
 public:
  using Key = K;

  KeyedContext(CallbackScope& scope, const CurrentKey<K>& current)
      : Context<Out>(scope), current_(&current) {}

  [[nodiscard]] const K& key() const { return current_->key; }

 private:
  const CurrentKey<K>* current_;
};

}  // namespace weir
