#include "state/chunk_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace weir {

namespace {

constexpr std::size_t slab_chunks_max = 64;

}  // namespace

std::byte* ChunkPool::take() {
  if (free_ == nullptr) free_ = given_back_.exchange(nullptr, std::memory_order_acquire);
  if (free_ != nullptr) {
    Free* const chunk = free_;
    free_ = chunk->next;
    return reinterpret_cast<std::byte*>(chunk);
  }
  return take_zeroed(1);
}

std::byte* ChunkPool::take_zeroed(std::size_t chunks) {
  const std::size_t bytes = chunks * chunk_bytes;
  if (static_cast<std::size_t>(end_ - next_) < bytes) {
    for (; next_ != end_; next_ += chunk_bytes) give_back(next_);
    add_slab(chunks);
  }
  std::byte* const first = next_;
  next_ += bytes;
  return first;
}

void ChunkPool::give_back(std::byte* chunk) {
  auto* const free =
      ::new (static_cast<void*>(chunk)) Free{given_back_.load(std::memory_order_relaxed)};
  while (!given_back_.compare_exchange_weak(free->next, free, std::memory_order_release,
                                            std::memory_order_relaxed)) {
  }
}

std::size_t ChunkPool::bytes() const {
  std::size_t total = 0;
  for (const Slab& slab : slabs_) total += slab.get_deleter().bytes;
  return total;
}

void ChunkPool::Unmap::operator()(std::byte* memory) const {
  ::munmap(memory, bytes);
}

void ChunkPool::add_slab(std::size_t chunks_min) {
  const std::size_t before = slabs_.empty() ? 0 : slabs_.back().get_deleter().bytes / chunk_bytes;
  const std::size_t chunks = std::max(chunks_min, std::min(2 * before, slab_chunks_max));
  const std::size_t bytes = chunks * chunk_bytes;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  slabs_.emplace_back(static_cast<std::byte*>(memory), Unmap{bytes});
  next_ = static_cast<std::byte*>(memory);
  end_ = next_ + bytes;
}

}  // namespace weir
