#include "net/tcp_dial.h"

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/write.hpp>
#include <exception>
#include <utility>

#include "net/tcp_socket.h"

namespace weir {
namespace {

using asio::ip::tcp;

// Doubled with every round, so that a host which closes each connection is not flooded.
constexpr std::chrono::milliseconds first_retry_after{50};
constexpr std::chrono::milliseconds retry_after_max{2000};

}  // namespace

TcpDial::TcpDial(asio::io_context& io, BufferPool& pool, Endpoint endpoint,
                 const ClusterToken& token, const Hello& hello, std::chrono::milliseconds timeout,
                 Done done)
    : io_(io),
      pool_(pool),
      endpoint_(std::move(endpoint)),
      token_(token),
      hello_(hello),
      timeout_(timeout),
      done_(std::move(done)),
      resolver_(io),
      deadline_(io),
      retry_timer_(io),
      socket_(io),
      retry_after_(first_retry_after),
      decoder_(0, &pool) {
  const Preamble preamble = make_preamble(ConnectionPurpose::data, token);
  const EncodedFrame frame = *encode_frame(hello);
  opening_.assign(preamble.begin(), preamble.end());
  opening_.insert(opening_.end(), frame.head.begin(), frame.head.end());
}

void TcpDial::start() {
  deadline_.expires_after(timeout_);
  deadline_.async_wait([self = shared_from_this()](asio::error_code error) {
    if (error) return;
    self->fail(Errc::timeout, "could not be reached within " +
                                  std::to_string(self->timeout_.count()) +
                                  " ms: " + self->last_failure_);
  });
  resolve();
}

void TcpDial::resolve() {
  asio::error_code error;
  const auto address = asio::ip::make_address(endpoint_.host, error);
  if (!error) {
    addresses_ = {tcp::endpoint(address, endpoint_.port)};
    next_address_ = 0;
    return connect();
  }
  try {
    resolver_.async_resolve(
        endpoint_.host, std::to_string(endpoint_.port), tcp::resolver::numeric_service,
        [self = shared_from_this()](asio::error_code failure,
                                    const tcp::resolver::results_type& results) {
          if (!self->done_) return;
          if (failure) return self->retry("its name is not known: " + failure.message());
          self->addresses_.assign(results.begin(), results.end());
          self->next_address_ = 0;
          self->connect();
        });
  } catch (const std::exception& e) {  // asio starts a thread for this, which can fail
    fail(Errc::system, "cannot be looked up: " + std::string(e.what()));
  }
}

void TcpDial::connect() {
  const tcp::endpoint& address = addresses_[next_address_++];
  preamble_received_ = 0;
  decoder_ = FrameDecoder(0, &pool_);
  asio::error_code error;
  socket_ = open_socket(io_, address.protocol(), error);
  if (error) return retry(error.message());
  socket_.async_connect(address, [self = shared_from_this()](asio::error_code failure) {
    self->on_connected(failure);
  });
}

void TcpDial::on_connected(asio::error_code error) {
  if (!done_) return;
  if (error) return retry(error.message());
  set_connection_options(socket_);
  last_failure_ = "it does not answer";
  asio::async_write(socket_, asio::buffer(opening_),
                    [self = shared_from_this()](asio::error_code failure, std::size_t) {
                      self->on_said(failure);
                    });
}

void TcpDial::on_said(asio::error_code error) {
  if (!done_) return;
  if (error) return retry(error.message());
  read_preamble();
}

void TcpDial::read_preamble() {
  socket_.async_read_some(
      asio::buffer(preamble_.data() + preamble_received_, preamble_bytes - preamble_received_),
      [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
        self->on_preamble(error, bytes);
      });
}

void TcpDial::on_preamble(asio::error_code error, std::size_t bytes) {
  if (!done_) return;
  if (error && preamble_received_ == 0) {
    return retry("it closes connections without a word; its log has the reason");
  }
  const auto received = std::span(preamble_).first(preamble_received_ + bytes);
  preamble_received_ = received.size();
  const PreambleVerdict verdict = check_preamble(received, ConnectionPurpose::data, token_);
  if (verdict == PreambleVerdict::accepted) return read_answer();
  if (verdict == PreambleVerdict::incomplete && !error) return read_preamble();
  fail(Errc::connection_lost, explain(verdict, received));
}

void TcpDial::read_answer() {
  const auto space = decoder_.space()[0];
  socket_.async_read_some(asio::buffer(space.data(), space.size()),
                          [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
                            self->on_answer(error, bytes);
                          });
}

void TcpDial::on_answer(asio::error_code error, std::size_t bytes) {
  if (!done_) return;
  if (error) return fail(Errc::connection_lost, "closed the connection instead of an answer");
  decoder_.received(bytes);
  const Result<std::optional<Frame>> frame = decoder_.next();
  if (!frame) return fail(frame.error().code, "broke the protocol: " + frame.error().message);
  if (!*frame) return read_answer();
  if (const auto* refused = std::get_if<Refused>(&**frame)) {
    return fail(Errc::connection_lost, "refused the connection: " + refused->reason);
  }
  if (!std::holds_alternative<Welcome>(**frame)) {
    return fail(Errc::corrupt_data,
                "broke the protocol: answered with " + std::string(describe(**frame)));
  }
  succeed();
}

void TcpDial::retry(const std::string& why) {
  last_failure_ = why;
  asio::error_code ignored;
  socket_.close(ignored);
  if (next_address_ < addresses_.size()) return connect();
  addresses_.clear();
  next_address_ = 0;
  retry_timer_.expires_after(retry_after_);
  retry_after_ = std::min(2 * retry_after_, retry_after_max);
  retry_timer_.async_wait([self = shared_from_this()](asio::error_code error) {
    if (!error && self->done_) self->resolve();
  });
}

void TcpDial::fail(Errc code, const std::string& what) {
  give_up(Error{code, "host " + std::to_string(hello_.to_host.value) + " at " +
                          to_string(endpoint_) + " " + what});
}

void TcpDial::give_up(Error error) {
  if (!done_) return;
  const Done done = std::exchange(done_, nullptr);
  cancel();
  done(std::move(error));
}

void TcpDial::cancel() {
  done_ = nullptr;
  deadline_.cancel();
  retry_timer_.cancel();
  resolver_.cancel();
  asio::error_code ignored;
  socket_.close(ignored);
}

void TcpDial::succeed() {
  deadline_.cancel();
  const Done done = std::exchange(done_, nullptr);
  done(Connected{std::move(socket_), std::move(decoder_), to_string(endpoint_)});
}

}  // namespace weir
