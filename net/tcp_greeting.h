// The accepting side of a data connection's handshake.
#pragma once

#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "net/frame.h"
#include "net/preamble.h"

namespace weir {

// Listens to someone who has just connected until a preamble and a hello have come, and says
// nothing: what answers, and knows the secret's token, is sent to those who know it too. Lives in the
// network thread; shared by the operations that are under way on it.
class TcpGreeting : public std::enable_shared_from_this<TcpGreeting> {
 public:
  struct Greeted {
    asio::ip::tcp::socket socket;
    FrameDecoder decoder;  // with what came behind the hello
    std::string peer_name;
    Hello hello;
  };
  // Called once. The error says why the connection was closed, and names the peer.
  using Done = std::function<void(Result<Greeted>)>;

  TcpGreeting(asio::ip::tcp::socket socket, BufferPool& pool, const ClusterToken& token,
              std::chrono::milliseconds timeout, Done done);

  void start();
  // Closes the connection, for this reason, after Done has been called.
  void give_up(const std::string& why);

 private:
  void read_preamble();
  void on_preamble(asio::error_code error, std::size_t bytes);
  void read_hello();
  void on_hello(asio::error_code error, std::size_t bytes);
  [[nodiscard]] std::string unfinished() const;
  void succeed(const Hello& hello);

  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  const ClusterToken token_;
  const std::chrono::milliseconds timeout_;
  const std::string peer_name_;
  Done done_;  // empty once called
  Preamble preamble_{};
  std::size_t preamble_received_ = 0;
  FrameDecoder decoder_;
};

}  // namespace weir
