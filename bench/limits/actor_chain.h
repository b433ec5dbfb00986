// Three bare actors in a row: the least that a record needs to pass through a source, a task and a
// sink.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

namespace weir::bench {

// Sends `count` messages, one per `interval`, through source → task → sink; returns each one's time
// in microseconds.
[[nodiscard]] std::vector<double> actor_chain_latencies(std::size_t count,
                                                        std::chrono::microseconds interval);

// Starts an idle actor system with as many threads as the engine uses, and stays until the process
// is killed.
void idle_actor_system();

}  // namespace weir::bench
