// Sliding and cumulative windows of event time with incremental aggregation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "dataflow/operators/cumulative_totals.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/late_records.h"
#include "dataflow/operators/running_totals.h"
#include "dataflow/operators/slice_turn.h"
#include "dataflow/operators/two_stack_totals.h"
#include "dataflow/output.h"
#include "dataflow/window/slices.h"
#include "state/keyed_table.h"
#include "state/namespaced_tables.h"

namespace weir {

// Each record is folded once, into the slice of its time, however many windows it is in. There is a table per slice, dropped whole when
// the last window that holds it has fired. Windows fire in the order of time when the watermark reaches their last
// millisecond, from totals that slices enter and leave (see SliceTurn); those are derived from the slices, part of no snapshot, and made
// again when the first window fires.
//
// A record is late if all its windows have fired; one that comes after some of them counts in the others. One in a gap between
// windows is in none and not late. Late records go to `late`, or are counted and dropped.
//
// Windows is Sliding or Cumulative, with an Agg that can merge. Make (const K&, Window, result) → Out says what comes out, with the
// window's last millisecond as its time.
template <class T, class Selector, class Windows, class Agg, class Out, class Make>
class SlicedWindowOperator final : public Operator {
 public:
  using K = KeyOf<Selector, T>;

  SlicedWindowOperator(Selector selector, Windows windows, Agg aggregate, Make make,
                       std::optional<OutputPort> late = {})
      : selector_(std::move(selector)),
        slices_(slices_of(windows)),
        pattern_(pattern_of(windows)),
        aggregate_(std::move(aggregate)),
        make_(std::move(make)),
        late_(late) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    auto tables = context.state->windows<Slice, K, Accumulator>("slices");
    if (!tables) return tables.error();
    tables_ = *std::move(tables);
    totals_.emplace(context.keys, aggregate_);
    watermark_ = context.watermark;
    next_ = slices_.first_window_beyond(watermark_);
    return check_pattern();
  }

  [[nodiscard]] Result<Progress> process(InputPort, BatchPtr& in, RowRange rows,
                                         Outputs& out) override {
    const auto& input = batch_cast<T>(*in);
    if (input.times.empty()) return missing_time(context_->operator_name, "before the window");
    WEIR_TRY(check_keys(input, rows, selector_, context_->keys, context_->operator_name));
    for (std::size_t row = rows.begin; row < rows.end;) {
      const EventTime at = input.times[row];
      if (at == no_timestamp) return missing_time(context_->operator_name, "before the window");
      const Place& place = place_of(at);
      const std::size_t end = context_->reached.any_ahead()
                                  ? row + 1
                                  : end_of_run(input.times, row + 1, rows.end,
                                               Window{place.slice.start, place.slice.end});
      const EventTime ahead = context_->reached.ahead(input.hashes[row]);
      if (place.table == nullptr || place.last_time <= ahead) {
        if (late_ && out.port<T>(*late_).full()) return Progress{StepResult::output_full, row};
        drop_those_late(input, {row, end}, std::max(watermark_, ahead), out);
      } else if (place.in_totals) {
        fold_twice(input, {row, end}, place);
      } else {
        fold(input, {row, end}, selector_, aggregate_, *place.table);
      }
      row = end;
    }
    return Progress{StepResult::done, rows.end};
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    watermark_ = watermark;
    recent_.reset();
    BudgetCheck budget(out.budget());
    while (is_firing_ || begin_next_window()) {
      const StepResult result = fire(out.port<Out>(), budget);
      if (result != StepResult::done) return result;
    }
    // Windows without records have passed as well.
    if (next_) {
      const auto beyond = slices_.first_window_beyond(watermark);
      next_ = beyond ? std::max(*next_, *beyond) : beyond;
    }
    out.emit_watermark(watermark);
    return StepResult::done;
  }

 private:
  using Slices = decltype(slices_of(std::declval<Windows>()));
  using Accumulator = typename Agg::Accumulator;
  using Table = KeyedTable<K, Accumulator>;
  static constexpr bool is_cumulative = std::is_same_v<Slices, CumulativeSlices>;
  using Totals =
      std::conditional_t<is_cumulative, CumulativeTotals<K, Agg>,
                         typename std::conditional_t<
                             RetractsAggregates<Agg>, std::type_identity<RunningTotals<K, Agg>>,
                             std::type_identity<TwoStackTotals<K, Agg>>>::type>;
  enum class Step : std::uint8_t { take_in, put_out, let_go };

  // Where the records of a slice go: nowhere if no window will fire that holds it.
  struct Place {
    Slice slice{};
    EventTime last_time = EventTime::min();  // of its last window
    Table* table = nullptr;
    bool in_totals = false;  // and there
  };

  // That what is restored is of the windows that there are now.
  [[nodiscard]] Result<void> check_pattern() {
    auto patterns = context_->state->list<WindowPattern>("window pattern", StateKind::union_list);
    if (!patterns) return patterns.error();
    for (const WindowPattern& was : **patterns) {
      if (was == pattern_) continue;
      return Error{Errc::state_mismatch, "the state of '" + context_->operator_name + "' is of " +
                                             to_string(was) + ", but the step has " +
                                             to_string(pattern_) +
                                             ": give them as they were, or the step another name"};
    }
    (*patterns)->assign(1, pattern_);
    return {};
  }

  // --- records ---

  // Most records fall into the slice of the one before.
  const Place& place_of(EventTime at) {
    if (recent_ && recent_->slice.start <= at && at < recent_->slice.end) return *recent_;
    Place& place = recent_.emplace();
    place.slice = slices_.slice_of(at);
    const auto last = slices_.last_window_with(place.slice);
    if (!last || last->max_time() <= watermark_) return place;
    place.last_time = last->max_time();
    const bool is_taken_in = fired_ && slices_.holds(*fired_, place.slice);
    if constexpr (is_cumulative) {
      place.table = is_taken_in ? totals_->total() : nullptr;
      if (place.table == nullptr) place.table = &tables_->table_of(place.slice);
    } else {
      place.table = &tables_->table_of(place.slice);
      place.in_totals = is_taken_in;
    }
    return place;
  }

  // Records that are late for some of their windows.
  void fold_twice(const Batch<T>& input, RowRange rows, const Place& place) {
    if constexpr (!is_cumulative) {
      for (std::size_t row = rows.begin; row < rows.end; ++row) {
        const T& value = input.values[row];
        const KeyHash hash = input.hashes[row];
        const auto& key = std::invoke(selector_, value);
        const auto add = [&](Accumulator& acc) { aggregate_.add(acc, value); };
        Accumulator* acc = place.table->find(hash, key);
        totals_->add(place.slice, hash, key, acc == nullptr, add);
        add(acc == nullptr ? place.table->find_or_insert(hash, key) : *acc);
      }
    }
  }

  // Of a slice whose windows have fired all rows are late; of one that no window holds, those of past times.
  void drop_those_late(const Batch<T>& input, RowRange rows, EventTime watermark, Outputs& out) {
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      if (input.times[row] <= watermark)
        drop_late(input.values[row], input.times[row], late_, *context_->metrics, out);
    }
  }

  // --- firing ---

  // Whether there is a window that is due: the earliest that holds a slice with something in it.
  bool begin_next_window() {
    if (tables_->empty() || !next_) return false;
    const Window window = std::max(*slices_.first_window_with(tables_->first()), *next_);
    if (window.max_time() > watermark_) return false;
    turn_.window = window;
    turn_.slices.clear();
    turn_.first_new = turn_.leaving = 0;
    turn_.all_leave = true;
    tables_->for_each([&](const Slice& slice, Table& table) {
      if (!slices_.holds(window, slice)) return false;
      const bool leaves = *slices_.last_window_with(slice) <= window;
      turn_.all_leave = turn_.all_leave && leaves;
      if (is_total(slice)) return true;
      turn_.slices.push_back({slice, &table});
      if (leaves) ++turn_.leaving;
      if (fired_ && slices_.holds(*fired_, slice)) ++turn_.first_new;
      return true;
    });
    totals_->begin(turn_, *tables_);
    is_firing_ = true;
    return true;
  }

  // From where it stopped. Part by part, so that what is taken in, put out and let go of is in the caches.
  StepResult fire(Output<Out>& output, BudgetCheck& budget) {
    const std::size_t parts = tables_->first_table().part_count();
    for (; part_ < parts; ++part_) {
      if (step_ == Step::take_in) {
        if (!totals_->take_in(turn_, part_, place_, budget)) return StepResult::yield;
        go_on_with(Step::put_out);
      }
      if (step_ == Step::put_out) {
        if (!put_out(output, budget))
          return output.full() ? StepResult::output_full : StepResult::yield;
        go_on_with(Step::let_go);
      }
      if (!totals_->let_go(turn_, part_, place_, budget)) return StepResult::yield;
      go_on_with(Step::take_in);
    }
    totals_->end(turn_, *tables_);
    fired_ = turn_.window;
    next_ = slices_.window_after(turn_.window);
    part_ = 0;
    is_firing_ = false;
    return StepResult::done;
  }

  void go_on_with(Step step) {
    step_ = step;
    place_ = {};
  }

  bool put_out(Output<Out>& output, BudgetCheck& budget) {
    const Window& window = turn_.window;
    const EventTime time = window.max_time();
    const bool any_ahead = context_->reached.any_ahead();
    return std::as_const(*totals_).walk(
        part_, place_.slot, [&](const K& key, const Accumulator& acc) {
          if (!any_ahead || context_->reached.ahead(hash_of(key)) < time)
            output.push(make_(key, window, aggregate_.result(acc)), time);
          return !output.full() && !budget.spent();
        });
  }

  [[nodiscard]] bool is_total(const Slice& slice) const {
    if constexpr (is_cumulative)
      return slice == Totals::place_of_total(slices_.stretch_of(slice.start));
    else
      return false;
  }

  Selector selector_;
  Slices slices_;
  WindowPattern pattern_;
  Agg aggregate_;
  Make make_;
  std::optional<OutputPort> late_;
  const OperatorContext* context_ = nullptr;
  std::shared_ptr<NamespacedTables<Slice, K, Accumulator>> tables_;  // shared with the backend
  std::optional<Totals> totals_;                                     // once it is open
  std::optional<Place> recent_;
  std::optional<Window> fired_;  // the last one since open: what it holds is in the totals
  std::optional<Window> next_;   // earlier ones do not fire any more; none if time has ended
  SliceTurn<K, Accumulator> turn_;
  std::size_t part_ = 0;
  Step step_ = Step::take_in;
  TurnPlace place_;
  bool is_firing_ = false;
  EventTime watermark_ = EventTime::min();
};

}  // namespace weir
