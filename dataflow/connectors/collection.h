// A source of records that the program already has, for tests and small tables.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_size.h"
#include "base/limits.h"
#include "dataflow/connectors/index_reader.h"

namespace weir {

template <class T>
class CollectionReader final : public IndexReader {
 public:
  explicit CollectionReader(std::shared_ptr<const std::vector<T>> rows) : rows_(std::move(rows)) {}

 protected:
  [[nodiscard]] Result<Poll> read(IndexSplit& split, Outputs& out) override {
    const std::size_t end = end_of_batch(split);
    const auto at = [this](std::size_t index) {
      return rows_->begin() + static_cast<std::ptrdiff_t>(index);
    };
    auto& values = out.port<T>().batch().values;
    values.insert(values.end(), at(split.next), at(end));
    advance(split, end - split.next);
    return Poll{PollResult::more};
  }

 private:
  [[nodiscard]] std::size_t end_of_batch(const IndexSplit& split) const {
    const std::size_t end = std::min(split.end, split.next + Output<T>::rows_max);
    if constexpr (has_heap<T>) {
      std::size_t bytes = 0;
      for (std::size_t i = split.next; i < end; ++i) {
        bytes += sizeof(T) + heap_bytes((*rows_)[i]);
        if (bytes >= limits::batch_bytes_max) return i + 1;
      }
    }
    return end;
  }

  std::shared_ptr<const std::vector<T>> rows_;  // shared with the description and the other readers
};

template <class T>
class Collection {
 public:
  using value_type = T;

  explicit Collection(std::vector<T> rows)
      : rows_(std::make_shared<const std::vector<T>>(std::move(rows))) {}

  [[nodiscard]] std::string describe() const {
    return "collection of " + std::to_string(rows_->size());
  }
  [[nodiscard]] Result<void> check() const { return {}; }
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return enumerate_list([count = rows_->size()](std::uint32_t reader_count) -> Result<SplitList> {
      return contiguous_index_splits(count, reader_count);
    });
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<CollectionReader<T>>(rows_);
  }

 private:
  std::shared_ptr<const std::vector<T>>
      rows_;  // shared, so that copies of the description cost nothing
};

// The rows, each once; with one reader in their order.
template <class T>
[[nodiscard]] Collection<T> collection(std::vector<T> rows) {
  return Collection<T>(std::move(rows));
}

}  // namespace weir
