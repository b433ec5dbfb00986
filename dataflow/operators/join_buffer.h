// The state of an interval join: what waits of a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/codec.h"
#include "base/schema.h"
#include "base/time.h"

namespace weir {

// A record that waits for others of its key.
template <class T>
struct JoinElement {
  EventTime at;
  T value{};
};

// Those of one side in the order of time. The first, since most keys have no more waiting, is in place; if it is large, it is
// elsewhere, so that the tables' free slots are not. What goes at the front costs O(1) of each: its room is given back when that
// is half of it.
template <class T>
class JoinBuffer {
 public:
  using Element = JoinElement<T>;

  JoinBuffer() = default;
  JoinBuffer(const JoinBuffer& other) {
    for (std::size_t i = 0; i < other.size(); ++i) insert(other[i]);
  }
  JoinBuffer(JoinBuffer&&) noexcept = default;
  JoinBuffer& operator=(const JoinBuffer& other) { return *this = JoinBuffer(other); }
  JoinBuffer& operator=(JoinBuffer&&) noexcept = default;
  ~JoinBuffer() = default;

  [[nodiscard]] bool empty() const { return !first_; }
  [[nodiscard]] std::size_t size() const {
    return empty() ? 0 : 1 + (more_ == nullptr ? 0 : more_->elements.size() - more_->gone);
  }
  [[nodiscard]] const Element& operator[](std::size_t i) const {
    return i == 0 ? *first_ : more_->elements[more_->gone + i - 1];
  }
  // Requires that it is not empty.
  [[nodiscard]] const Element& front() const { return *first_; }
  // Which is the first at `at` or later; size() if none is.
  [[nodiscard]] std::size_t lower_bound(EventTime at) const {
    if (empty() || first_->at >= at) return 0;
    if (more_ == nullptr) return 1;
    const auto found =
        std::ranges::lower_bound(more_->begin(), more_->elements.end(), at, {}, &Element::at);
    return 1 + static_cast<std::size_t>(found - more_->begin());
  }

  // Behind those of its time.
  void insert(Element element) {
    if (empty()) {
      if constexpr (in_place)
        first_ = std::move(element);
      else
        first_ = std::make_unique<Element>(std::move(element));
      return;
    }
    if (more_ == nullptr) more_ = std::make_unique<More>();
    auto behind = more_->elements.end();
    if (element.at < first_->at) {
      std::swap(element, *first_);
      behind = more_->begin();
    }
    while (behind != more_->begin() && std::prev(behind)->at > element.at) --behind;  // mostly none
    more_->elements.insert(behind, std::move(element));
  }

  // In place of that of its time, of which there is one at most.
  void insert_or_replace(Element element) {
    if (!empty() && first_->at == element.at) {
      *first_ = std::move(element);
      return;
    }
    if (more_ != nullptr) {
      const auto found = std::ranges::lower_bound(more_->begin(), more_->elements.end(), element.at,
                                                  {}, &Element::at);
      if (found != more_->elements.end() && found->at == element.at) {
        *found = std::move(element);
        return;
      }
    }
    insert(std::move(element));
  }

  // Requires that it is not empty.
  void pop_front() {
    drop_front([once = true](const Element&) mutable { return std::exchange(once, false); });
  }

  // Up to the first that is not useless(const Element&).
  template <class IsUseless>
  void drop_front(IsUseless is_useless) {
    while (!empty() && is_useless(front())) {
      if (more_ == nullptr) {
        first_.reset();
      } else {
        *first_ = more_->take_front();
        if (more_->elements.empty()) more_.reset();
      }
    }
  }

  // Reads the memory that a search will, beyond that of this object.
  void touch() const {
    if (more_ != nullptr) touch(more_->elements.back());
    if (!in_place && !empty()) touch(*first_);
  }

 private:
  friend struct Codec<JoinBuffer>;
  friend struct HeapBytes<JoinBuffer>;

  // Never empty between calls.
  struct More {
    std::vector<Element> elements;
    std::size_t gone = 0;  // of elements, at the front

    [[nodiscard]] auto begin() { return elements.begin() + static_cast<std::ptrdiff_t>(gone); }
    [[nodiscard]] Element take_front() {
      Element front = std::move(elements[gone++]);
      if (2 * gone >= elements.size()) {
        elements.erase(elements.begin(), begin());
        gone = 0;
      }
      return front;
    }
  };

  static constexpr bool in_place = sizeof(Element) <= 64;

  static void touch(const Element& element) {
    (void)*reinterpret_cast<const volatile std::byte*>(&element);
  }

  std::conditional_t<in_place, std::optional<Element>, std::unique_ptr<Element>> first_;
  std::unique_ptr<More> more_;
};

// What waits of a key.
template <class L, class R>
struct JoinBuffers {
  JoinBuffer<L> left;
  JoinBuffer<R> right;
};

// As a vector of those that are there.
template <class T>
struct Codec<JoinBuffer<T>> : codec_detail::ReadsInPlace<JoinBuffer<T>> {
  using Element = JoinElement<T>;
  static constexpr bool parts_encodable = Encodable<Element>;

  static void encode(ByteWriter& writer, const JoinBuffer<T>& buffer) {
    writer.count(buffer.size());
    for (std::size_t i = 0; i < buffer.size(); ++i) weir::encode(writer, buffer[i]);
  }
  static void read(ByteReader& reader, JoinBuffer<T>& buffer) {
    buffer = JoinBuffer<T>{};
    std::vector<Element> elements;
    decode_into(reader, elements);
    for (Element& element : elements) buffer.insert(std::move(element));
  }
  static Schema schema() { return schema_of<std::vector<Element>>(); }
};

template <class T>
struct HeapBytes<JoinBuffer<T>> {
  static constexpr bool has_heap = true;
  static std::size_t bytes(const JoinBuffer<T>& buffer) {
    if (buffer.empty()) return 0;
    std::size_t total = heap_bytes(buffer.first_->value);
    if (!buffer.in_place) total += sizeof(JoinElement<T>);
    if (buffer.more_ != nullptr)
      total += sizeof(*buffer.more_) + heap_bytes(buffer.more_->elements);
    return total;
  }
};

}  // namespace weir
