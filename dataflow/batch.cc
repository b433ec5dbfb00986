#include "dataflow/batch.h"

#include <atomic>

namespace weir {
namespace {

template <class C>
void append_column(std::vector<C>& to, std::span<const C> from, Selection rows) {
  if (!from.empty()) append_selected(to, from.data(), rows);
}

template <class C>
void append_column_range(std::vector<C>& to, const std::vector<C>& from, std::size_t begin,
                         std::size_t end) {
  if (from.empty()) return;
  to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(begin),
            from.begin() + static_cast<std::ptrdiff_t>(end));
}

// Makes room in `to` for rows that have the column when those before them had not, and the other
// way round.
template <class C>
void fill_missing(std::vector<C>& to, bool wanted, std::size_t size, C missing) {
  if (wanted || !to.empty()) to.resize(size, missing);
}

std::uint8_t column_flags(const AnyBatch& batch) {
  return static_cast<std::uint8_t>((batch.times.empty() ? 0 : 1) | (batch.hashes.empty() ? 0 : 2) |
                                   (batch.kinds.empty() ? 0 : 4));
}

// For the only holder, who has read the count relaxed: the last other one released with its decrement.
void acquire_from_other_holders([[maybe_unused]] const BatchPtr& batch) {
#if defined(__SANITIZE_THREAD__)
  BatchPtr(batch).reset();  // the sanitizer knows no fences, but that a decrement acquires, too
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}

}  // namespace

std::size_t AnyBatch::bytes() const {
  return value_bytes() + times.size() * sizeof(EventTime) + hashes.size() * sizeof(KeyHash) +
         kinds.size();
}

void AnyBatch::clear() {
  clear_values();
  times.clear();
  hashes.clear();
  kinds.clear();
  key_tag = {};
}

void AnyBatch::append(AnyBatch& from, Selection rows, Take take, KeyTag tag,
                      std::span<const KeyHash> from_hashes) {
  const std::size_t old_size = size();
  const std::size_t new_size = old_size + rows.size();
  fill_missing(times, !from.times.empty(), old_size, no_timestamp);
  fill_missing(kinds, !from.kinds.empty(), old_size, RowKind::insert);
  if (old_size == 0) key_tag = tag;
  if (key_tag == tag && tag != KeyTag{}) {
    append_column(hashes, from_hashes, rows);
  } else {
    key_tag = {};
    hashes.clear();
  }
  append_column<EventTime>(times, from.times, rows);
  append_column<RowKind>(kinds, from.kinds, rows);
  append_values(from, rows, take);
  fill_missing(times, false, new_size, no_timestamp);
  fill_missing(kinds, false, new_size, RowKind::insert);
}

void AnyBatch::append_range(AnyBatch& from, std::size_t begin, std::size_t end, Take take) {
  WEIR_CHECK(begin <= end);
  WEIR_CHECK(end <= from.size());
  const std::size_t old_size = size();
  const std::size_t new_size = old_size + (end - begin);
  fill_missing(times, !from.times.empty(), old_size, no_timestamp);
  fill_missing(kinds, !from.kinds.empty(), old_size, RowKind::insert);
  if (old_size == 0) key_tag = from.key_tag;
  if (key_tag != from.key_tag) {
    key_tag = {};
    hashes.clear();
  } else {
    append_column_range(hashes, from.hashes, begin, end);
  }
  append_column_range(times, from.times, begin, end);
  append_column_range(kinds, from.kinds, begin, end);
  append_value_range(from, begin, end, take);
  fill_missing(times, false, new_size, no_timestamp);
  fill_missing(kinds, false, new_size, RowKind::insert);
}

void AnyBatch::encode(ByteWriter& out) const {
  weir::encode(out, column_flags(*this));
  weir::encode(out, key_tag);
  if (!times.empty()) weir::encode(out, times);
  if (!hashes.empty()) weir::encode(out, hashes);
  if (!kinds.empty()) weir::encode(out, kinds);
  encode_values(out);
}

Result<void> AnyBatch::decode(ByteReader& in) {
  clear();
  const auto flags = weir::decode<std::uint8_t>(in);
  if (!flags) return flags.error();
  const auto tag = weir::decode<KeyTag>(in);
  if (!tag) return tag.error();
  key_tag = *tag;
  const auto read_column = [&in](auto& column) -> Result<void> {
    decode_into(in, column);
    return in.ok() ? Result<void>{} : in.error();
  };
  if (*flags & 1) WEIR_TRY(read_column(times));
  if (*flags & 2) WEIR_TRY(read_column(hashes));
  if (*flags & 4) WEIR_TRY(read_column(kinds));
  WEIR_TRY(decode_values(in));
  const auto fits = [this](const auto& column) {
    return column.empty() || column.size() == size();
  };
  if (!fits(times) || !fits(hashes) || !fits(kinds)) {
    return Error{Errc::corrupt_data, "a batch whose columns differ in length"};
  }
  const bool hashed = !hashes.empty();
  if (size() > 0 && hashed != (key_tag != KeyTag{})) {
    return Error{Errc::corrupt_data,
                 "a batch with hashes of no edge, or with an edge's tag and no hashes"};
  }
  return {};
}

bool is_unique(const BatchPtr& batch) {
  if (batch.use_count() != 1) return false;
  acquire_from_other_holders(batch);
  return true;
}

AnyBatch& writable(BatchPtr& batch) {
  if (!is_unique(batch)) batch = batch->clone();
  return *batch;
}

}  // namespace weir
