// States as an operator binds them, and a restore of them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "state/keyed_access.h"
#include "state/redistribution.h"
#include "state/state_backend.h"

namespace weir {

inline constexpr KeyGroupSlice all_groups{{{0}, 128}, 128};

// A keyed state under the name "state", of string keys, in processing time that is set by hand.
template <class State>
class BoundState {
 public:
  explicit BoundState(State state = {}, RestoredState restored = {})
      : unbound_(state),
        state_(std::move(state)),
        backend_(all_groups, std::move(restored), "alerts") {
    bound_ = state_.bind(KeyedStateScope<std::string>{backend_, current_, clock_}, "state");
  }
  BoundState(const BoundState&) = delete;
  BoundState& operator=(const BoundState&) = delete;

  [[nodiscard]] const Result<void>& bound() const { return bound_; }
  [[nodiscard]] State& of(const std::string& key) {
    current_ = {key, hash_of(key), true};
    return state_;
  }
  // Time may go back, as that of a clock that is set.
  State& at(std::int64_t ms, const std::string& key = "a") {
    clock_.advance(ProcessingTime{ms} - clock_.processing_time());
    return of(key);
  }
  void without_key() { current_.exists = false; }

  [[nodiscard]] RestoredState snapshot() { return write_to_memory(backend_.freeze()); }
  [[nodiscard]] const State& unbound() const { return unbound_; }

 private:
  State unbound_;
  State state_;
  CurrentKey<std::string> current_;
  ManualClock clock_;
  StateBackend backend_;
  Result<void> bound_;
};

}  // namespace weir
