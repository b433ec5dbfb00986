// Runs readers of a source without an engine around them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "dataflow/connectors/descriptions.h"

namespace weir {

template <SourceDescription Source>
class ReaderHarness {
 public:
  using Value = typename Source::value_type;

  explicit ReaderHarness(const Source& source, const Clock& clock = system_clock())
      : reader_(source.make_reader()), clock_(&clock) {
    context_.clock = &clock;
    context_.metrics = &metrics_;
    outputs_.push_back(port_type_of<Value>().make_output());
    EXPECT_TRUE(reader_->open(context_));
  }

  void add(std::vector<Split> splits) {
    for (Split& split : splits) EXPECT_TRUE(reader_->add_split(std::move(split)));
  }

  // Adds what is put out to rows().
  [[nodiscard]] Result<Poll> poll() {
    const StepBudget budget(*clock_, limits::step_time_max);
    Outputs out(outputs_, budget);
    auto poll = reader_->poll(out);
    const SourceOperator::SplitNews news = reader_->take_split_news();
    for (const SplitBegun& begun : news.begun) {
      ids_[begun.split] = *begun.id;
      split_log_.push_back("begin " + *begun.id);
    }
    last_batch_rows_ = 0;
    if (const BatchPtr batch = outputs_.front()->take()) {
      auto& values = batch_cast<Value>(*batch).values;
      last_batch_rows_ = values.size();
      split_log_.push_back(std::to_string(values.size()) + " of " + ids_[news.of_records]);
      rows_.insert(rows_.end(), std::make_move_iterator(values.begin()),
                   std::make_move_iterator(values.end()));
    }
    for (const SplitEnded& ended : news.ended) split_log_.push_back("end " + ids_[ended.split]);
    return poll;
  }

  // What was said of splits: "begin ID", "3 of ID" for a batch, "end ID".
  [[nodiscard]] const std::vector<std::string>& split_log() const { return split_log_; }
  [[nodiscard]] SourceOperator& reader() { return *reader_; }
  [[nodiscard]] std::vector<Value>& rows() { return rows_; }
  [[nodiscard]] std::size_t last_batch_rows() const { return last_batch_rows_; }

 private:
  std::unique_ptr<SourceOperator> reader_;
  const Clock* clock_;
  OperatorContext context_;
  OperatorMetrics metrics_;
  std::vector<std::unique_ptr<AnyOutput>> outputs_;
  std::vector<Value> rows_;
  std::size_t last_batch_rows_ = 0;
  std::map<SplitIndex, std::string> ids_;
  std::vector<std::string> split_log_;
};

// All splits of a source, as so many readers get them that ask in turn.
template <SourceDescription Source>
[[nodiscard]] Result<std::vector<Split>> splits_of(const Source& source,
                                                   std::uint32_t reader_count = 1) {
  const auto enumerator = source.make_enumerator();
  WEIR_TRY(enumerator->open(reader_count));
  std::vector<Split> splits;
  for (std::uint32_t reader = 0;; reader = (reader + 1) % reader_count) {
    auto assignment = enumerator->next(SubtaskIndex{reader});
    if (!assignment) return assignment.error();
    if (std::holds_alternative<NoMoreSplits>(*assignment)) return splits;
    if (auto* split = std::get_if<Split>(&*assignment)) splits.push_back(std::move(*split));
  }
}

// What one reader reads from these splits.
template <SourceDescription Source>
[[nodiscard]] Result<std::vector<typename Source::value_type>> read_splits(
    const Source& source, std::vector<Split> splits) {
  ReaderHarness<Source> harness(source);
  harness.add(std::move(splits));
  while (true) {
    const auto poll = harness.poll();
    if (!poll) return poll.error();
    if (poll->result == PollResult::need_split) return std::move(harness.rows());
  }
}

// Each reader in turn asks for a split and reads it. Row lists by reader.
template <SourceDescription Source>
[[nodiscard]] Result<std::vector<std::vector<typename Source::value_type>>> read_with(
    const Source& source, std::uint32_t reader_count) {
  auto splits = splits_of(source, reader_count);
  if (!splits) return splits.error();
  std::vector<std::vector<typename Source::value_type>> rows(reader_count);
  for (std::size_t i = 0; i < splits->size(); ++i) {
    auto read = read_splits(source, {(*splits)[i]});
    if (!read) return read.error();
    auto& to = rows[i % reader_count];
    to.insert(to.end(), read->begin(), read->end());
  }
  return rows;
}

// What a single reader reads of the whole source.
template <SourceDescription Source>
[[nodiscard]] Result<std::vector<typename Source::value_type>> read_all(const Source& source) {
  auto splits = splits_of(source);
  if (!splits) return splits.error();
  return read_splits(source, *std::move(splits));
}

}  // namespace weir
