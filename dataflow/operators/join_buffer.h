// The state of an interval join: what waits of a key.
#pragma once

#include <cstddef>
#include <iterator>
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

// Those of one side in the order of time. What goes at the front costs O(1): its room is given back when that is half of it.
template <class T>
class JoinBuffer {
 public:
  [[nodiscard]] bool empty() const { return begin() == end(); }
  [[nodiscard]] auto begin() const { return elements_.begin() + gone_; }
  [[nodiscard]] auto end() const { return elements_.end(); }
  // Requires that it is not empty.
  [[nodiscard]] const JoinElement<T>& front() const { return *begin(); }

  // Behind those of its time.
  void insert(JoinElement<T> element) {
    auto behind = elements_.end();
    const auto first = elements_.begin() + gone_;
    while (behind != first && std::prev(behind)->at > element.at) --behind;  // mostly none
    elements_.insert(behind, std::move(element));
  }

  // Up to the first that is not useless(const JoinElement<T>&).
  template <class IsUseless>
  void drop_front(IsUseless is_useless) {
    while (!empty() && is_useless(front())) ++gone_;
    if (2 * gone_ < std::ssize(elements_)) return;
    elements_.erase(elements_.begin(), elements_.begin() + gone_);
    gone_ = 0;
  }

 private:
  friend struct Codec<JoinBuffer>;
  friend struct HeapBytes<JoinBuffer>;

  std::vector<JoinElement<T>> elements_;
  std::ptrdiff_t gone_ = 0;  // of elements, at the front
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
  using Elements = std::vector<JoinElement<T>>;
  static constexpr bool parts_encodable = Encodable<JoinElement<T>>;

  static void encode(ByteWriter& writer, const JoinBuffer<T>& buffer) {
    if (buffer.gone_ == 0) return weir::encode(writer, buffer.elements_);
    weir::encode(writer, Elements(buffer.begin(), buffer.end()));
  }
  static void read(ByteReader& reader, JoinBuffer<T>& buffer) {
    decode_into(reader, buffer.elements_);
    buffer.gone_ = 0;
  }
  static Schema schema() { return schema_of<Elements>(); }
};

template <class T>
struct HeapBytes<JoinBuffer<T>> {
  static constexpr bool has_heap = true;
  static std::size_t bytes(const JoinBuffer<T>& buffer) { return heap_bytes(buffer.elements_); }
};

}  // namespace weir
