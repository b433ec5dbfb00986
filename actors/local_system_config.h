// CAF within one process.
#pragma once

#include <algorithm>
#include <caf/all.hpp>
#include <cstdint>
#include <thread>

#include "actors/task_scheduling.h"

namespace weir {

// Set here, so that no file or command line of the user's reaches CAF.
class LocalSystemConfig : public caf::actor_system_config {
 public:
  // Threads for tasks; 0: as many as the machine has cores.
  explicit LocalSystemConfig(std::uint32_t worker_threads) {
    const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
    load<TaskScheduler>();
    set("scheduler.max-threads", worker_threads > 0 ? std::size_t{worker_threads} : cores);
    set("logger.verbosity", caf::atom("quiet"));
  }
};

}  // namespace weir
