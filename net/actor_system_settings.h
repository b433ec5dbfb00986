// How CAF is set up in a process that talks to others.
#pragma once

#include <caf/fwd.hpp>
#include <chrono>
#include <cstddef>

namespace weir {

// How many messages an actor may handle before the others that wait for a thread get theirs: an element that arrives, and
// the step of a task that it leads to.
//
// CAF's default is no limit. A task that has more to do sends itself the next step, so its mailbox is never empty and it
// would never give its thread away: with as many busy tasks as threads nobody else runs, not even the consumers of what
// they put out. Steps end after about 5 ms, so whoever waits waits for two of each task before it. Nothing measurable
// is lost by it: a turn in CAF's queue costs less than a microsecond.
inline constexpr std::size_t messages_per_turn = 2;

struct ActorSystemSettings {
  std::size_t threads = 0;  // of the scheduler; 0: as many as the machine has cores
  // CAF takes a connection for lost after so long without a byte; its heartbeats come every second.
  // A single message must not take longer on the wire.
  std::chrono::milliseconds connection_timeout{10'000};
};

// Loads CAF's network, which listens nowhere by itself. Nothing is read from files or command line.
void configure(caf::actor_system_config& config, const ActorSystemSettings& settings);

}  // namespace weir
