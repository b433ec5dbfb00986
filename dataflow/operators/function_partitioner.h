// Partitions by a function of the user's.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "dataflow/batch.h"
#include "dataflow/plan/partitioner.h"

namespace weir {

// f(const T&, subtask count) → number of the subtask.
template <class T, class F>
class FunctionPartitioner final : public CustomPartitioner {
 public:
  explicit FunctionPartitioner(F f) : f_(std::move(f)) {}
  void choose(const AnyBatch& batch, std::uint32_t count,
              std::vector<std::uint32_t>& targets) const override {
    const auto& values = static_cast<const Batch<T>&>(batch).values;
    targets.clear();
    for (const T& value : values)
      targets.push_back(subtask_in(count, std::invoke(f_, value, count)));
  }

 private:
  // What is no subtask stays none when it is made 32 bits wide.
  template <class N>
  static std::uint32_t subtask_in(std::uint32_t count, N chosen) {
    const bool exists = std::cmp_greater_equal(chosen, 0) && std::cmp_less(chosen, count);
    return exists ? static_cast<std::uint32_t>(chosen) : CustomPartitioner::none;
  }

  F f_;
};

}  // namespace weir
