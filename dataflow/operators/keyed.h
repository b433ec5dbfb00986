// What all keyed operators share: how a record's key and its hash are had.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "dataflow/batch.h"
#include "dataflow/operator.h"
#include "dataflow/plan/partitioner.h"
#include "state/key_groups.h"

namespace weir {

template <class Selector, class T>
using KeyOf = std::remove_cvref_t<std::invoke_result_t<const Selector&, const T&>>;

// Hashes records by the key that a selector (function or member pointer) finds in them.
template <class T, class Selector>
class SelectorHasher final : public KeyHasher {
 public:
  SelectorHasher(Selector selector, KeyTag tag) : selector_(std::move(selector)), tag_(tag) {}

  void hash_keys(const AnyBatch& batch, std::vector<KeyHash>& hashes) const override {
    const auto& values = static_cast<const Batch<T>&>(batch).values;
    hashes.resize(values.size());
    KeyHash* out = hashes.data();
    for (const T& value : values) *out++ = hash_of(std::invoke(selector_, value));
  }
  [[nodiscard]] KeyTag tag() const override { return tag_; }

 private:
  Selector selector_;
  KeyTag tag_;
};

// Refuses rows that this subtask cannot hold the state of: either the stream was declared keyed and
// is not, or the selector gives another key each time it is asked. One row's key is asked again;
// all rows' groups are compared.
template <class T, class Selector>
Result<void> check_keys(const Batch<T>& batch, RowRange rows, const Selector& selector,
                        const KeyGroupSlice& slice, const std::string& operator_name) {
  WEIR_CHECK(batch.hashes.size() == batch.values.size());
  if (rows.begin == rows.end) return {};
  const KeyHash* hashes = batch.hashes.data();
  std::uint32_t strangers = 0;
  if (slice.range.count < slice.max_parallelism) {
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      const KeyGroup group = key_group_of(hashes[row], slice.max_parallelism);
      strangers |= static_cast<std::uint32_t>(!slice.range.contains(group));
    }
  }
  if (strangers != 0) {
    return Error{Errc::user_code,
                 "'" + operator_name +
                     "' received records of keys that belong to another subtask: "
                     "reinterpret_as_keyed needs a stream that is already partitioned by this key"};
  }
  if (hash_of(std::invoke(selector, batch.values[rows.begin])) != hashes[rows.begin]) {
    return Error{Errc::user_code,
                 "the key function of '" + operator_name +
                     "' gave two different keys for the same record: a key must depend on nothing "
                     "but the record (no random numbers, clocks or counters)"};
  }
  return {};
}

// Folds rows into the accumulators of their keys.
template <class T, class Selector, class Agg, class Table>
void fold(const Batch<T>& batch, RowRange rows, const Selector& selector, const Agg& aggregate,
          Table& table) {
  const T* values = batch.values.data();
  table.update_rows(
      batch.hashes.data(), rows.begin, rows.end,
      [&](std::size_t row) -> decltype(auto) { return std::invoke(selector, values[row]); },
      [&](std::size_t row, auto& accumulator) { aggregate.add(accumulator, values[row]); });
}

// For going through the rows of a batch, or the alarms of a queue, one by one: touches the state of those ahead, see KeyedTable.
class TouchAhead {
 public:
  // Before each row. `visit` is called with what are probably the values of the next keys.
  template <class Table, class Visit>
  void row(const Table& table, const std::vector<KeyHash>& hashes, std::size_t row, std::size_t end,
           Visit visit) {
    if (left_ == 0)
      left_ = table.touch(
          end - row, [&](std::size_t i) { return hashes[row + i]; }, visit);
    --left_;
  }
  // Before each alarm is taken that is due at `now_ms`.
  template <class Table, class Queue, class Visit>
  void alarm(const Table& table, const Queue& alarms, std::int64_t now_ms, Visit visit) {
    if (left_ == 0) {
      std::array<KeyHash, Table::touched_max> next;
      std::size_t count = 0;
      alarms.visit_next([&](const auto& entry) {
        if (entry.time_ms > now_ms) return false;
        next[count++] = entry.hash;
        return count < next.size();
      });
      left_ = table.touch(
          count, [&](std::size_t i) { return next[i]; }, visit);
    }
    if (left_ > 0) --left_;
  }

 private:
  std::size_t left_ = 0;  // of those that were touched
};

// Where a table's value owns no memory that is worth touching.
inline constexpr auto touch_no_more = [](const auto& /*value*/) {};

}  // namespace weir
