// A vector for state of which there is one per key, and that is mostly empty.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/byte_size.h"
#include "base/check.h"

namespace weir {

// As large as a pointer, which is null when it is empty; else all is in one block of memory, so that there is one miss of the cache
// on the way to an element. Taking the first costs O(1) of each; its room is used again, and all is given back when the last one
// goes. Pointers to elements are valid until an insertion or erasure. When T throws as it is moved, nothing is leaked; which
// elements are there then is not said. At most 2³¹ elements.
template <class T>
class CompactVector {
 public:
  CompactVector() = default;
  CompactVector(CompactVector&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  CompactVector(const CompactVector& other) {
    for (const T& element : other) insert(end(), element);
  }
  CompactVector& operator=(CompactVector other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~CompactVector() {
    std::destroy(begin(), end());
    free(block_);
  }

  [[nodiscard]] bool empty() const { return block_ == nullptr; }
  [[nodiscard]] std::size_t size() const { return empty() ? 0 : block_->end - block_->begin; }
  [[nodiscard]] T* begin() { return empty() ? nullptr : elements(block_) + block_->begin; }
  [[nodiscard]] T* end() { return empty() ? nullptr : elements(block_) + block_->end; }
  [[nodiscard]] const T* begin() const {
    return empty() ? nullptr : elements(block_) + block_->begin;
  }
  [[nodiscard]] const T* end() const { return empty() ? nullptr : elements(block_) + block_->end; }
  // Requires i < size().
  [[nodiscard]] T& operator[](std::size_t i) { return begin()[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const { return begin()[i]; }
  // The others require that it is not empty.
  [[nodiscard]] const T& back() const { return end()[-1]; }

  // Requires begin() <= at <= end().
  T& insert(T* at, T element) {
    const auto index = static_cast<std::size_t>(at - begin());
    if (empty() || block_->end == block_->capacity) make_room();
    T* const last = end();
    T* const place = begin() + index;
    if (place == last) {
      ::new (static_cast<void*>(last)) T(std::move(element));
      ++block_->end;
    } else {
      ::new (static_cast<void*>(last)) T(std::move(last[-1]));
      ++block_->end;
      std::move_backward(place, last - 1, last);
      *place = std::move(element);
    }
    return *place;
  }
  T take_front() {
    T front = std::move(*begin());
    erase(begin());
    return front;
  }
  // Requires begin() <= at < end().
  void erase(T* at) {
    if (at == begin()) {
      std::destroy_at(at);
      ++block_->begin;
    } else {
      std::move(at + 1, end(), at);
      std::destroy_at(end() - 1);
      --block_->end;
    }
    if (block_->begin == block_->end) free(std::exchange(block_, nullptr));
  }

 private:
  friend struct HeapBytes<CompactVector>;

  struct Block {
    std::uint32_t begin;  // elements before are gone
    std::uint32_t end;
    std::uint32_t capacity;
  };

  static constexpr std::align_val_t alignment{std::max(alignof(Block), alignof(T))};
  static constexpr std::size_t header_bytes =
      (sizeof(Block) + alignof(T) - 1) / alignof(T) * alignof(T);

  static T* elements(Block* block) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(block) + header_bytes);
  }
  static const T* elements(const Block* block) {
    return reinterpret_cast<const T*>(reinterpret_cast<const std::byte*>(block) + header_bytes);
  }
  static std::size_t bytes(std::uint32_t capacity) { return header_bytes + capacity * sizeof(T); }
  static Block* allocate(std::uint32_t capacity) {
    return ::new (::operator new(bytes(capacity), alignment)) Block{0, 0, capacity};
  }
  static void free(Block* block) {
    if (block != nullptr) ::operator delete(static_cast<void*>(block), alignment);
  }

  // Behind the last one; by moving to the front when half is free, so that each is moved at most once per insertion.
  void make_room() {
    if (empty()) {
      block_ = allocate(1);
      return;
    }
    const auto count = static_cast<std::uint32_t>(size());
    if (block_->begin >= count) {
      std::uninitialized_move(begin(), end(), elements(block_));
      std::destroy(begin(), end());
      block_->begin = 0;
      block_->end = count;
      return;
    }
    WEIR_CHECK(count < std::uint32_t{1} << 31);
    std::unique_ptr<Block, void (*)(Block*)> bigger(allocate(2 * count), &CompactVector::free);
    std::uninitialized_move(begin(), end(), elements(bigger.get()));
    bigger->end = count;
    std::destroy(begin(), end());
    free(std::exchange(block_, bigger.release()));
  }

  Block* block_ = nullptr;  // owned; null or not empty between calls
};

template <class T>
struct HeapBytes<CompactVector<T>> {
  static constexpr bool has_heap = true;
  static std::size_t bytes(const CompactVector<T>& vector) {
    if (vector.empty()) return 0;
    std::size_t total = CompactVector<T>::bytes(vector.block_->capacity);
    for (const T& element : vector) total += heap_bytes(element);
    return total;
  }
};

}  // namespace weir
