// CAF between processes.
#pragma once

#include <caf/all.hpp>
#include <cstdint>

#include "actors/messages.h"
#include "actors/task_scheduling.h"
#include "net/actor_system_settings.h"

namespace weir {

// Set here, so that no file or command line of the user's reaches CAF.
//
// CAF closes connections that are silent for a multiple of the heartbeat timeout: our own heartbeats come first, whose
// judgement has words for people.
class NetworkedSystemConfig : public caf::actor_system_config {
 public:
  explicit NetworkedSystemConfig(const ActorSystemSettings& settings) {
    configure(*this, settings);
    load<TaskScheduler>();
    register_messages(*this);
  }
};

}  // namespace weir
