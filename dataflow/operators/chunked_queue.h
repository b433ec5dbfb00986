// Many queues that share memory: when one has been emptied, what it had is for the next that grows.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace weir {

// First in, first out, in chunks of about half a kilobyte. A queue is two pointers, and has no chunk while it is empty. T has a
// default, by which chunks begin. Not thread-safe.
template <class T>
class ChunkedQueue {
 public:
  class Memory;

  ChunkedQueue() = default;
  ChunkedQueue(ChunkedQueue&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  ChunkedQueue& operator=(ChunkedQueue&& other) noexcept {
    ChunkedQueue moved(std::move(other));
    std::swap(first_, moved.first_);
    std::swap(last_, moved.last_);
    return *this;
  }
  ChunkedQueue(const ChunkedQueue&) = delete;
  ChunkedQueue& operator=(const ChunkedQueue&) = delete;
  ~ChunkedQueue() { free_list(first_); }

  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  // Requires that it is not empty.
  [[nodiscard]] const T& front() const { return first_->entries[first_->begin]; }

  void push(T entry, Memory& memory) {
    if (last_ == nullptr || last_->end == chunk_entries) [[unlikely]]
      add_chunk(memory);
    last_->entries[last_->end++] = std::move(entry);
  }
  // Requires that it is not empty.
  [[nodiscard]] T take_front(Memory& memory) {
    T front = std::move(first_->entries[first_->begin++]);
    if (first_->begin == first_->end) [[unlikely]]
      drop_chunk(memory);
    return front;
  }
  // Behind its own.
  void append(ChunkedQueue&& other) {
    if (other.empty()) return;
    (empty() ? first_ : last_->next) = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
  }

  // Calls visit(const T&) for each, in order, until it returns false; returns whether it never did.
  template <class Visit>
  bool visit(Visit& visit) const {
    for (const Chunk* chunk = first_; chunk != nullptr; chunk = chunk->next) {
      for (std::uint32_t i = chunk->begin; i < chunk->end; ++i) {
        if (!visit(chunk->entries[i])) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::size_t chunk_bytes = 512;
  static constexpr std::size_t chunk_entries =
      std::max<std::size_t>(4, (chunk_bytes - 2 * sizeof(void*)) / sizeof(T));

  struct Chunk {
    Chunk* next = nullptr;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::array<T, chunk_entries> entries{};
  };

  static void free_list(Chunk* chunk) {
    while (chunk != nullptr) delete std::exchange(chunk, chunk->next);
  }

  void add_chunk(Memory& memory) {
    Chunk* const chunk = memory.lend();
    (empty() ? first_ : last_->next) = chunk;
    last_ = chunk;
  }
  void drop_chunk(Memory& memory) {
    Chunk* const chunk = std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = nullptr;
    memory.take_back(chunk);
  }

  Chunk* first_ = nullptr;  // owned, with those behind it; none of them is empty
  Chunk* last_ = nullptr;
};

// The chunks that no queue has: at most as many as queues have, and a few.
template <class T>
class ChunkedQueue<T>::Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { free_list(free_); }

 private:
  friend class ChunkedQueue;
  static constexpr std::size_t always_kept = 16;

  [[nodiscard]] Chunk* lend() {
    ++lent_;
    if (free_ == nullptr) return new Chunk;
    --free_count_;
    Chunk* const chunk = std::exchange(free_, free_->next);
    chunk->next = nullptr;
    chunk->begin = 0;
    chunk->end = 0;
    return chunk;
  }
  void take_back(Chunk* chunk) {
    --lent_;
    ++free_count_;
    chunk->next = std::exchange(free_, chunk);
    for (; free_count_ > lent_ + always_kept; --free_count_)
      delete std::exchange(free_, free_->next);
  }

  Chunk* free_ = nullptr;  // owned, with those behind it
  std::size_t free_count_ = 0;
  std::size_t lent_ = 0;
};

}  // namespace weir
