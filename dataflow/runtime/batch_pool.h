// Empty batches kept for reuse by one task.
#pragma once

#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "dataflow/batch.h"

namespace weir {

// Saves the allocator a batch's memory on every hop: consumers send batches back with the credit.
// Bounded per type. Not thread-safe.
class BatchPool {
 public:
  [[nodiscard]] BatchPtr get(const BatchType& type) {
    auto& free = free_[&type];
    if (free.empty()) return type.make();
    BatchPtr batch = std::move(free.back());
    free.pop_back();
    return batch;
  }

  // Takes a batch that nobody else holds; drops it when there are enough, or when it grew beyond
  // the usual size.
  void put(BatchPtr batch) {
    if (!is_unique(batch) || batch->bytes() > 2 * limits::batch_bytes_max) return;
    auto& free = free_[&batch->type()];
    if (free.size() >= limits::pooled_batches_max) return;
    batch->clear();
    free.push_back(std::move(batch));
  }

 private:
  std::unordered_map<const BatchType*, std::vector<BatchPtr>> free_;
};

}  // namespace weir
