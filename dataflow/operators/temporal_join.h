// Joins of records with the version of a row that was valid at their time.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/codec.h"
#include "base/hash.h"
#include "base/result.h"
#include "base/schema.h"
#include "base/time.h"
#include "dataflow/api/rich_function.h"
#include "dataflow/operators/alarm_queue.h"
#include "dataflow/operators/join_buffer.h"
#include "dataflow/operators/keyed.h"
#include "dataflow/operators/late_records.h"
#include "dataflow/output.h"
#include "dataflow/row_kind.h"
#include "state/keyed_access.h"
#include "state/keyed_table.h"
#include "state/ttl.h"

namespace weir {

// What a temporal join keeps of a key.
template <class L, class R>
struct TemporalRows {
  JoinBuffer<L> waiting;  // for the watermark
  JoinBuffer<Change<R>>
      versions;                // one for each time; what takes a row away is a version without row
  bool some_are_gone = false;  // versions, so that what was before the first is not known
  std::int64_t used_ms = 0;    // when the last record of either side came, with a time to live
};

// With when the operator will look at it, which is no part of snapshots.
template <class L, class R>
struct TemporalState {
  TemporalRows<L, R> rows;
  std::optional<std::int64_t> alarm_ms;
};

template <class L, class R>
struct Codec<TemporalState<L, R>> : codec_detail::ReadsInPlace<TemporalState<L, R>> {
  using Rows = TemporalRows<L, R>;
  static constexpr bool parts_encodable = Encodable<Rows>;

  static void encode(ByteWriter& writer, const TemporalState<L, R>& state) {
    weir::encode(writer, state.rows);
  }
  static void read(ByteReader& reader, TemporalState<L, R>& state) {
    decode_into(reader, state.rows);
  }
  static Schema schema() { return schema_of<Rows>(); }
};

// Versions expire with their key, when neither side has had a record of it for so long; what waits does not.
template <class L, class R>
[[nodiscard]] std::size_t part_count(const TemporalState<L, R>& state) {
  return state.rows.versions.size();
}
template <class L, class R>
[[nodiscard]] bool has_expired(const TemporalState<L, R>& state, const StateTtl& ttl,
                               ProcessingTime now) {
  return state.rows.waiting.empty() && ttl.has_expired(state.rows.used_ms, now);
}
template <class L, class R>
bool expire(TemporalState<L, R>& state, const StateTtl& ttl, ProcessingTime now) {
  if (!has_expired(state, ttl, now)) return true;
  state = {};
  return false;
}

// Puts out, for each record of the left side, what make says of it and the version of its key that was valid at its time: the last one that
// is not later. Left records wait for the watermark, and come out before it, with their times. Versions are a changelog with times; where one
// row takes the place of another at the same time, the last one counts. Of those that the watermark has passed the last one is kept.
//
// As in Apache Flink (TemporalRowTimeJoinOperator), records that come behind the watermark are taken as far as that can be right: a left one
// if the versions of its time are still known; a version if it is not older than the one that was valid at the watermark, then for all
// records that have not been put out. Others are counted and dropped.
//
// make: (const L&, const R&) → Out; with `keeps_unmatched` (const L&, const R*), null if there was no version.
template <class L, class SelectorL, class R, class SelectorR, class Out, class Make,
          bool keeps_unmatched>
class TemporalJoinOperator final : public Operator {
 public:
  using K = KeyOf<SelectorL, L>;

  TemporalJoinOperator(SelectorL left, SelectorR right, Make make, StateTtl ttl)
      : left_(std::move(left)), right_(std::move(right)), make_(std::move(make)), ttl_(ttl) {}

  [[nodiscard]] Result<void> open(const OperatorContext& context) override {
    context_ = &context;
    watermark_ = context.watermark;
    WEIR_TRY(open_state(context));
    late_versions_ = Counter(context.metrics->counters.cell("late versions taken"));
    open_function(make_, context);
    opened_ = &context;
    return {};
  }
  void close() override { close_function(make_, std::exchange(opened_, nullptr)); }

  [[nodiscard]] Result<Progress> process(InputPort port, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    return port.value == 0
               ? take_rows(batch_cast<L>(*in), left_, rows,
                           [this](State& state, const L& row, EventTime at, RowKind) {
                             take_left(state, row, at);
                           })
               : take_rows(batch_cast<R>(*in), right_, rows,
                           [this](State& state, const R& row, EventTime at, RowKind kind) {
                             take_version(state, row, at, kind);
                           });
  }

  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& out) override {
    watermark_ = watermark;
    BudgetCheck check(out.budget());
    TouchAhead ahead;
    while (firing_ || next_alarm(ahead)) {
      const StepResult fired = fire(check, out.port<Out>());
      if (fired != StepResult::done) return fired;
      firing_.reset();
      if (check.spent()) return StepResult::yield;
    }
    out.emit_watermark(watermark);
    return StepResult::done;
  }

 private:
  using State = TemporalState<L, R>;
  using Table = KeyedTable<K, State>;

  static constexpr auto touch_rows = [](const State& state) {
    state.rows.waiting.touch();
    state.rows.versions.touch();
  };

  Result<void> open_state(const OperatorContext& context) {
    StateBackend::MakeEncoder<K, State> make_encoder;
    if (ttl_.is_on()) {
      make_encoder = [ttl = ttl_, clock = context.clock] {
        return std::make_shared<const state_detail::ExpiringEncoder<K, State>>(
            ttl, clock->processing_time());
      };
    }
    auto table = context.state->keyed<K, State>("versions", StateKind::value, make_encoder);
    if (!table) return table.error();
    table_ = *std::move(table);
    if (ttl_.is_on()) {
      access_ = std::make_unique<state_detail::ExpiringTableAccess<K, State>>(table_, current_,
                                                                              ttl_, *context.clock);
    } else {
      access_ = std::make_unique<state_detail::TableAccess<K, State>>(table_, current_);
    }
    std::vector<K> keys;
    TableCursor cursor;
    std::as_const(*table_).walk(cursor, [&keys](const K& key, const State& /*state*/) {
      keys.push_back(key);
      return true;
    });
    for (const K& key : keys) {
      select(key, hash_of(key));
      set_alarm(*table_->find(current_.hash, key));
    }
    return {};
  }

  void select(const K& key, KeyHash hash) {
    current_.key = key;
    current_.hash = hash;
  }

  template <class T, class Selector, class TakeRow>
  Result<Progress> take_rows(const Batch<T>& input, const Selector& selector, RowRange rows,
                             TakeRow take_row) {
    constexpr auto where = "on both streams before the temporal join";
    if (input.times.empty()) return missing_time(context_->operator_name, where);
    WEIR_TRY(check_keys(input, rows, selector, context_->keys, context_->operator_name));
    TouchAhead ahead;
    for (std::size_t row = rows.begin; row < rows.end; ++row) {
      ahead.row(*table_, input.hashes, row, rows.end, touch_rows);
      if (input.times[row] == no_timestamp) return missing_time(context_->operator_name, where);
      select(std::invoke(selector, input.values[row]), input.hashes[row]);
      State& state = access_->find_or_insert();
      if (ttl_.is_on()) state.rows.used_ms = context_->clock->processing_time().ms;
      const RowKind kind = input.kinds.empty() ? RowKind::insert : input.kinds[row];
      take_row(state, input.values[row], input.times[row], kind);
      if (is_empty(state)) access_->erase();
    }
    return Progress{StepResult::done, rows.end};
  }

  void take_left(State& state, const L& row, EventTime at) {
    if (at <= watermark_ && state.rows.some_are_gone && version_at(state, at) == nullptr) {
      ++context_->metrics->late_records_dropped;
      return;
    }
    state.rows.waiting.insert({at, row});
    set_alarm(state);
  }

  void take_version(State& state, const R& row, EventTime at, RowKind kind) {
    auto& versions = state.rows.versions;
    if (at <= watermark_) {
      if (!versions.empty() && at < versions.front().at && versions.front().at <= watermark_) {
        ++context_->metrics->late_records_dropped;
        return;
      }
      late_versions_.add();
    }
    versions.insert_or_replace({at, {kind, row}});
    set_alarm(state);
  }

  // The one that was valid then; it may say that there was no row.
  [[nodiscard]] static const Change<R>* version_at(const State& state, EventTime at) {
    const auto& versions = state.rows.versions;
    const std::size_t first = versions.lower_bound(at);
    if (first < versions.size() && versions[first].at == at) return &versions[first].value;
    return first == 0 ? nullptr : &versions[first - 1].value;
  }

  // When there is something to be done: a record to be put out or a version that is not needed any more.
  [[nodiscard]] static std::optional<std::int64_t> due_ms(const State& state) {
    const auto& waiting = state.rows.waiting;
    const auto& versions = state.rows.versions;
    std::optional<std::int64_t> due;
    const auto at = [&due](EventTime time) { due = std::min(due.value_or(time.ms), time.ms); };
    if (!waiting.empty()) at(waiting.front().at);
    if (versions.size() > 1) at(versions[1].at);
    if (!versions.empty() && !adds_row(versions.front().value.kind)) at(versions.front().at);
    return due;
  }
  [[nodiscard]] static bool is_empty(const State& state) {
    return state.rows.waiting.empty() && state.rows.versions.empty();
  }
  // Of the current key. An alarm that comes for another time than the state's is one of before.
  void set_alarm(State& state) {
    const auto due = due_ms(state);
    if (!due || (state.alarm_ms && *state.alarm_ms <= *due)) return;
    state.alarm_ms = due;
    alarms_.push({*due, current_.hash, current_.key});
  }

  [[nodiscard]] bool next_alarm(TouchAhead& ahead) {
    ahead.alarm(*table_, alarms_, watermark_.ms, touch_rows);
    firing_ = alarms_.pop_due(watermark_.ms);
    return firing_.has_value();
  }

  // Works off what is due of a key.
  StepResult fire(BudgetCheck& check, Output<Out>& output) {
    select(firing_->key, firing_->hash);
    State* state = table_->find(firing_->hash, firing_->key);
    if (state == nullptr || state->alarm_ms != firing_->time_ms) return StepResult::done;
    auto& waiting = state->rows.waiting;
    while (!waiting.empty() && waiting.front().at <= watermark_) {
      if (output.full()) return StepResult::output_full;
      if (check.spent()) return StepResult::yield;
      put_out(*state, waiting.front().value, waiting.front().at, output);
      waiting.pop_front();
    }
    drop_old_versions(state->rows);
    state->alarm_ms.reset();
    if (is_empty(*state)) {
      access_->erase();
    } else {
      set_alarm(*state);
    }
    return StepResult::done;
  }

  void put_out(const State& state, const L& row, EventTime at, Output<Out>& output) {
    const Change<R>* version = version_at(state, at);
    const R* valid = version != nullptr && adds_row(version->kind) ? &version->row : nullptr;
    if constexpr (keeps_unmatched) {
      output.push(make_(row, valid), at);
    } else if (valid != nullptr) {
      output.push(make_(row, *valid), at);
    }
  }

  void drop_old_versions(TemporalRows<L, R>& rows) const {
    auto& versions = rows.versions;
    const std::size_t before = versions.size();
    versions.drop_front(
        [&](const auto& /*front*/) { return versions.size() > 1 && versions[1].at <= watermark_; });
    versions.drop_front(
        [&](const auto& front) { return front.at <= watermark_ && !adds_row(front.value.kind); });
    if (versions.size() < before) rows.some_are_gone = true;
  }

  SelectorL left_;
  SelectorR right_;
  Make make_;
  StateTtl ttl_;
  const OperatorContext* context_ = nullptr;
  const OperatorContext* opened_ = nullptr;  // of make
  Counter late_versions_;
  CurrentKey<K> current_;
  std::shared_ptr<Table> table_;                // shared with the backend
  std::unique_ptr<KeyedAccess<State>> access_;  // to the table, for the current key
  AlarmQueue<K> alarms_;
  std::optional<typename AlarmQueue<K>::Entry> firing_;  // that a call stopped in
  EventTime watermark_ = EventTime::min();
};

}  // namespace weir
