// Actors that share their thread fairly.
#pragma once

#include <caf/all.hpp>
#include <chrono>
#include <cstddef>
#include <type_traits>

#include "actors/task_scheduling.h"
#include "base/clock.h"
#include "base/limits.h"

namespace weir {

// An actor of Handle with this state that gives its thread to the others who wait for one when it has had it for a while.
//
// CAF lets an actor handle messages for as long as its mailbox has any. A task that has more to do sends itself the next
// step: with as many busy tasks as threads nobody else would run, not even the consumers of what they put out. CAF's own
// remedy, scheduler.max-throughput, counts messages: few enough for steps of 5 ms are too few for those of 50 µs, which
// then cost a few percent of what a job achieves. So it is time that counts here, looked at after each message.
template <class State, class Handle>
class FairActor : public std::remove_pointer_t<typename Handle::template stateful_pointer<State>> {
 public:
  using Base = std::remove_pointer_t<typename Handle::template stateful_pointer<State>>;
  using Base::Base;

  caf::resumable::resume_result resume(caf::execution_unit* thread,
                                       std::size_t messages_max) override {
    const MonotonicTime begin = system_clock().now();
    for (std::size_t handled = 1;; ++handled) {
      const auto result = Base::resume(thread, 1);
      const bool goes_on = result == caf::resumable::resume_later && handled < messages_max &&
                           system_clock().now() - begin < limits::turn_time_max;
      if (!goes_on) return result;
      NextActor::of_this_thread().let_go(thread);
    }
  }
};

}  // namespace weir
