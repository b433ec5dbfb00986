// Where records come from: an enumerator that knows the splits, one per job, and readers that read
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "dataflow/operator.h"
#include "dataflow/output.h"

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
class SourceOperator : public Operator {
 public:
  [[nodiscard]] virtual Result<void> add_split(Split split) = 0;
  [[nodiscard]] virtual Result<Poll> poll(Outputs& out) = 0;
  // The splits being read, with positions, so that reading goes on from there.
  [[nodiscard]] virtual std::vector<Split> snapshot_splits() const = 0;
  // How much of total_units() this reader has read; thread-confined like every call.
  [[nodiscard]] virtual std::uint64_t read_units() const { return 0; }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr&, RowRange, Outputs&) final {
    WEIR_CHECK(false);  // sources have no inputs
    return Progress{StepResult::done, 0};
  }
};

using EnumeratorFactory = std::function<std::unique_ptr<SplitEnumerator>()>;

}  // namespace weir
