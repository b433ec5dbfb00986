// What waits to leave on a connection.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "net/frame.h"

namespace weir {

// A queue of encoded frames between the threads that send and the one that writes to the socket.
// It hands over bytes in few and large pieces: small frames are gathered into one, large payloads
// stay the buffers they came in. Unbounded: senders are held back by credit. Thread-safe.
class Outbox {
 public:
  enum class Wake : std::uint8_t { needed, not_needed };

  // Appends a frame; drops it after close() or discard(). Wake::needed: the writer has found the
  // outbox empty and does not know of this frame yet.
  Wake push(EncodedFrame frame);
  // As push(), and drops what comes later.
  Wake push_last(EncodedFrame frame);

  // Moves all that is queued behind `pieces`. False if there was nothing: then the next push asks
  // for a wake. Before the first take() none does.
  bool take(std::vector<Bytes>& pieces);
  // The socket has accepted so many bytes of what was taken.
  void written(std::size_t bytes);
  // Drops what is queued and what comes later.
  void discard();

  [[nodiscard]] std::uint64_t frames() const { return frames_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t written_bytes() const {
    return written_bytes_.load(std::memory_order_relaxed);
  }
  // Pushed and neither written nor discarded.
  [[nodiscard]] std::uint64_t queued_bytes() const {
    return queued_bytes_.load(std::memory_order_relaxed);
  }

 private:
  Wake append(EncodedFrame frame);  // with mutex_ held
  void gather(const Bytes& bytes);

  std::mutex mutex_;
  std::vector<Bytes> pieces_;
  bool gathering_ = false;  // the last piece may grow
  bool writer_waits_ = false;
  bool closed_ = false;

  std::atomic<std::uint64_t> frames_{0};
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<std::uint64_t> queued_bytes_{0};
};

}  // namespace weir
