// A vector whose elements are objects, whatever their type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/codec.h"
#include "base/schema.h"

namespace weir {

// What std::vector<bool> would be if it were like the others: bools beside each other that references and pointers can refer to. Has the calls
// that batches and operators make, as std::vector has them; what is inserted goes to the end.
class BoolVector {
 public:
  using value_type = bool;
  using iterator = bool*;
  using const_iterator = const bool*;

  BoolVector() = default;
  BoolVector(std::initializer_list<bool> values) { insert(end(), values.begin(), values.end()); }
  BoolVector(const BoolVector& other) { insert(end(), other.begin(), other.end()); }
  BoolVector(BoolVector&& other) noexcept
      : values_(std::move(other.values_)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  BoolVector& operator=(BoolVector other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~BoolVector() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  [[nodiscard]] bool* data() { return values_.get(); }
  [[nodiscard]] const bool* data() const { return values_.get(); }
  [[nodiscard]] iterator begin() { return data(); }
  [[nodiscard]] iterator end() { return data() + size_; }
  [[nodiscard]] const_iterator begin() const { return data(); }
  [[nodiscard]] const_iterator end() const { return data() + size_; }
  [[nodiscard]] bool& operator[](std::size_t i) { return values_[i]; }
  [[nodiscard]] const bool& operator[](std::size_t i) const { return values_[i]; }
  [[nodiscard]] bool& front() { return values_[0]; }
  [[nodiscard]] const bool& front() const { return values_[0]; }
  [[nodiscard]] bool& back() { return values_[size_ - 1]; }
  [[nodiscard]] const bool& back() const { return values_[size_ - 1]; }

  void clear() { size_ = 0; }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    std::unique_ptr<bool[]> larger(new bool[capacity]);
    std::copy(begin(), end(), larger.get());
    values_ = std::move(larger);
    capacity_ = capacity;
  }
  void resize(std::size_t size, bool value = false) {
    grow_to(size);
    if (size > size_) std::fill(end(), data() + size, value);
    size_ = size;
  }
  void push_back(bool value) { emplace_back(value); }
  bool& emplace_back(bool value = false) {
    grow_to(size_ + 1);
    return values_[size_++] = value;
  }
  template <class It>
  void insert(const_iterator /*at_the_end*/, It first, It last) {
    grow_to(size_ + static_cast<std::size_t>(std::distance(first, last)));
    for (; first != last; ++first) values_[size_++] = *first;
  }

  void erase(iterator first, const_iterator last) {
    size_ = static_cast<std::size_t>(std::copy(last, std::as_const(*this).end(), first) - data());
  }

  friend bool operator==(const BoolVector& a, const BoolVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void grow_to(std::size_t size) {
    if (size > capacity_) reserve(std::max({size, 2 * capacity_, std::size_t{16}}));
  }

  std::unique_ptr<bool[]> values_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

// As a std::vector<bool>.
template <>
struct Codec<BoolVector> : codec_detail::ContainerCodec<BoolVector, bool, codec_detail::AddAtBack> {
  static Schema schema() { return schema_of<std::vector<bool>>(); }
};

template <>
struct HeapBytes<BoolVector> {
  static constexpr bool has_heap = true;
  static std::size_t bytes(const BoolVector& values) { return values.capacity(); }
};

template <class T>
using ValueVector = std::conditional_t<std::is_same_v<T, bool>, BoolVector, std::vector<T>>;

}  // namespace weir
