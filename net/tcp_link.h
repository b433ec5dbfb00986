// A data connection after its handshake.
#pragma once

#include <array>
#include <asio/buffer.hpp>
#include <asio/ip/tcp.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "net/buffer_pool.h"
#include "net/data_plane.h"
#include "net/frame.h"
#include "net/outbox.h"

namespace weir {

class TcpLink;

// One host in one direction, as long as the plane lives: what the sending threads and the network's
// share about its connection. Thread-safe but for `link`.
struct Peer {
  Peer(HostIndex peer_host, bool dialed) : host(peer_host), outbound(dialed) {}

  const HostIndex host;
  const bool outbound;  // we dial it and send elements; otherwise it does
  Outbox outbox;
  std::atomic<bool> connected{false};
  std::atomic<std::uint64_t> frames_in{0};
  std::atomic<std::uint64_t> bytes_in{0};

  std::shared_ptr<TcpLink> link;  // the network thread's; null before and after the connection
};

// Moves frames between a socket and a peer's outbox and receiver. Lives in the network thread;
// shared by the operations that are under way on it.
class TcpLink : public std::enable_shared_from_this<TcpLink> {
 public:
  // Called once, at the end: without an error if it came in order. May destroy the last other
  // owner of the link.
  using Ended = std::function<void(std::optional<Error>)>;

  // The decoder may hold bytes that came behind the handshake. Pool and receiver outlive the link.
  TcpLink(asio::ip::tcp::socket socket, FrameDecoder decoder, std::string peer_name,
          std::shared_ptr<Peer> peer, BufferPool& pool, DataReceiver& receiver, Ended ended);

  void start();
  // There may be something in the outbox.
  void flush();
  // Sends what is queued and a goodbye, and ends when the peer has answered with its own.
  void finish();
  // Ends at once, with a reset.
  void abort(Error reason);

 private:
  // A sequence of buffers as asio wants it, without owning them.
  struct Gather {
    using value_type = asio::const_buffer;
    using const_iterator = const asio::const_buffer*;
    const_iterator first;
    const_iterator last;
    [[nodiscard]] const_iterator begin() const { return first; }
    [[nodiscard]] const_iterator end() const { return last; }
  };
  static constexpr std::size_t gathered_max = 64;  // what asio passes to the system at once

  using Space = std::array<asio::mutable_buffer, 2>;

  void read();
  void on_read(asio::error_code error, std::size_t bytes);
  // These two: false if nothing more is to be read.
  bool on_bytes(asio::error_code error, std::size_t bytes);
  bool decode();
  [[nodiscard]] Space space();
  void take_in(Frame frame);
  [[nodiscard]] bool has_something_to_write();
  [[nodiscard]] Gather gather();
  void on_written(asio::error_code error, std::size_t bytes);
  void after_last_write();
  void fail(Errc code, const std::string& what);
  void end(std::optional<Error> error);

  asio::ip::tcp::socket socket_;
  FrameDecoder decoder_;
  std::size_t offered_ = 0;  // size of the space last given to a read
  std::string peer_name_;
  std::shared_ptr<Peer> peer_;
  BufferPool& pool_;  // for payloads that have been written
  DataReceiver& receiver_;
  Ended ended_;  // empty once called

  std::vector<Bytes> pieces_;  // taken from the outbox; those before first_piece_ are written
  std::size_t first_piece_ = 0;
  std::size_t written_of_first_ = 0;
  std::array<asio::const_buffer, gathered_max> buffers_;
  bool writing_ = false;
  bool finishing_ = false;
  bool all_written_ = false;  // up to the goodbye
  bool peer_said_goodbye_ = false;
};

}  // namespace weir
