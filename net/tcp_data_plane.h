// The data plane over TCP.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/log.h"
#include "base/result.h"
#include "net/data_plane.h"
#include "net/endpoint.h"
#include "net/preamble.h"

namespace weir {

struct TcpDataPlaneOptions {
  std::string listen_host = "0.0.0.0";  // a name or address of this machine
  PortRange ports;                      // the first free one is taken
  std::string advertise_host;           // what others dial; empty: listen_host
  ClusterToken token;
  JobId job{};
  AttemptId attempt{};
  HostIndex host{};  // who we are
  Logger log;
  // From dialing to the peer's welcome, with retries while nobody listens there.
  std::chrono::milliseconds connect_timeout{10'000};
  // What a connection that comes in has for its preamble and hello.
  std::chrono::milliseconds handshake_timeout{5'000};
  // What close() has for everything.
  std::chrono::milliseconds close_timeout{5'000};
  // Connections that may be in their handshake at once; the oldest gives way to a newer one, so
  // strangers that say nothing keep nobody out.
  std::size_t handshakes_max = 64;
};

// Listens on one port and dials the hosts it is told to, in one thread of its own. A stranger, who
// does not say the cluster's preamble and a hello of this job's attempt, is closed with one line in
// the log, and costs a few KB until then. PROTOCOL.md has what is said.
class TcpDataPlane final : public DataPlane {
 public:
  // Listens when it returns. The receiver outlives the plane. Errc::bad_option if listen_host cannot
  // be resolved, Errc::system if no port can be had, naming them.
  [[nodiscard]] static Result<std::unique_ptr<TcpDataPlane>> start(TcpDataPlaneOptions options,
                                                                   DataReceiver& receiver);
  // Without close() first, ends all connections as a crash would. Waits for the thread, and for the
  // system to give up on a name it is looking up.
  ~TcpDataPlane() override;
  TcpDataPlane(const TcpDataPlane&) = delete;
  TcpDataPlane& operator=(const TcpDataPlane&) = delete;

  // What peers are to dial.
  [[nodiscard]] Endpoint address() const;

  void connect(const std::map<HostIndex, Endpoint>& peers) override;
  Result<void> send_element(HostIndex to, ElementFrame element) override;
  [[nodiscard]] Bytes take_buffer() override;
  void recycle(Bytes payload) override;
  void send_credit(HostIndex to, CreditFrame credit) override;
  void drop(HostIndex host) override;
  void close() override;
  [[nodiscard]] std::vector<LinkCounters> counters() const override;

 private:
  class Network;
  explicit TcpDataPlane(std::unique_ptr<Network> network);
  std::unique_ptr<Network> network_;
};

}  // namespace weir
