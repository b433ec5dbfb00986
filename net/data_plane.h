// How task processes pass elements to each other: the seam between tasks and the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "net/endpoint.h"
#include "net/frame.h"

namespace weir {

// Takes what comes from other hosts. All calls come from one thread, the network's, which serves
// every connection: a call must return soon, so it enqueues and no more. It may use the plane it
// hears from, except for close().
class DataReceiver {
 public:
  virtual ~DataReceiver() = default;

  // In the order in which `from` sent them.
  virtual void on_element(HostIndex from, ElementFrame element) = 0;
  virtual void on_credit(HostIndex from, CreditFrame credit) = 0;

  // The connection that carried elements to or from `host` is gone and something of it may be
  // missing, or it could not be made. Called at most once per host and direction, so at most twice;
  // not after an orderly close. Errc::connection_lost, Errc::timeout if it could not be made in
  // time, Errc::corrupt_data if the peer broke the protocol.
  virtual void on_peer_lost(HostIndex host, Error error) = 0;
};

// What a connection has carried. Bytes are those on the wire, prefixes and headers included.
struct LinkCounters {
  HostIndex host;
  bool outbound = false;  // we dialed: elements leave and credit comes; otherwise the reverse
  bool connected = false;
  std::uint64_t frames_out = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t frames_in = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t queued_bytes = 0;  // sent, and not yet taken by the operating system
};

// Carries elements to the hosts of one attempt of a job, and their credit back: in order per host
// and kind, without loss unless on_peer_lost says so. Never waits for a peer: what cannot leave is
// queued, and whoever sends bounds that by credit.
class DataPlane {
 public:
  virtual ~DataPlane() = default;

  // Begins to dial the hosts that elements will be sent to; whoever cannot be reached in time is
  // reported lost. Returns at once. Requires that none of them was given before. Thread-safe.
  virtual void connect(const std::map<HostIndex, Endpoint>& peers) = 0;

  // Queues an element; before the connection stands, too. Dropped if the host is lost. Errc::too_large
  // if the payload exceeds a frame. Requires that connect() was told of the host. Never blocks;
  // thread-safe.
  virtual Result<void> send_element(HostIndex to, ElementFrame element) = 0;

  // An empty buffer to encode the next payload in, about as large as those before. Thread-safe.
  [[nodiscard]] virtual Bytes take_buffer() = 0;
  // Gives back the buffer of a payload that came and has been decoded. Not required, but without it
  // every payload is memory that the system has to clear first. Thread-safe.
  virtual void recycle(Bytes payload) = 0;

  // Queues credit for a host that sends elements here; dropped if it is lost. Never blocks;
  // thread-safe.
  virtual void send_credit(HostIndex to, CreditFrame credit) = 0;

  // Breaks the connections with a host as if its process had died; both sides report it lost. For
  // tests that inject faults. Thread-safe.
  virtual void drop(HostIndex host) = 0;

  // Sends what is queued, says goodbye, and ends all connections; gives up on peers that do not
  // take it in bounded time. After it returns the receiver is called no more and sends are dropped.
  // Requires that it is not called by the receiver, nor by who holds a lock that the receiver wants.
  virtual void close() = 0;

  // Every connection there is or was, outbound ones first, by host. Thread-safe.
  [[nodiscard]] virtual std::vector<LinkCounters> counters() const = 0;
};

}  // namespace weir
