// What the readers of index splits have in common: everything but what a record is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dataflow/connectors/index_split.h"
#include "dataflow/source.h"

namespace weir {

class IndexReader : public SourceOperator {
 public:
  [[nodiscard]] Result<void> add_split(Split split) final { return splits_.add(std::move(split)); }

  [[nodiscard]] Result<Poll> poll(Outputs& out) final {
    while (!splits_.empty() && remaining(splits_.front()) == 0) {
      splits_.pop();
      begun_ = false;
    }
    if (splits_.empty()) return Poll{PollResult::need_split};
    if (!std::exchange(begun_, true)) begin(splits_.front());
    return read(splits_.front(), out);
  }

  [[nodiscard]] std::vector<Split> snapshot_splits() const final { return splits_.snapshot(); }
  // In records.
  [[nodiscard]] std::uint64_t read_units() const final { return read_records_; }

 protected:
  // The split that read() will be called for from now on.
  virtual void begin(const IndexSplit& /*split*/) {}
  // Puts out records of `split`, which has some left, up to about a full batch, and advances it.
  [[nodiscard]] virtual Result<Poll> read(IndexSplit& split, Outputs& out) = 0;

  // Requires records <= remaining(split).
  void advance(IndexSplit& split, std::uint64_t records) {
    // The step behind the last index may not fit into 64 bits.
    split.next = records == remaining(split) ? split.end : split.next + records * split.stride;
    read_records_ += records;
  }

 private:
  SplitQueue<IndexSplit> splits_;
  bool begun_ = false;  // with the front split
  std::uint64_t read_records_ = 0;
};

}  // namespace weir
