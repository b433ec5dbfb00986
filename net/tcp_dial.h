// The dialing side of a data connection's handshake.
#pragma once

#include <array>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/endpoint.h"
#include "net/frame.h"
#include "net/preamble.h"

namespace weir {

// Dials a host until it says welcome, refuses, or the time is over. Tries again while nobody
// listens there, or the connection is closed before the host has said a word. Lives in the network
// thread; shared by the operations that are under way on it.
class TcpDial : public std::enable_shared_from_this<TcpDial> {
 public:
  struct Connected {
    asio::ip::tcp::socket socket;
    FrameDecoder decoder;  // with what came behind the welcome
    std::string peer_name;
  };
  // Called once, unless cancelled. The error names the host.
  using Done = std::function<void(Result<Connected>)>;

  TcpDial(asio::io_context& io, BufferPool& pool, Endpoint endpoint, const ClusterToken& token,
          const Hello& hello, std::chrono::milliseconds timeout, Done done);

  void start();
  // Done is called with this error.
  void give_up(Error error);
  // Done is not called.
  void cancel();

 private:
  using Addresses = std::vector<asio::ip::tcp::endpoint>;

  void resolve();
  void connect();
  void on_connected(asio::error_code error);
  void on_said(asio::error_code error);
  void read_preamble();
  void on_preamble(asio::error_code error, std::size_t bytes);
  void read_answer();
  void on_answer(asio::error_code error, std::size_t bytes);
  void retry(const std::string& why);
  void fail(Errc code, const std::string& what);
  void succeed();

  asio::io_context& io_;
  BufferPool& pool_;
  const Endpoint endpoint_;
  const ClusterToken token_;
  const Hello hello_;
  const std::chrono::milliseconds timeout_;
  Done done_;  // empty once called

  asio::ip::tcp::resolver resolver_;
  asio::steady_timer deadline_;
  asio::steady_timer retry_timer_;
  asio::ip::tcp::socket socket_;
  std::chrono::milliseconds retry_after_;
  Addresses addresses_;
  std::size_t next_address_ = 0;
  std::string last_failure_ = "no answer";
  Bytes opening_;  // what we say first
  Preamble preamble_{};
  std::size_t preamble_received_ = 0;
  FrameDecoder decoder_;
};

}  // namespace weir
