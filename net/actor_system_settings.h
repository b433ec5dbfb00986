// How CAF is set up in a process that talks to others.
#pragma once

#include <caf/fwd.hpp>
#include <chrono>
#include <cstddef>

namespace weir {

struct ActorSystemSettings {
  std::size_t threads = 0;  // of the scheduler; 0: as many as the machine has cores
  // CAF takes a connection for lost after so long without a byte; its heartbeats come every second.
  // A single message must not take longer on the wire.
  std::chrono::milliseconds connection_timeout{10'000};
};

// Loads CAF's network, which listens nowhere by itself. Nothing is read from files or command line.
void configure(caf::actor_system_config& config, const ActorSystemSettings& settings);

}  // namespace weir
