// Memory that a table's owner needs while a snapshot is written.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

namespace weir {

// Chunks of one size, taken by one thread and given back by any. The memory comes from the system in slabs whose pages are
// there already: else the owner would meet a page fault in every chunk, several of them in one batch of records now and
// then. Slabs are freed with the pool.
class ChunkPool {
 public:
  static constexpr std::size_t chunk_bytes = 4096;

  ChunkPool() = default;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // By the owner. Aligned to chunk_bytes; throws std::bad_alloc.
  [[nodiscard]] std::byte* take();
  // The same, for so many chunks side by side, all zero.
  [[nodiscard]] std::byte* take_zeroed(std::size_t chunks);
  // Thread-safe.
  void give_back(std::byte* chunk);

  // Of the system's memory, by the owner.
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Free {
    Free* next;
  };
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  using Slab = std::unique_ptr<std::byte, Unmap>;

  void add_slab(std::size_t chunks_min);

  std::vector<Slab> slabs_;
  std::byte* next_ = nullptr;  // in the last slab, what was never taken
  std::byte* end_ = nullptr;
  Free* free_ = nullptr;  // the owner's
  // Taken all at once, so that none can be there again in between.
  std::atomic<Free*> given_back_{nullptr};
};

// For freezing tables of one owner. Two, since what is saved can go when all is written, marks only with the tables.
struct FreezePools {
  std::shared_ptr<ChunkPool> marks = std::make_shared<ChunkPool>();
  std::shared_ptr<ChunkPool> saved = std::make_shared<ChunkPool>();
};

}  // namespace weir
