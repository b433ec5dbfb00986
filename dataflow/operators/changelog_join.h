// Joins of two changelogs by key, without windows: the result is a changelog, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/operators/join_table.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/output.h"
#include "dataflow/row_kind.h"
#include "state/keyed_access.h"
#include "state/ttl.h"

namespace weir {

// What comes out: pairs; pairs, and the rows of a side alone that have no partner; or the rows of the left side that have a partner, that
// have none.
enum class JoinType : std::uint8_t { inner, left, right, full, semi, anti };

// In place of the function of a semi or anti join.
struct LeftRow {};

// One side of a join: its records, what its key is, what makes them the same row and how long rows are kept.
template <class T, class SelectorT, class IdentityT>
struct JoinInput {
  using Value = T;
  using Selector = SelectorT;
  using Identity = IdentityT;
  SelectorT selector;
  IdentityT identity;
  StateTtl ttl;
};

// Keeps the table that each side describes, and puts out how the table of the joined rows changes. As Apache Flink's StreamingJoinOperator
// and StreamingSemiAntiJoinOperator do: rows of inner, semi and anti joins have the kind of the record that they come from, where that is
// possible; those of outer joins are inserted and removed. A row is taken back as it was put out, so make must give the same row for the
// same records. What takes back a row that is not there is counted and changes nothing.
//
// make: (const L&, const R&) → Out; of outer joins with a pointer in place of what may be null; of semi and anti joins LeftRow.
template <JoinType type, class Left, class Right, class Out, class Make>
class ChangelogJoinOperator final : public Operator {
 public:
  using L = typename Left::Value;
  using R = typename Right::Value;
  using K = KeyOf<typename Left::Selector, L>;

  ChangelogJoinOperator(Left left, Right right, Make make)
      : selectors_(left.selector, right.selector),
        tables_(LeftTable(left.identity, left.ttl), RightTable(right.identity, right.ttl)),
        make_(std::move(make)) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    const KeyedStateScope<K> scope{*context.state, current_, *context.clock};
    WEIR_TRY(std::get<0>(tables_).bind(scope, "left rows"));
    WEIR_TRY(std::get<1>(tables_).bind(scope, "right rows"));
    unknown_ = Counter(context.metrics->counters.cell("unknown rows taken back"));
    open_function(make_, context);
    opened_ = &context;
    return {};
  }
  void close() override { close_function(make_, std::exchange(opened_, nullptr)); }

  [[nodiscard]] Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    return port.value == 0 ? join_rows<0>(*in, rows, out) : join_rows<1>(*in, rows, out);
  }

 private:
  using LeftTable = JoinTable<L, typename Left::Identity>;
  using RightTable = JoinTable<R, typename Right::Identity>;

  template <std::size_t Side>
  using Value = std::tuple_element_t<Side, std::tuple<L, R>>;

  static constexpr bool has_pairs = type != JoinType::semi && type != JoinType::anti;
  // Whether it matters if a row of the side has a partner.
  template <std::size_t Side>
  static constexpr bool tells_unmatched =
      Side == 0 ? type != JoinType::inner&& type != JoinType::right
                : type == JoinType::right || type == JoinType::full;

  // A row that is to be put out for the record at hand, so many times. It is in a table, or taken back.
  struct Pending {
    const L* left;
    const R* right;
    RowKind kind;
    std::uint32_t count;
  };

  template <std::size_t Side>
  Result<Progress> join_rows(AnyBatch& any, RowRange rows, Outputs& out) {
    const auto& input = batch_cast<Value<Side>>(any);
    const auto& selector = std::get<Side>(selectors_);
    WEIR_TRY(check_keys(input, rows, selector, context_->keys, context_->operator_name));
    auto& output = out.port<Out>();
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (output.full()) return Progress{StepResult::output_full, row};
      if (pending_.empty()) {
        current_.key = std::invoke(selector, input.values[row]);
        current_.hash = input.hashes[row];
        begin_record();
        const RowKind kind = input.kinds.empty() ? RowKind::insert : input.kinds[row];
        if (adds_row(kind)) {
          add<Side>(input.values[row], kind);
        } else {
          remove<Side>(input.values[row], kind);
        }
      }
      if (!put_out(output, input.times.empty() ? no_timestamp : input.times[row]))
        return Progress{StepResult::output_full, row};
    }
    return Progress{StepResult::done, rows.end};
  }

  void begin_record() {
    std::get<0>(tables_).begin_record(*context_->clock);
    std::get<1>(tables_).begin_record(*context_->clock);
  }

  template <std::size_t Side>
  void add(const Value<Side>& value, RowKind kind) {
    auto& own = std::get<Side>(tables_);
    const bool is_matched = !std::get<1 - Side>(tables_).is_empty();
    if constexpr (tells_unmatched<1 - Side>) {
      if (is_matched && own.is_empty()) match_all<1 - Side>(kind);
    }
    const auto entry = own.add(value);
    if constexpr (tells_unmatched<Side>) {
      if (!is_matched) ++entry.copies->unmatched;
      if (is_told(is_matched)) tell<Side>(*entry.row, of_outer(RowKind::insert, kind), 1);
    }
    if constexpr (has_pairs)
      pair_with_all<Side>(*entry.row, type == JoinType::inner ? kind : RowKind::insert);
  }

  template <std::size_t Side>
  void remove(const Value<Side>& value, RowKind kind) {
    auto& own = std::get<Side>(tables_);
    auto removed = own.remove(value);
    if (!removed) return unknown_.add();
    const Value<Side>& row = std::get<Side>(taken_back_).emplace(std::move(removed->row));
    if constexpr (tells_unmatched<Side>) {
      if (is_told(!removed->was_unmatched)) tell<Side>(row, of_outer(RowKind::remove, kind), 1);
    }
    if constexpr (has_pairs)
      pair_with_all<Side>(row, type == JoinType::inner ? kind : RowKind::remove);
    if constexpr (tells_unmatched<1 - Side>) {
      if (own.is_empty()) unmatch_all<1 - Side>(kind);
    }
  }

  // The rows of a side have a partner from now on, respectively have none any more.
  template <std::size_t Side>
  void match_all(RowKind kind) {
    std::get<Side>(tables_).for_each_to_change([&](const Value<Side>& row, RowCopies& copies) {
      tell<Side>(row, type == JoinType::semi ? kind : RowKind::remove,
                 std::exchange(copies.unmatched, 0));
    });
  }
  template <std::size_t Side>
  void unmatch_all(RowKind kind) {
    std::get<Side>(tables_).for_each_to_change([&](const Value<Side>& row, RowCopies& copies) {
      tell<Side>(row, type == JoinType::semi ? kind : RowKind::insert,
                 copies.count - std::exchange(copies.unmatched, copies.count));
    });
  }

  // Whether a row is put out by itself.
  static constexpr bool is_told(bool is_matched) { return is_matched == (type == JoinType::semi); }
  static constexpr RowKind of_outer(RowKind outer, RowKind of_record) {
    return has_pairs ? outer : of_record;
  }
  template <std::size_t Side>
  void tell(const Value<Side>& row, RowKind kind, std::uint32_t count) {
    if (count == 0) return;
    if constexpr (Side == 0) {
      pending_.push_back({&row, nullptr, kind, count});
    } else {
      pending_.push_back({nullptr, &row, kind, count});
    }
  }

  template <std::size_t Side>
  void pair_with_all(const Value<Side>& row, RowKind kind) {
    std::get<1 - Side>(tables_).for_each(
        [&](const Value<1 - Side>& other, const RowCopies& copies) {
          if constexpr (Side == 0) {
            pending_.push_back({&row, &other, kind, copies.count});
          } else {
            pending_.push_back({&other, &row, kind, copies.count});
          }
        });
  }

  // From where the last call for this record stopped. False: the output is full.
  bool put_out(Output<Out>& output, EventTime at) {
    for (; put_out_ < pending_.size(); ++put_out_) {
      Pending& next = pending_[put_out_];
      for (; next.count > 0; --next.count) {
        if (output.full()) return false;
        output.push(row_of(next), at, next.kind);
      }
    }
    if (pending_.capacity() > pending_kept_max) pending_ = {};
    pending_.clear();
    put_out_ = 0;
    return true;
  }

  [[nodiscard]] Out row_of(const Pending& pending) {
    if constexpr (!has_pairs) {
      return *pending.left;
    } else if constexpr (type == JoinType::inner) {
      return make_(*pending.left, *pending.right);
    } else if constexpr (type == JoinType::left) {
      return make_(*pending.left, pending.right);
    } else if constexpr (type == JoinType::right) {
      return make_(pending.left, *pending.right);
    } else {
      return make_(pending.left, pending.right);
    }
  }

  std::tuple<typename Left::Selector, typename Right::Selector> selectors_;
  std::tuple<LeftTable, RightTable> tables_;
  Make make_;
  CurrentKey<K> current_;
  const OperatorContext* context_ = nullptr;
  const OperatorContext* opened_ = nullptr;  // of make
  Counter unknown_;
  // Of the record at hand.
  static constexpr std::size_t pending_kept_max = 65'536;  // as memory for the next one
  std::vector<Pending> pending_;                           // empty between two
  std::size_t put_out_ = 0;
  std::tuple<std::optional<L>, std::optional<R>> taken_back_;
};

}  // namespace weir
