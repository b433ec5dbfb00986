#include "net/actor_system_settings.h"

#include <algorithm>
#include <caf/actor_system_config.hpp>
#include <caf/io/middleman.hpp>
#include <thread>

namespace weir {

void configure(caf::actor_system_config& config, const ActorSystemSettings& settings) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  config.config_file_path.clear();
  config.load<caf::io::middleman>();
  // A remote round trip takes a sixth of what it does with the stealing scheduler.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", settings.threads > 0 ? settings.threads : cores);
  config.set("logger.verbosity", caf::atom("quiet"));
  // More threads for deserialising gained nothing, and with none messages keep their order.
  config.set("middleman.workers", std::size_t{0});
  config.set("middleman.heartbeat-interval", caf::timespan(std::chrono::seconds(1)));
  config.set("middleman.connection-timeout", caf::timespan(settings.connection_timeout));
  // It would listen at a port of its own, for everybody.
  config.set("middleman.enable-automatic-connections", false);
  // CAF's servers for spawning and configuration share the scheduler's threads.
  config.set("middleman.attach-utility-actors", true);
}

}  // namespace weir
