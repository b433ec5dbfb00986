// The one way by which actors of different processes reach each other: CAF's protocol (BASP),
// spoken only with peers that have shown the preamble.
//
// BASP itself asks nobody who he is, and believes any length it is told: a stranger's 32 bytes can
// make it allocate gigabytes. Therefore its sockets are opened here and given to CAF when the
// preambles have been exchanged. CAF's own middleman().publish, open, remote_actor and connect go
// around the gate: they must not be used.
#pragma once

#include <caf/actor_system.hpp>
#include <caf/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "net/preamble.h"
#include "net/preamble_handshake.h"

namespace weir {

// Thread-safe. Its calls block: not for actors that share a thread with others.
class Gate {
 public:
  // `system` has the middleman, see actor_system_settings.h, and outlives the gate.
  Gate(caf::actor_system& system, const ClusterToken& token, Logger logger,
       std::chrono::milliseconds handshake_timeout = preamble_timeout);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  // Stops listening. Connections that exist stay.
  ~Gate();

  // Makes `actor` what those get who connect to the port, and returns it; port 0: any. CAF keeps
  // the actor alive: it must quit before the system can end. Errors as those of listen_on.
  [[nodiscard]] Result<std::uint16_t> publish(const caf::strong_actor_ptr& actor,
                                              const std::string& host, std::uint16_t port);

  // The actor published at the other end; never null. To a node to which there is a connection
  // already, that one is used and the new one closed. Errors as those of dial; Errc::timeout also
  // if the peer does not finish CAF's own handshake in time.
  [[nodiscard]] Result<caf::strong_actor_ptr> connect(
      const std::string& host, std::uint16_t port,
      std::chrono::milliseconds timeout = preamble_timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir
