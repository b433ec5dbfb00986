#include "dataflow/connectors/sequence.h"

#include <algorithm>

#include "dataflow/connectors/index_reader.h"

namespace weir {
namespace {

// The number at an index from the first; in unsigned arithmetic, which wraps to the right one.
std::int64_t number_at(std::int64_t first, std::uint64_t index) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + index);
}

class SequenceReader final : public IndexReader {
 public:
  explicit SequenceReader(std::int64_t first) : first_(first) {}

 protected:
  [[nodiscard]] Result<Poll> read(IndexSplit& split, Outputs& out) override {
    const auto count = std::min<std::uint64_t>(remaining(split), Output<std::int64_t>::rows_max);
    auto& values = out.port<std::int64_t>().batch().values;
    values.resize(values.size() + count);
    std::int64_t* const batch = values.data() + values.size() - count;
    for (std::uint64_t i = 0; i < count; ++i) batch[i] = number_at(first_, split.next + i);
    advance(split, count);
    return Poll{PollResult::more};
  }

 private:
  std::int64_t first_;
};

}  // namespace

std::string Sequence::describe() const {
  return "sequence " + std::to_string(first_) + ".." + std::to_string(last_);
}

Result<void> Sequence::check() const {
  const std::string call =
      "from_sequence(" + std::to_string(first_) + ", " + std::to_string(last_) + ')';
  if (last_ < first_) {
    return Error{Errc::invalid_plan, call + ": the last number is below the first; swap them"};
  }
  if (number_at(last_, 1) == first_) {
    return Error{Errc::invalid_plan, call + ": more than 2^64 - 1 numbers; leave out one end"};
  }
  return {};
}

std::unique_ptr<SplitEnumerator> Sequence::make_enumerator() const {
  return enumerate_list([sequence = *this](std::uint32_t reader_count) -> Result<SplitList> {
    WEIR_TRY(sequence.check());
    const auto count = static_cast<std::uint64_t>(sequence.last_) -
                       static_cast<std::uint64_t>(sequence.first_) + 1;
    return contiguous_index_splits(count, reader_count);
  });
}

std::unique_ptr<SourceOperator> Sequence::make_reader() const {
  return std::make_unique<SequenceReader>(first_);
}

}  // namespace weir
