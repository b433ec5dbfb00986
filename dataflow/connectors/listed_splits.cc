#include "dataflow/connectors/listed_splits.h"

#include <deque>
#include <iterator>
#include <utility>

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
    return {};
  }

  [[nodiscard]] Result<Assignment> next(SubtaskIndex /*reader*/) override { return take(); }

  void add_back(std::vector<Split> splits) override {
    splits_.insert(splits_.begin(), std::make_move_iterator(splits.begin()),
                   std::make_move_iterator(splits.end()));
  }

  [[nodiscard]] std::optional<std::uint64_t> total_units() const override { return total_units_; }

 private:
  [[nodiscard]] Assignment take() {
    if (splits_.empty()) return NoMoreSplits{};
    Assignment assignment = std::move(splits_.front());
    splits_.pop_front();
    return assignment;
  }

  ListSplits list_;
  std::deque<Split> splits_;
  std::optional<std::uint64_t> total_units_;
};

}  // namespace

std::unique_ptr<SplitEnumerator> enumerate_list(ListSplits list) {
  return std::make_unique<ListedSplits>(std::move(list));
}

}  // namespace weir
