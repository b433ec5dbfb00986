// What the readers of index splits have in common: everything but what a record is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dataflow/connectors/index_split.h"
#include "dataflow/source.h"

namespace weir {

// Reads the splits that it has been given in the order of their indices: after a restore with fewer readers one of them has several
// shares of what is numbered by time, and read one after the other they would be late. Those that it has at a time are read as one: for
// watermarks, too, they are one split.
class IndexReader : public SourceOperator {
 public:
  [[nodiscard]] Result<void> add_split(Split split) final { return splits_.add(std::move(split)); }

  [[nodiscard]] Result<Poll> poll(Outputs& out) final {
    while (true) {
      bring_least_to_front();
      if (splits_.empty()) {
        if (begun_ != SplitIndex{}) end_split(std::exchange(begun_, {}));
        return Poll{PollResult::need_split};
      }
      if (begun_ == SplitIndex{}) begin_all();
      if (splits_.size() == 1) return read(splits_.front(), out);
      auto poll = read_up_to_next(out);
      if (!poll || poll->result != PollResult::more || out.any_full() || out.budget().spent())
        return poll;
    }
  }

  [[nodiscard]] std::vector<Split> snapshot_splits() const final { return splits_.snapshot(); }
  // In records.
  [[nodiscard]] std::uint64_t read_units() const final { return read_records_; }

 protected:
  // The first of the splits that read() will be called for from now on, until there is none.
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
  void begin_all() {
    std::string id = splits_.front_id();
    if (splits_.size() > 1) id += " and " + std::to_string(splits_.size() - 1) + " more";
    begun_ = begin_split(std::move(id));
    reads_split(begun_);
    begin(splits_.front());
  }
  void bring_least_to_front() {
    while (!splits_.empty() && remaining(splits_.front()) == 0) splits_.pop();
    for (std::size_t i = 1; i < splits_.size(); ++i) {
      if (remaining(splits_[i]) > 0 && splits_[i].next < splits_[0].next) splits_.bring_to_front(i);
    }
  }
  // Of the split in front, what comes before the next record of any other.
  [[nodiscard]] Result<Poll> read_up_to_next(Outputs& out) {
    IndexSplit& split = splits_.front();
    IndexSplit part = split;
    for (std::size_t i = 1; i < splits_.size(); ++i) {
      if (remaining(splits_[i]) > 0) part.end = std::min(part.end, splits_[i].next);
    }
    const std::uint64_t before = remaining(part);
    auto poll = read(part, out);
    const std::uint64_t records = before - remaining(part);
    split.next = records == remaining(split) ? split.end : split.next + records * split.stride;
    return poll;
  }

  SplitQueue<IndexSplit> splits_;
  SplitIndex begun_{};  // what it reads since there was nothing
  std::uint64_t read_records_ = 0;
};

}  // namespace weir
