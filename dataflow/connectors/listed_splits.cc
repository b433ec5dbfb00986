#include "dataflow/connectors/listed_splits.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "base/codec.h"

namespace weir {
namespace {

class ListedSplits final : public SplitEnumerator {
 public:
  explicit ListedSplits(ListSplits list) : list_(std::move(list)) {}

  [[nodiscard]] Result<void> open(std::uint32_t reader_count) override {
    WEIR_CHECK(reader_count > 0);
    auto listed = list_(reader_count);
    if (!listed) return listed.error();
    splits_.assign(std::make_move_iterator(listed->splits.begin()),
                   std::make_move_iterator(listed->splits.end()));
    total_units_ = listed->total_units;
    given_.assign(reader_count, 0);
    reserved_per_reader_ = std::min<std::size_t>(reserved_max, splits_.size() / reader_count);
    return {};
  }

  [[nodiscard]] Result<Assignment> next(SubtaskIndex reader) override {
    WEIR_CHECK(reader.value < given_.size());
    const bool has_share = given_[reader.value] >= reserved_per_reader_;
    if (has_share && !splits_.empty() && splits_.size() <= reserved_for_others(reader)) {
      return Assignment{NoSplitYet{ask_again_after}};
    }
    ++given_[reader.value];
    return take();
  }

  void add_back(std::vector<Split> splits) override {
    splits_.insert(splits_.begin(), std::make_move_iterator(splits.begin()),
                   std::make_move_iterator(splits.end()));
  }

  void snapshot(ByteWriter& writer) const override { encode(writer, splits_); }

  // Readers may hold restored splits, or have finished, and then ask for none: nothing is reserved.
  [[nodiscard]] Result<void> restore(ByteReader& reader) override {
    reserved_per_reader_ = 0;
    auto splits = decode<std::deque<Split>>(reader);
    if (!splits) return splits.error();
    splits_ = *std::move(splits);
    return {};
  }

  [[nodiscard]] std::optional<std::uint64_t> total_units() const override { return total_units_; }

 private:
  static constexpr std::size_t reserved_max = 2;
  static constexpr Duration ask_again_after{1};

  [[nodiscard]] std::size_t reserved_for_others(SubtaskIndex reader) const {
    std::size_t reserved = 0;
    for (std::size_t i = 0; i < given_.size(); ++i) {
      if (i != reader.value && given_[i] < reserved_per_reader_)
        reserved += reserved_per_reader_ - given_[i];
    }
    return reserved;
  }

  [[nodiscard]] Assignment take() {
    if (splits_.empty()) return NoMoreSplits{};
    Assignment assignment = std::move(splits_.front());
    splits_.pop_front();
    return assignment;
  }

  ListSplits list_;
  std::deque<Split> splits_;
  std::vector<std::size_t> given_;  // by reader
  std::size_t reserved_per_reader_ = 0;
  std::optional<std::uint64_t> total_units_;
};

}  // namespace

std::unique_ptr<SplitEnumerator> enumerate_list(ListSplits list) {
  return std::make_unique<ListedSplits>(std::move(list));
}

}  // namespace weir
