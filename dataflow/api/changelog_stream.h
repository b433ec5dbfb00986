// Streams whose records are changes of a table: rows come, change and go.
//
//   const auto orders = job.source("orders", …).parse("orders", parse_order)
//       .changelog([](const Order& o) { return o.cancelled ? RowKind::remove : RowKind::insert; });
//   const auto customers = …;
//   orders.key_by(&Order::customer)
//       .left_join(customers.key_by(&Customer::id).unique_per_key())
//       .process("with names", [](const Order& o, const Customer* c) { return Named{o.id, c ? c->name : ""}; })
//       .changes()
//       .to("out", csv_files(job.output()));
//
// Steps that take each record for a new one would be wrong here, so a changelog offers joins, and changes(), whose records say what they do.
// Changes of a row must come in their order: what brings them to the changelog must not spread them over subtasks. From there on
// key_by keeps the order of those of a key.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "base/codec.h"
#include "base/hash.h"
#include "base/time.h"
#include "dataflow/api/changelog_join.h"
#include "dataflow/api/keyed_stream.h"
#include "dataflow/api/step_settings.h"
#include "dataflow/api/stream.h"
#include "dataflow/operators/changelog.h"
#include "dataflow/operators/join_table.h"
#include "dataflow/row_kind.h"
#include "state/ttl.h"

namespace weir {

template <class T, class Selector, class Identity>
class KeyedChangelog;

// Made by Stream::changelog and by joins of changelogs.
template <class T>
class ChangelogStream : public StepSettings<ChangelogStream<T>> {
 public:
  using value_type = T;

  // For the API's own use: records of `rows` have kinds.
  explicit ChangelogStream(Stream<T> rows) : rows_(std::move(rows)) {}

  // Partitions by selector(const T&), or a member, so that all changes of a key meet.
  template <class Selector>
  [[nodiscard]] auto key_by(Selector selector) const {
    return KeyedChangelog<T, Selector, EqualRows>(rows_.key_by(std::move(selector)), {}, {});
  }

  // This changelog and another as one.
  [[nodiscard]] ChangelogStream union_with(const ChangelogStream& other) const {
    return ChangelogStream(rows_.union_with(other.rows_));
  }

  // The changes as values, with their times: for functions and sinks. stream.changelog([](const Change<T>& c) { return c; }) leads back.
  [[nodiscard]] Stream<Change<T>> changes() const {
    return rows_.template then<Change<T>>(Stream<T>::template transform<Change<T>>(
        "changes", [] { return std::make_unique<ChangesOperator<T>>(); }));
  }

  // What sees values only.
  template <class... Args>
  void map(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void filter(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void flat_map(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void process(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void to(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void collect(Args&&...) const {
    refuse<Args...>();
  }

  // For the API's own use.
  [[nodiscard]] LogicalNode& last_node() { return rows_.last_node(); }

 private:
  template <class... Args>
  static void refuse() {
    static_assert(stream_detail::never<Args...>,
                  "weir: the rows of a changelog may be taken back, which this step does not know: "
                  "join changelogs, or put .changes() before, whose records say what they do");
  }

  Stream<T> rows_;
};

// A changelog whose changes of one key are in one subtask: what joins take. What makes two records the same row is that they are equal,
// unless it is said otherwise.
template <class T, class Selector, class Identity>
class KeyedChangelog {
 public:
  using value_type = T;
  using K = KeyOf<Selector, T>;

  KeyedChangelog(KeyedStream<T, Selector> rows, Identity identity, StateTtl ttl)
      : rows_(std::move(rows)), identity_(std::move(identity)), ttl_(ttl) {}

  // Rows have an id, id(const T&) or a member: one that is added replaces that of its key and id, without a record that takes it back. As the
  // rows of a join then: +U alone replaces the row of before. What takes a row away needs nothing but key and id.
  template <class F>
  [[nodiscard]] auto unique_by(F id) const {
    static_assert(std::invocable<const F&, const T&>,
                  "weir: unique_by needs a function or member of the row that gives an id");
    static_assert(Hashable<KeyOf<F, T>>,
                  "weir: this id has no hash: use numbers, strings, enums, times, or aggregates of "
                  "them");
    return KeyedChangelog<T, Selector, IdentifiedRows<F>>(rows_, {std::move(id)}, ttl_);
  }
  // There is at most one row of each key.
  [[nodiscard]] auto unique_per_key() const { return unique_by(AllRecords{}); }

  // Rows that have not been written for so long (processing time) are forgotten, as if they had never come: nothing is taken back for them.
  // Without it, all rows are kept that have not been taken back.
  [[nodiscard]] KeyedChangelog state_ttl(Duration time) const {
    if (time <= Duration{0}) {
      rows_.builder().add_mistake("a state_ttl of " + std::to_string(time.count()) +
                                  " ms: it must be above 0; leave it out to keep all rows");
    }
    return {rows_, identity_, weir::ttl(time)};
  }

  // The pairs of rows of the same key: .process("name", make). See dataflow/api/changelog_join.h.
  template <class Right>
  [[nodiscard]] auto join(const Right& right) const {
    return pair<JoinType::inner>(right);
  }
  // And the left rows, the right ones, both, that have no partner, by themselves.
  template <class Right>
  [[nodiscard]] auto left_join(const Right& right) const {
    return pair<JoinType::left>(right);
  }
  template <class Right>
  [[nodiscard]] auto right_join(const Right& right) const {
    return pair<JoinType::right>(right);
  }
  template <class Right>
  [[nodiscard]] auto full_join(const Right& right) const {
    return pair<JoinType::full>(right);
  }
  // These rows, of keys that the right side has a row of, respectively has none of.
  template <class Right>
  [[nodiscard]] ChangelogStream<T> semi_join(std::string name, const Right& right) const {
    check_join<Right>();
    return add_changelog_join<JoinType::semi, T>(std::move(name), *this, right, LeftRow{});
  }
  template <class Right>
  [[nodiscard]] ChangelogStream<T> anti_join(std::string name, const Right& right) const {
    check_join<Right>();
    return add_changelog_join<JoinType::anti, T>(std::move(name), *this, right, LeftRow{});
  }

  // What needs records that are never taken back.
  template <class... Args>
  void window(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void count(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void aggregate(Args&&...) const {
    refuse<Args...>();
  }
  template <class... Args>
  void process(Args&&...) const {
    refuse<Args...>();
  }

  // For the API's own use.
  [[nodiscard]] const KeyedStream<T, Selector>& rows() const { return rows_; }
  [[nodiscard]] StateTtl ttl() const { return ttl_; }
  [[nodiscard]] JoinInput<T, Selector, Identity> join_input() const {
    return {rows_.selector(), identity_, ttl_};
  }

 private:
  template <class... Args>
  static void refuse() {
    static_assert(
        stream_detail::never<Args...>,
        "weir: the rows of a changelog may be taken back, which this step does not know: "
        "join changelogs, or put .changes() before .key_by(…), whose records say what they "
        "do");
  }
  template <class Right>
  static void check_join() {
    static_assert(
        requires {
          typename Right::K;
          Right::is_keyed_changelog;
        },
        "weir: the right side of this join is a changelog, too: put .changelog(…) and .key_by(…) "
        "behind its stream");
    static_assert(std::is_same_v<K, typename Right::K>,
                  "weir: a join needs two changelogs of the same key type");
    static_assert(
        is_kept && Right::is_kept,
        "weir: the rows of a join are kept in its state, so they need a codec, and a hash "
        "unless .unique_by(…) gives them an id: make them aggregates of such fields");
  }
  template <JoinType type, class Right>
  [[nodiscard]] auto pair(const Right& right) const {
    check_join<Right>();
    return ChangelogJoin<type, KeyedChangelog, Right>(*this, right);
  }

 public:
  static constexpr bool is_keyed_changelog = true;
  static constexpr bool is_kept =
      Encodable<T> && (Hashable<T> || !std::is_same_v<Identity, EqualRows>);

 private:
  KeyedStream<T, Selector> rows_;
  Identity identity_;
  StateTtl ttl_;
};

}  // namespace weir
