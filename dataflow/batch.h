// What moves through the engine: records by the batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/byte_size.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/codec.h"
#include "base/ids.h"
#include "base/reflect.h"
#include "base/result.h"
#include "base/time.h"
#include "base/value_vector.h"
#include "dataflow/row_kind.h"

namespace weir {

// Which keyed edge the hashes of a batch were computed for; 0 means no hashes.
using KeyTag = StrongId<struct KeyTagTag, std::uint32_t>;

// Rows of a batch, by position, in any order.
using Selection = std::span<const std::uint32_t>;

// Whether rows are copied out of a batch or moved, which leaves them valid but unspecified.
enum class Take : std::uint8_t { copy, move };

// Records without a timestamp of their own carry this one; event-time operators refuse it.
inline constexpr EventTime no_timestamp = EventTime::min();

class AnyBatch;
struct BatchType;

// Extends a vector by selected elements of an array at once: with one look at its capacity, and
// without setting the new elements to zero first.
template <class Vector, class C>
void append_selected(Vector& to, const C* from, Selection rows) {
  const auto selected =
      rows | std::views::transform([from](std::uint32_t row) -> const C& { return from[row]; });
  to.insert(to.end(), selected.begin(), selected.end());
}

// Shared, because several consumers may read one batch: who holds it alone may change it or take
// its values, anybody else makes a copy first (`writable`).
using BatchPtr = std::shared_ptr<AnyBatch>;

// A batch as the runtime sees it: it counts, cuts, routes and encodes records and never looks at
// one.
//
// The columns beside the values are empty or have one entry per value; `append*` and `encode` carry
// them along.
class AnyBatch {
 public:
  virtual ~AnyBatch() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual const BatchType& type() const = 0;

  // Memory of the values, with what they own on the heap. O(1) when they own nothing.
  [[nodiscard]] virtual std::size_t value_bytes() const = 0;
  // Memory of values and columns: what credit counts.
  [[nodiscard]] std::size_t bytes() const;

  [[nodiscard]] virtual BatchPtr clone() const = 0;
  // Drops all rows and columns and keeps their memory.
  void clear();

  // Adds rows of a batch of the same type; moving requires that the caller alone holds `from`.
  // Hashes are those given, computed for `tag`, one per row of `from`; without a tag none are kept.
  void append(AnyBatch& from, Selection rows, Take take, KeyTag tag = {},
              std::span<const KeyHash> from_hashes = {});
  void append_range(AnyBatch& from, std::size_t begin, std::size_t end, Take take);

  // Where to cut a piece that begins at `from` and has about `rows` (>= 1) rows: never between rows
  // that belong together (the two of an update), so it may be longer.
  [[nodiscard]] virtual std::size_t split_point(std::size_t from, std::size_t rows) const {
    if (rows >= size() - from) return size();
    const std::size_t end = from + rows;
    const bool cuts_update = !kinds.empty() && kinds[end - 1] == RowKind::update_before &&
                             kinds[end] == RowKind::update_after;
    return cuts_update ? end + 1 : end;
  }

  // Values and columns, little-endian, as written by base/codec.h; decode replaces the content and uses its memory again.
  // After a failure the content is unspecified.
  void encode(ByteWriter& out) const;
  [[nodiscard]] Result<void> decode(ByteReader& in);

  std::vector<EventTime> times;
  std::vector<KeyHash> hashes;
  std::vector<RowKind> kinds;
  KeyTag key_tag{};

 protected:
  virtual void clear_values() = 0;
  virtual void append_values(AnyBatch& from, Selection rows, Take take) = 0;
  virtual void append_value_range(AnyBatch& from, std::size_t begin, std::size_t end,
                                  Take take) = 0;
  virtual void encode_values(ByteWriter& out) const = 0;
  [[nodiscard]] virtual Result<void> decode_values(ByteReader& in) = 0;
};

// Identity of an element type within the process: compare by address. `name` is for people.
struct BatchType {
  std::string_view name;
  BatchPtr (*make)();
};

template <class T>
const BatchType& batch_type_of();

template <class T>
class Batch final : public AnyBatch {
 public:
  ValueVector<T> values;

  [[nodiscard]] std::size_t size() const override { return values.size(); }
  [[nodiscard]] const BatchType& type() const override { return batch_type_of<T>(); }
  [[nodiscard]] std::size_t value_bytes() const override {
    std::size_t total = values.size() * sizeof(T);
    if constexpr (has_heap<T>) {
      for (const T& value : values) total += heap_bytes(value);
    }
    return total;
  }
  [[nodiscard]] BatchPtr clone() const override { return std::make_shared<Batch>(*this); }

 protected:
  void clear_values() override { values.clear(); }
  void append_values(AnyBatch& from, Selection rows, Take take) override {
    auto& source = static_cast<Batch&>(from).values;
    if constexpr (std::is_trivially_copyable_v<T>) {
      append_selected(values, source.data(), rows);
    } else if (take == Take::move) {
      for (const std::uint32_t row : rows) values.push_back(std::move(source[row]));
    } else {
      for (const std::uint32_t row : rows) values.push_back(source[row]);
    }
  }
  void append_value_range(AnyBatch& from, std::size_t begin, std::size_t end, Take take) override {
    auto& source = static_cast<Batch&>(from).values;
    const auto first = source.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = source.begin() + static_cast<std::ptrdiff_t>(end);
    if (take == Take::move) {
      values.insert(values.end(), std::make_move_iterator(first), std::make_move_iterator(last));
    } else {
      values.insert(values.end(), first, last);
    }
  }
  void encode_values(ByteWriter& out) const override { weir::encode(out, values); }
  [[nodiscard]] Result<void> decode_values(ByteReader& in) override {
    decode_into(in, values);
    return in.ok() ? Result<void>{} : in.error();
  }
};

template <class T>
const BatchType& batch_type_of() {
  static const BatchType type{.name = type_name<T>(),
                              .make = [] { return BatchPtr(std::make_shared<Batch<T>>()); }};
  return type;
}

// The batch as one of T. Requires that it is.
template <class T>
Batch<T>& batch_cast(AnyBatch& batch) {
  WEIR_CHECK(&batch.type() == &batch_type_of<T>());
  return static_cast<Batch<T>&>(batch);
}

// Whether the caller alone holds the batch, with everything others did before they let go of it.
[[nodiscard]] bool is_unique(const BatchPtr& batch);

// The batch itself if the caller alone holds it, else a copy that replaces the pointer.
AnyBatch& writable(BatchPtr& batch);

}  // namespace weir
