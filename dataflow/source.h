// Where records come from: an enumerator that knows the splits, one per job, and readers that read
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "dataflow/operator.h"
#include "dataflow/output.h"
#include "dataflow/split_change.h"

namespace weir {

// A part of a source that one reader reads from front to back: a range of a file, a partition, a
// share of numbers. `bytes` is for the source's own reader and carries the position, so a split
// read halfway is a split.
struct Split {
  std::string id;  // for people and for matching: "access.log@65536+65536"
  std::vector<std::byte> bytes;
  friend bool operator==(const Split&, const Split&) = default;
};

// What the enumerator answers a reader that asks for work.
struct NoSplitYet {  // ask again after that
  Duration ask_after;
};
struct NoMoreSplits {};  // finish when done with what you have
using Assignment = std::variant<Split, NoSplitYet, NoMoreSplits>;

// Finds the splits of one source and hands them out on request. One per job, driven by one actor,
// never concurrently.
class SplitEnumerator {
 public:
  virtual ~SplitEnumerator() = default;
  // Looks at the world (lists files …). May block: runs on a thread of its own.
  [[nodiscard]] virtual Result<void> open(std::uint32_t reader_count) = 0;
  [[nodiscard]] virtual Result<Assignment> next(SubtaskIndex reader) = 0;
  // Splits of a failed reader, to be given to another.
  virtual void add_back(std::vector<Split> splits) = 0;
  // What has not been handed out, as far as open() could not find it out again.
  virtual void snapshot(ByteWriter& writer) const = 0;
  // After open(): goes on where a snapshot was taken, with any number of readers.
  [[nodiscard]] virtual Result<void> restore(ByteReader& reader) = 0;
  // Everything there is to read, in the unit that readers count in `read_units`; nothing if unknown
  // or without end.
  [[nodiscard]] virtual std::optional<std::uint64_t> total_units() const { return std::nullopt; }
};

// What a reader can say after a poll.
enum class PollResult : std::uint8_t {
  more,        // call again at once
  idle,        // nothing now: call again at the time given
  need_split,  // finished with its splits: ask the enumerator
  finished,    // reached an end by itself
};
struct Poll {
  PollResult result;
  ProcessingTime wake_at{};  // of idle
};

// Reads the splits of one subtask. It is an operator without inputs whose work is asked for by
// poll().
//
// poll puts out at most about a full batch and returns; it reads files but never waits for data to
// appear.
//
// A reader may say which split its records are of. Then an event_time that is chained to it has watermarks per split: the subtask's is
// the least of all splits that have begun and not ended, and are not idle. One that reads several in turns begins each when it is added.
// One that reads them one after the other, or merges them in the order of their times, begins a split when it begins to read it: one
// that waits in a queue would hold the watermark until it is its turn.
class SourceOperator : public Operator {
 public:
  [[nodiscard]] virtual Result<void> add_split(Split split) = 0;
  // The enumerator has none for it any more. One that reads several in turns asks (need_split) until it is told, and finishes by itself:
  // to ask again afterwards is to say that it has finished.
  virtual void on_no_more_splits() {}
  [[nodiscard]] virtual Result<Poll> poll(Outputs& out) = 0;
  // The splits being read, with positions, so that reading goes on from there.
  [[nodiscard]] virtual std::vector<Split> snapshot_splits() const = 0;
  // How much of total_units() this reader has read; thread-confined like every call.
  [[nodiscard]] virtual std::uint64_t read_units() const { return 0; }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr&, RowRange, Outputs&) final {
    WEIR_CHECK(false);  // sources have no inputs
    return Progress{StepResult::done, 0};
  }

  // For the chain: what was said about splits since it was asked last.
  struct SplitNews {
    std::vector<SplitBegun> begun = {};  // before the poll's records
    SplitIndex of_records = {};          // that the poll has put out
    std::vector<SplitEnded> ended = {};  // behind them
  };
  [[nodiscard]] SplitNews take_split_news() {
    SplitNews news{std::exchange(begun_, {}), reads_, std::exchange(ended_, {})};
    for (const SplitEnded& ended : news.ended) {
      if (ended.split == reads_) reads_ = {};
    }
    return news;
  }

 protected:
  // These may be called in add_split() and poll().
  //
  // `id` is for people: that of the split. What is put out is not of it before reads_split() says so.
  [[nodiscard]] SplitIndex begin_split(std::string id) {
    begun_.push_back({{++last_split_}, std::make_shared<const std::string>(std::move(id))});
    return begun_.back().split;
  }
  // What this poll puts out, all of it, is of this split; and so is what follows until told otherwise.
  void reads_split(SplitIndex split) { reads_ = split; }
  // Nothing of it follows this poll.
  void end_split(SplitIndex split) { ended_.push_back({split}); }

 private:
  std::vector<SplitBegun> begun_;
  std::vector<SplitEnded> ended_;
  SplitIndex reads_{};
  std::uint64_t last_split_ = 0;
};

using EnumeratorFactory = std::function<std::unique_ptr<SplitEnumerator>()>;

}  // namespace weir
