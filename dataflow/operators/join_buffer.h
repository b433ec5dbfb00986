// The state of an interval join: what waits of a key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/codec.h"
#include "base/schema.h"
#include "base/time.h"
#include "dataflow/batch.h"
#include "dataflow/operators/compact_vector.h"

namespace weir {

// A record that waits for others of its key.
template <class T>
struct JoinElement {
  EventTime at;
  T value{};
};

// Those of one side in the order of time. The first, since most keys have no more waiting, is in place; if it is large, it is
// elsewhere, so that the tables' free slots are not. What goes at the front costs O(1) of each.
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
  [[nodiscard]] std::size_t size() const { return empty() ? 0 : 1 + more_.size(); }
  [[nodiscard]] const Element& operator[](std::size_t i) const {
    return i == 0 ? *first_ : more_[i - 1];
  }
  // Requires that it is not empty.
  [[nodiscard]] const Element& front() const { return *first_; }
  // Which is the first at `at` or later; size() if none is.
  [[nodiscard]] std::size_t lower_bound(EventTime at) const {
    if (empty() || first_->at >= at) return 0;
    const auto found = std::ranges::lower_bound(more_.begin(), more_.end(), at, {}, &Element::at);
    return 1 + static_cast<std::size_t>(found - more_.begin());
  }

  // Behind those of its time. Elements have a time.
  void insert(Element element) {
    if (empty()) {
      if constexpr (in_place)
        first_ = InPlace(std::move(element));
      else
        first_ = std::make_unique<Element>(std::move(element));
      return;
    }
    auto* behind = more_.end();
    if (element.at < first_->at) {
      std::swap(element, *first_);
      behind = more_.begin();
    }
    while (behind != more_.begin() && behind[-1].at > element.at) --behind;  // mostly none
    more_.insert(behind, std::move(element));
  }

  // In place of that of its time, of which there is one at most.
  void insert_or_replace(Element element) {
    if (!empty() && first_->at == element.at) {
      *first_ = std::move(element);
      return;
    }
    const auto found =
        std::ranges::lower_bound(more_.begin(), more_.end(), element.at, {}, &Element::at);
    if (found != more_.end() && found->at == element.at) {
      *found = std::move(element);
      return;
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
      if (more_.empty())
        first_.reset();
      else
        *first_ = more_.take_front();
    }
  }

  // Reads the memory that a search will, beyond that of this object.
  void touch() const {
    if (!more_.empty()) touch(more_.back());
    if (!in_place && !empty()) touch(*first_);
  }

 private:
  friend struct Codec<JoinBuffer>;
  friend struct HeapBytes<JoinBuffer>;

  static constexpr bool in_place = sizeof(Element) <= 64;

  // As std::optional, but the time says whether there is one: tables have two of these per key.
  class InPlace {
   public:
    InPlace() = default;
    explicit InPlace(Element element) : element_(std::move(element)) {}
    explicit operator bool() const { return element_.at != no_timestamp; }
    [[nodiscard]] Element& operator*() { return element_; }
    [[nodiscard]] const Element& operator*() const { return element_; }
    [[nodiscard]] Element* operator->() { return &element_; }
    [[nodiscard]] const Element* operator->() const { return &element_; }
    void reset() { element_ = Element{no_timestamp}; }

   private:
    Element element_{no_timestamp};
  };

  static void touch(const Element& element) {
    (void)*reinterpret_cast<const volatile std::byte*>(&element);
  }

  std::conditional_t<in_place, InPlace, std::unique_ptr<Element>> first_;
  CompactVector<Element> more_;
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
    for (Element& element : elements) {
      if (element.at == no_timestamp) return reader.fail("a record that waits has no time");
      buffer.insert(std::move(element));
    }
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
    return total + heap_bytes(buffer.more_);
  }
};

}  // namespace weir
