#include "net/tcp_link.h"

#include <utility>

#include "base/check.h"

namespace weir {
namespace {

// A connection that always has more to read lets the others have their turn after so much.
constexpr std::size_t turn_bytes_max = 1024 * 1024;

}  // namespace

TcpLink::TcpLink(asio::ip::tcp::socket socket, FrameDecoder decoder, std::string peer_name,
                 std::shared_ptr<Peer> peer, BufferPool& pool, DataReceiver& receiver, Ended ended)
    : socket_(std::move(socket)),
      decoder_(std::move(decoder)),
      peer_name_(std::move(peer_name)),
      peer_(std::move(peer)),
      pool_(pool),
      receiver_(receiver),
      ended_(std::move(ended)) {}

void TcpLink::start() {
  asio::error_code ignored;  // the read says what happened
  socket_.non_blocking(true, ignored);
  decoder_.set_payload_limit(frame_payload_bytes_max);
  flush();
  if (decode()) read();
}

TcpLink::Space TcpLink::space() {
  const auto space = decoder_.space();
  offered_ = space[0].size() + space[1].size();
  return {asio::buffer(space[0].data(), space[0].size()),
          asio::buffer(space[1].data(), space[1].size())};
}

void TcpLink::read() {
  socket_.async_read_some(space(),
                          [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
                            self->on_read(error, bytes);
                          });
}

// Goes on while the socket has more, so that what it brings is answered with one write; but for no
// longer than its turn.
void TcpLink::on_read(asio::error_code error, std::size_t bytes) {
  std::size_t bytes_of_turn = 0;
  while (error != asio::error::would_block) {
    if (!on_bytes(error, bytes)) return;
    bytes_of_turn += bytes;
    if (bytes < offered_ || bytes_of_turn >= turn_bytes_max) break;
    bytes = socket_.read_some(space(), error);
  }
  read();
}

bool TcpLink::on_bytes(asio::error_code error, std::size_t bytes) {
  if (!ended_) return false;
  if (error) {
    fail(Errc::connection_lost, error == asio::error::eof
                                    ? "closed the connection without a goodbye"
                                    : "is lost: " + error.message());
    return false;
  }
  peer_->bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  decoder_.received(bytes);
  return decode();
}

bool TcpLink::decode() {
  while (ended_ && !peer_said_goodbye_) {
    Result<std::optional<Frame>> frame = decoder_.next();
    if (!frame) {
      fail(frame.error().code, "broke the protocol: " + frame.error().message);
      return false;
    }
    if (!*frame) return true;
    take_in(std::move(**frame));
  }
  return false;
}

void TcpLink::take_in(Frame frame) {
  peer_->frames_in.fetch_add(1, std::memory_order_relaxed);
  if (auto* element = std::get_if<ElementFrame>(&frame); element != nullptr && !peer_->outbound) {
    receiver_.on_element(peer_->host, std::move(*element));
  } else if (auto* credit = std::get_if<CreditFrame>(&frame);
             credit != nullptr && peer_->outbound) {
    receiver_.on_credit(peer_->host, *credit);
  } else if (std::holds_alternative<Goodbye>(frame)) {
    peer_said_goodbye_ = true;
    if (all_written_) return end({});
    finish();
  } else {
    fail(Errc::corrupt_data, "broke the protocol: sent " + std::string(describe(frame)) +
                                 ", which does not flow this way");
  }
}

void TcpLink::flush() {
  if (!ended_ || writing_) return;
  if (!has_something_to_write()) {
    if (finishing_) after_last_write();
    return;
  }
  writing_ = true;
  socket_.async_write_some(gather(),
                           [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
                             self->on_written(error, bytes);
                           });
}

bool TcpLink::has_something_to_write() {
  if (first_piece_ < pieces_.size()) return true;
  pieces_.clear();
  first_piece_ = 0;
  return peer_->outbox.take(pieces_);
}

TcpLink::Gather TcpLink::gather() {
  std::size_t count = 0;
  std::size_t skip = written_of_first_;
  for (std::size_t i = first_piece_; i < pieces_.size() && count < gathered_max; ++i) {
    buffers_[count++] = asio::buffer(pieces_[i].data() + skip, pieces_[i].size() - skip);
    skip = 0;
  }
  return {buffers_.data(), buffers_.data() + count};
}

void TcpLink::on_written(asio::error_code error, std::size_t bytes) {
  writing_ = false;
  if (!ended_) return;
  if (error && peer_said_goodbye_) return end({});
  // The read that is under way may still bring the peer's goodbye, so it alone says what happened.
  if (error) return;
  peer_->outbox.written(bytes);
  written_of_first_ += bytes;
  while (first_piece_ < pieces_.size() && written_of_first_ >= pieces_[first_piece_].size()) {
    written_of_first_ -= pieces_[first_piece_].size();
    pool_.give(std::exchange(pieces_[first_piece_], {}));
    ++first_piece_;
  }
  flush();
}

void TcpLink::after_last_write() {
  if (std::exchange(all_written_, true)) return;
  if (peer_said_goodbye_) return end({});
  asio::error_code ignored;  // the read says what happened
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void TcpLink::finish() {
  if (!ended_ || std::exchange(finishing_, true)) return;
  (void)peer_->outbox.push_last(*encode_frame(Goodbye{}));
  flush();
}

void TcpLink::abort(Error reason) {
  if (!ended_) return;
  asio::error_code ignored;
  socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  end(std::move(reason));
}

void TcpLink::fail(Errc code, const std::string& what) {
  end(Error{code, "host " + std::to_string(peer_->host.value) + " at " + peer_name_ + " " + what});
}

void TcpLink::end(std::optional<Error> error) {
  const auto self = shared_from_this();
  asio::error_code ignored;
  socket_.close(ignored);
  peer_->connected = false;
  peer_->outbox.discard();
  const Ended ended = std::exchange(ended_, nullptr);
  ended(std::move(error));
}

}  // namespace weir
