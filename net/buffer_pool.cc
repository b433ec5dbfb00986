#include "net/buffer_pool.h"

#include <algorithm>
#include <utility>

namespace weir {
namespace {

constexpr std::size_t buffer_bytes_min = 16 * 1024;
constexpr std::size_t buffer_bytes_max = 1024 * 1024;
constexpr std::size_t kept_bytes_max = 16 * 1024 * 1024;
constexpr std::size_t searched_max = 8;

}  // namespace

Bytes BufferPool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t searched = std::min(buffers_.size(), searched_max);
  for (std::size_t i = 1; i <= searched; ++i) {
    Bytes& candidate = buffers_[buffers_.size() - i];
    if (candidate.capacity() < bytes) continue;
    std::swap(candidate, buffers_.back());
    Bytes found = std::move(buffers_.back());
    buffers_.pop_back();
    kept_bytes_ -= found.capacity();
    return found;
  }
  return {};
}

void BufferPool::give(Bytes buffer) {
  if (buffer.capacity() < buffer_bytes_min || buffer.capacity() > buffer_bytes_max) return;
  const std::lock_guard lock(mutex_);
  if (kept_bytes_ + buffer.capacity() > kept_bytes_max) return;
  kept_bytes_ += buffer.capacity();
  buffers_.push_back(std::move(buffer));
}

std::size_t BufferPool::kept_bytes() const {
  const std::lock_guard lock(mutex_);
  return kept_bytes_;
}

}  // namespace weir
