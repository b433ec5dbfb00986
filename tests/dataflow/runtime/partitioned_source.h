// A source with partitions that a test fills, and whose readers read theirs in turns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dataflow/connectors/listed_splits.h"
#include "dataflow/connectors/split_queue.h"
#include "dataflow/source.h"

namespace weir {

// What waits in a partition: times, in milliseconds. A test adds to it while the job runs.
struct Partition {
  std::deque<std::int64_t> times = {};
  bool closed = false;  // nothing is added any more
};
using Partitions = std::vector<Partition>;

class PartitionedReader final : public SourceOperator {
 public:
  PartitionedReader(std::shared_ptr<Partitions> partitions, std::size_t rows_per_poll)
      : partitions_(std::move(partitions)), rows_per_poll_(rows_per_poll) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    clock_ = context.clock;
    return {};
  }
  [[nodiscard]] Result<void> add_split(Split split) override {
    const auto partition = from_bytes<std::uint32_t>(split.bytes);
    if (!partition) return partition.error();
    reads_.push_back({*partition, begin_split(split.id)});
    return {};
  }
  void on_no_more_splits() override { has_all_ = true; }
  // Of the next partition that has something.
  [[nodiscard]] Result<Poll> poll(Outputs& out) override {
    if (!has_all_) return Poll{PollResult::need_split};
    for (std::size_t i = 0; i < reads_.size(); ++i) {
      std::rotate(reads_.begin(), reads_.begin() + 1, reads_.end());
      const auto [index, split] = reads_.back();
      Partition& partition = (*partitions_)[index];
      if (partition.times.empty() && partition.closed) {
        end_split(split);
        reads_.pop_back();
        return Poll{PollResult::more};
      }
      if (partition.times.empty()) continue;
      reads_split(split);
      for (std::size_t row = 0; row < rows_per_poll_ && !partition.times.empty(); ++row) {
        out.port<std::int64_t>().push(partition.times.front());
        partition.times.pop_front();
      }
      return Poll{PollResult::more};
    }
    if (reads_.empty()) return Poll{PollResult::finished};
    return Poll{PollResult::idle, clock_->processing_time() + Duration{1}};
  }
  [[nodiscard]] std::vector<Split> snapshot_splits() const override { return {}; }

 private:
  struct Read {
    std::uint32_t partition;
    SplitIndex split;
  };
  std::shared_ptr<Partitions> partitions_;
  std::size_t rows_per_poll_;
  const Clock* clock_ = nullptr;
  bool has_all_ = false;
  std::vector<Read> reads_;
};

// job.source("times", PartitionedSource(partitions)): a stream of their times, some of one partition a poll.
class PartitionedSource {
 public:
  using value_type = std::int64_t;

  explicit PartitionedSource(std::shared_ptr<Partitions> partitions, std::size_t rows_per_poll = 1)
      : partitions_(std::move(partitions)), rows_per_poll_(rows_per_poll) {}

  [[nodiscard]] std::string describe() const { return "partitions"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  [[nodiscard]] bool bounded() const { return true; }
  [[nodiscard]] std::unique_ptr<SplitEnumerator> make_enumerator() const {
    return enumerate_list([count = partitions_->size()](std::uint32_t) -> Result<SplitList> {
      SplitList list;
      for (std::uint32_t i = 0; i < count; ++i)
        list.splits.push_back(make_split("partition " + std::to_string(i), i));
      return list;
    });
  }
  [[nodiscard]] std::unique_ptr<SourceOperator> make_reader() const {
    return std::make_unique<PartitionedReader>(partitions_, rows_per_poll_);
  }

 private:
  std::shared_ptr<Partitions> partitions_;  // shared with the test
  std::size_t rows_per_poll_;
};

}  // namespace weir
