#include "actors/master_node.h"

#include <unistd.h>

#include <caf/all.hpp>
#include <utility>

#include "actors/blob_server.h"
#include "actors/dispatcher.h"
#include "actors/engine_context.h"
#include "actors/networked_system_config.h"
#include "actors/resource_manager.h"
#include "net/blob_store.h"
#include "net/gate.h"

namespace weir {

struct MasterNode::Actors {
  Actors(MasterNodeOptions from, BlobStore store)
      : options(std::move(from)),
        // To a master that was frozen its connections look silent when it thaws: what has come in meanwhile is to be
        // read, and says who has given it up.
        config({.threads = 1, .connection_timeout = 10 * options.heartbeat_timeout}),
        system(config),
        gate(std::make_unique<Gate>(system, options.token, options.logger)) {
    engine.logger = options.logger;
    engine.heartbeat_interval = options.heartbeat_interval;
    engine.heartbeat_timeout = options.heartbeat_timeout;
    const NodeInfo node{.id = "master",
                        .role = "master",
                        .address = {},
                        .version = WEIR_VERSION,
                        .process = static_cast<std::uint64_t>(getpid())};
    resources = spawn_actor<ResourceManagerHandle>(system, engine, Placement::own_thread,
                                                   resource_manager, &engine, node);
    blobs = spawn_actor<BlobServerHandle>(system, engine, Placement::own_thread, blob_server,
                                          &engine, std::make_shared<BlobStore>(std::move(store)));
    jobs = spawn_actor<DispatcherHandle>(system, engine, Placement::own_thread, dispatcher, &engine,
                                         MasterServices{resources, blobs});
  }

  ~Actors() {
    gate.reset();
    caf::anon_send_exit(jobs, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(resources, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(blobs, caf::exit_reason::user_shutdown);
    engine.own_threads->wait_until_none();
  }

  MasterNodeOptions options;
  EngineContext engine;
  NetworkedSystemConfig config;
  caf::actor_system system;
  std::unique_ptr<Gate> gate;
  ResourceManagerHandle resources;
  BlobServerHandle blobs;
  DispatcherHandle jobs;
};

Result<std::unique_ptr<MasterNode>> MasterNode::start(MasterNodeOptions options) {
  auto store = BlobStore::open(options.data_directory / "blobs");
  if (!store) return store.error();
  auto actors = std::make_unique<Actors>(std::move(options), *std::move(store));
  const auto port = actors->gate->publish(caf::actor_cast<caf::strong_actor_ptr>(actors->jobs),
                                          actors->options.listen.host, actors->options.listen.port);
  if (!port) return port.error();
  actors->options.listen.port = *port;
  caf::anon_send(actors->resources, MasterListens{to_string(actors->options.listen)});
  return std::unique_ptr<MasterNode>(new MasterNode(std::move(actors)));
}

MasterNode::MasterNode(std::unique_ptr<Actors> actors) : actors_(std::move(actors)) {}
MasterNode::~MasterNode() = default;

Endpoint MasterNode::address() const {
  return actors_->options.listen;
}

}  // namespace weir
