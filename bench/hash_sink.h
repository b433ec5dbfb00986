// A sink that adds up the hashes of all rows, so that results can be compared whatever their order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "dataflow/batch.h"
#include "dataflow/sink.h"

namespace weir::bench {

using HashSum = std::shared_ptr<std::atomic<std::uint64_t>>;  // shared by the sink's tasks

template <class Row, class HashOf>
class HashWriter final : public SinkOperator {
 public:
  HashWriter(HashOf hash_of, HashSum sum) : hash_of_(hash_of), sum_(std::move(sum)) {}

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs&) override {
    const auto& values = batch_cast<Row>(*in).values;
    std::uint64_t hash = 0;
    for (std::size_t i = rows.begin; i < rows.end; ++i) hash += hash_of_(values[i]);
    sum_->fetch_add(hash, std::memory_order_relaxed);
    return Progress{StepResult::done, rows.end};
  }

 private:
  HashOf hash_of_;
  HashSum sum_;
};

// hash_of(const Row&) → what the row adds.
template <class HashOf>
struct HashSink {
  HashOf hash_of;
  HashSum sum = std::make_shared<std::atomic<std::uint64_t>>(0);

  [[nodiscard]] std::string describe() const { return "hash"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class Row>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<HashWriter<Row, HashOf>>(hash_of, sum);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const { return nullptr; }
};
template <class HashOf>
HashSink(HashOf) -> HashSink<HashOf>;

}  // namespace weir::bench
