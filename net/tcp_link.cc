#include "net/tcp_link.h"

#include <utility>

#include "base/check.h"

namespace weir {

TcpLink::TcpLink(asio::ip::tcp::socket socket, FrameDecoder decoder, std::string peer_name,
                 std::shared_ptr<Peer> peer, DataReceiver& receiver, Ended ended)
    : socket_(std::move(socket)),
      decoder_(std::move(decoder)),
      peer_name_(std::move(peer_name)),
      peer_(std::move(peer)),
      receiver_(receiver),
      ended_(std::move(ended)) {}

void TcpLink::start() {
  decoder_.set_payload_limit(frame_payload_bytes_max);
  flush();
  decode();
}

void TcpLink::read() {
  const auto space = decoder_.space();
  const std::array<asio::mutable_buffer, 2> buffers{asio::buffer(space[0].data(), space[0].size()),
                                                    asio::buffer(space[1].data(), space[1].size())};
  socket_.async_read_some(buffers,
                          [self = shared_from_this()](asio::error_code error, std::size_t bytes) {
                            self->on_read(error, bytes);
                          });
}

void TcpLink::on_read(asio::error_code error, std::size_t bytes) {
  if (!ended_) return;
  if (error == asio::error::eof) {
    return fail(Errc::connection_lost, "closed the connection without a goodbye");
  }
  if (error) return fail(Errc::connection_lost, "connection lost: " + error.message());
  peer_->bytes_in.fetch_add(bytes, std::memory_order_relaxed);
  decoder_.received(bytes);
  decode();
}

void TcpLink::decode() {
  while (ended_ && !peer_said_goodbye_) {
    Result<std::optional<Frame>> frame = decoder_.next();
    if (!frame) return fail(frame.error().code, "broke the protocol: " + frame.error().message);
    if (!*frame) return read();
    take_in(std::move(**frame));
  }
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
    pieces_[first_piece_] = Bytes();
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
