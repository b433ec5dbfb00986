// Buffers of payloads, for reuse.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/bytes.h"

namespace weir {

// Payloads come and go by the hundred thousand, each allocated by one thread and freed by another,
// which keeps the allocator asking the system for fresh pages and giving them back: half of what a
// transfer costs. Keeps what the last ones lay in, up to a bound. Thread-safe.
class BufferPool {
 public:
  // A buffer with room for so many bytes, with any content: the caller resizes or clears it. One
  // without room if there is none.
  [[nodiscard]] Bytes take(std::size_t bytes);
  // Keeps the buffer, or frees it if it is too small to matter, too large, or one too many.
  void give(Bytes buffer);

  [[nodiscard]] std::size_t kept_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Bytes> buffers_;  // the last one is the one most likely in the cache
  std::size_t kept_bytes_ = 0;
};

}  // namespace weir
