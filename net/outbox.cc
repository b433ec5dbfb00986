#include "net/outbox.h"

#include <iterator>
#include <utility>

namespace weir {
namespace {

// Copying so little costs less than a piece of its own.
constexpr std::size_t gathered_payload_bytes_max = 4 * 1024;
constexpr std::size_t piece_bytes_max = 64 * 1024;

}  // namespace

Outbox::Wake Outbox::push(EncodedFrame frame) {
  const std::lock_guard lock(mutex_);
  return append(std::move(frame));
}

Outbox::Wake Outbox::push_last(EncodedFrame frame) {
  const std::lock_guard lock(mutex_);
  const Wake wake = append(std::move(frame));
  closed_ = true;
  return wake;
}

Outbox::Wake Outbox::append(EncodedFrame frame) {
  if (closed_) return Wake::not_needed;
  frames_.fetch_add(1, std::memory_order_relaxed);
  queued_bytes_.fetch_add(frame.head.size() + frame.payload.size(), std::memory_order_relaxed);
  gather(frame.head);
  if (frame.payload.size() <= gathered_payload_bytes_max) {
    gather(frame.payload);
  } else {
    pieces_.push_back(std::move(frame.payload));
    gathering_ = false;
  }
  return std::exchange(writer_waits_, false) ? Wake::needed : Wake::not_needed;
}

void Outbox::gather(const Bytes& bytes) {
  if (!gathering_ || pieces_.back().size() + bytes.size() > piece_bytes_max) {
    pieces_.emplace_back();
    gathering_ = true;
  }
  pieces_.back().insert(pieces_.back().end(), bytes.begin(), bytes.end());
}

bool Outbox::take(std::vector<Bytes>& pieces) {
  const std::lock_guard lock(mutex_);
  writer_waits_ = pieces_.empty();
  if (writer_waits_) return false;
  if (pieces.empty()) {
    pieces.swap(pieces_);
  } else {
    pieces.insert(pieces.end(), std::make_move_iterator(pieces_.begin()),
                  std::make_move_iterator(pieces_.end()));
    pieces_.clear();
  }
  gathering_ = false;
  return true;
}

void Outbox::written(std::size_t bytes) {
  written_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  queued_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

void Outbox::discard() {
  std::vector<Bytes> dropped;  // freed outside the lock
  const std::lock_guard lock(mutex_);
  dropped.swap(pieces_);
  gathering_ = false;
  closed_ = true;
  queued_bytes_.store(0, std::memory_order_relaxed);
}

}  // namespace weir
