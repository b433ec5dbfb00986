#include "net/tcp_greeting.h"

#include <asio/buffer.hpp>
#include <utility>

#include "net/tcp_socket.h"

namespace weir {

TcpGreeting::TcpGreeting(asio::ip::tcp::socket socket, BufferPool& pool, const ClusterToken& token,
                         std::chrono::milliseconds timeout, Done done)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      token_(token),
      timeout_(timeout),
      peer_name_(weir::peer_name(socket_)),
      done_(std::move(done)),
      decoder_(0, &pool) {}

void TcpGreeting::start() {
  timer_.expires_after(timeout_);
  timer_.async_wait([self = shared_from_this()](asio::error_code error) {
    if (!error) {
      self->give_up(self->unfinished() + " within " + std::to_string(self->timeout_.count()) +
                    " ms");
    }
  });
  read_preamble();
}

void TcpGreeting::give_up(const std::string& why) {
  if (!done_) return;
  timer_.cancel();
  const Done done = std::exchange(done_, nullptr);
  done(Error{Errc::connection_lost, peer_name_ + ", which " + why});
  asio::error_code ignored;
  socket_.close(ignored);
}

void TcpGreeting::read_preamble() {
  socket_.async_read_some(
      asio::buffer(preamble_.data() + preamble_received_, preamble_bytes - preamble_received_),
      [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
        self->on_preamble(error, bytes);
      });
}

void TcpGreeting::on_preamble(asio::error_code error, std::size_t bytes) {
  if (!done_) return;
  if (error) return give_up(unfinished() + " and left");
  preamble_received_ += bytes;
  const auto received = std::span(preamble_).first(preamble_received_);
  const PreambleVerdict verdict = check_preamble(received, ConnectionPurpose::data, token_);
  if (verdict == PreambleVerdict::incomplete) return read_preamble();
  if (verdict != PreambleVerdict::accepted) return give_up(explain(verdict, received));
  read_hello();
}

void TcpGreeting::read_hello() {
  const auto space = decoder_.space()[0];
  socket_.async_read_some(asio::buffer(space.data(), space.size()),
                          [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
                            self->on_hello(error, bytes);
                          });
}

void TcpGreeting::on_hello(asio::error_code error, std::size_t bytes) {
  if (!done_) return;
  if (error) return give_up(unfinished() + " and left");
  decoder_.received(bytes);
  const Result<std::optional<Frame>> frame = decoder_.next();
  if (!frame) return give_up("broke the protocol: " + frame.error().message);
  if (!*frame) return read_hello();
  const auto* hello = std::get_if<Hello>(&**frame);
  if (hello == nullptr) {
    return give_up("broke the protocol: sent " + std::string(describe(**frame)) +
                   " where its hello belongs");
  }
  succeed(*hello);
}

std::string TcpGreeting::unfinished() const {
  if (preamble_received_ == preamble_bytes) return "did not say its hello";
  return explain(PreambleVerdict::incomplete, std::span(preamble_).first(preamble_received_));
}

void TcpGreeting::succeed(const Hello& hello) {
  timer_.cancel();
  const Done done = std::exchange(done_, nullptr);
  done(Greeted{std::move(socket_), std::move(decoder_), peer_name_, hello});
}

}  // namespace weir
