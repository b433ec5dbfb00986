// A sink that knows how often each row was committed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/row_text.h"
#include "dataflow/sink.h"

namespace weir {

// What can be seen of the output: a row more than once if it was committed more than once. A commit is recognised by its
// writer and number, as a file is by its name.
template <class Entry>
struct Ledger {
  std::map<Entry, int> rows;
  std::map<std::uint64_t, int> commits;
  std::set<std::uint64_t> durable;
  std::set<std::uint64_t> gone;  // removed before they were committed
  bool commits_what_is_not_durable = false;
  int syncs_that_fail = 0;  // every third of the first
  std::uint64_t syncs = 0;
  bool is_open = false;  // a committer was prepared or restored, and neither finished nor aborted
  bool tells_commits_apart = true;
  std::uint64_t last_id = 0;

  // As files that are hidden, but for those that somebody goes on from.
  void remove_uncommitted(const std::set<std::uint64_t>& pending) {
    for (std::uint64_t id = 1; id <= last_id; ++id) {
      if (!commits.contains(id) && !pending.contains(id)) gone.insert(id);
    }
  }
};

template <class Entry>
struct Parcel {
  std::uint64_t id = 0;
  std::vector<Entry> rows;
};

// What the ledger has of a row: its line of CSV, or key and value.
template <class Entry, class Row>
Entry entry_of(const Row& row) {
  if constexpr (std::is_same_v<Entry, std::string>) {
    std::string line;
    append_csv(line, row);
    return line;
  } else {
    return {row.key, row.value};
  }
}

template <class Entry, class Row>
class LedgerWriter final : public SinkOperator {
 public:
  explicit LedgerWriter(Ledger<Entry>* ledger) : ledger_(ledger) {}
  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs&) override {
    const auto& values = batch_cast<Row>(*in).values;
    for (std::size_t i = rows.begin; i < rows.end; ++i)
      parcel_.rows.push_back(entry_of<Entry>(values[i]));
    return Progress{StepResult::done, rows.end};
  }
  [[nodiscard]] Result<std::vector<Committable>> prepare_commit() override {
    if (parcel_.rows.empty()) return std::vector<Committable>{};
    parcel_.id = ++ledger_->last_id;
    unsynced_ = parcel_.id;
    return std::vector<Committable>{{to_bytes(std::exchange(parcel_, {}))}};
  }
  [[nodiscard]] MakeDurable take_unsynced() override {
    if (!unsynced_) return {};
    return [ledger = ledger_, id = *std::exchange(unsynced_, {})]() -> Result<void> {
      if (++ledger->syncs % 3 == 0 && ledger->syncs_that_fail-- > 0)
        return Error{Errc::output_failed, "injected"};
      ledger->durable.insert(id);
      return {};
    };
  }

 private:
  Ledger<Entry>* ledger_;
  Parcel<Entry> parcel_;
  std::optional<std::uint64_t> unsynced_;
};

template <class Entry>
class LedgerCommitter final : public SinkCommitter {
 public:
  explicit LedgerCommitter(Ledger<Entry>* ledger) : ledger_(ledger) {}
  [[nodiscard]] Result<void> prepare() override {
    ledger_->is_open = true;
    return {};
  }
  [[nodiscard]] Result<void> restore(const std::vector<Committable>& pending) override {
    ledger_->is_open = true;
    std::set<std::uint64_t> ids;
    for (const auto& one : pending) ids.insert(from_bytes<Parcel<Entry>>(one.bytes)->id);
    ledger_->remove_uncommitted(ids);
    return commit(pending);
  }
  [[nodiscard]] Result<void> finish() override {
    ledger_->is_open = false;
    return {};
  }
  [[nodiscard]] Result<void> commit(const std::vector<Committable>& committables) override {
    for (const auto& one : committables) {
      const auto parcel = *from_bytes<Parcel<Entry>>(one.bytes);
      if (ledger_->gone.contains(parcel.id))
        return Error{Errc::output_lost, "parcel " + std::to_string(parcel.id) + " is gone"};
      if (!ledger_->durable.contains(parcel.id)) ledger_->commits_what_is_not_durable = true;
      if (++ledger_->commits[parcel.id] > 1 && ledger_->tells_commits_apart) continue;
      for (const auto& row : parcel.rows) ++ledger_->rows[row];
    }
    return {};
  }
  void abort() override {
    ledger_->is_open = false;
    ledger_->remove_uncommitted({});
  }

 private:
  Ledger<Entry>* ledger_;
};

template <class Entry>
struct LedgerSink {
  Ledger<Entry>* ledger;
  [[nodiscard]] std::string describe() const { return "ledger"; }
  [[nodiscard]] Result<void> check() const { return {}; }
  template <class T>
  [[nodiscard]] std::unique_ptr<SinkOperator> make_writer() const {
    return std::make_unique<LedgerWriter<Entry, T>>(ledger);
  }
  [[nodiscard]] std::unique_ptr<SinkCommitter> make_committer() const {
    return std::make_unique<LedgerCommitter<Entry>>(ledger);
  }
};

}  // namespace weir
