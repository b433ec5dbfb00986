// A master node: the actors that a cluster has once, behind one port.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "base/time.h"
#include "net/endpoint.h"
#include "net/preamble.h"

namespace weir {

struct MasterNodeOptions {
  Endpoint listen;  // port 0: any
  ClusterToken token;
  std::filesystem::path data_directory;
  Logger logger;
  Duration heartbeat_interval{1'000};
  Duration heartbeat_timeout{10'000};
};

// Owns Dispatcher, ResourceManager and BlobServer, and the actor system they live in. The destructor ends jobs that still
// run.
class MasterNode {
 public:
  // Listens when it returns.
  [[nodiscard]] static Result<std::unique_ptr<MasterNode>> start(MasterNodeOptions options);
  MasterNode(const MasterNode&) = delete;
  MasterNode& operator=(const MasterNode&) = delete;
  ~MasterNode();

  // Where it listens, with the port that it got.
  [[nodiscard]] Endpoint address() const;

 private:
  struct Actors;
  explicit MasterNode(std::unique_ptr<Actors> actors);
  std::unique_ptr<Actors> actors_;
};

}  // namespace weir
