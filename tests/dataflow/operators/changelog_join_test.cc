#include "dataflow/operators/changelog_join.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "dataflow/harness.h"
#include "tests/dataflow/operators/harness_script.h"
#include "tests/dataflow/operators/snapshot_groups.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct Order {
  std::string order;
  std::string line;
  std::string address;
};
struct Line {
  std::string line;
  std::string mode;
};
using Texts = std::vector<std::string>;
using Joined = Change<std::string>;
using Harness = TwoInputHarness<Change<Order>, Change<Line>, Joined>;
using SemiHarness = TwoInputHarness<Change<Order>, Change<Line>, Change<Order>>;

std::string text_of(const Order& order) {
  return order.line + order.address;
}

auto orders_of(Stream<Change<Order>> in) {
  return in.changelog(std::identity{}).key_by(&Order::line);
}
auto lines_of(Stream<Change<Line>> in) {
  return in.changelog(std::identity{}).key_by(&Line::line);
}

Change<Order> order(RowKind kind, std::string line, std::string address = "") {
  return {kind, {"o1", std::move(line), std::move(address)}};
}
Change<Line> line(RowKind kind, std::string of, std::string mode) {
  return {kind, {std::move(of), std::move(mode)}};
}
constexpr RowKind insert = RowKind::insert, before = RowKind::update_before,
                  after = RowKind::update_after, removed = RowKind::remove;

std::string pair_of(const Order& o, const Line& l) {
  return o.line + o.address + " " + l.mode;
}
std::string with_or_without(const Order& o, const Line* l) {
  return o.line + o.address + " " + (l == nullptr ? "null" : l->mode);
}

Stream<Joined> inner_of_unique(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders)
      .unique_per_key()
      .join(lines_of(lines).unique_per_key())
      .process("join", pair_of)
      .changes();
}
Stream<Joined> inner(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders).join(lines_of(lines)).process("join", pair_of).changes();
}
Stream<Joined> left(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders).left_join(lines_of(lines)).process("join", with_or_without).changes();
}
Stream<Joined> right(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders)
      .right_join(lines_of(lines))
      .process("join",
               [](const Order* o, const Line& l) {
                 return (o == nullptr ? "null" : o->line + o->address) + " " + l.mode;
               })
      .changes();
}
Stream<Joined> full(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders)
      .full_join(lines_of(lines))
      .process("join",
               [](const Order* o, const Line* l) {
                 return (o == nullptr ? "null" : o->line + o->address) + " " +
                        (l == nullptr ? "null" : l->mode);
               })
      .changes();
}
Stream<Change<Order>> semi(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders).semi_join("join", lines_of(lines)).changes();
}
Stream<Change<Order>> anti(Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
  return orders_of(orders).anti_join("join", lines_of(lines)).changes();
}

// The time of a row is that of the record that it comes from.
TEST(ChangelogJoin, an_inner_join_puts_out_pairs_with_the_kind_of_the_record) {
  HarnessScript<Harness> script(inner_of_unique);
  script.first(order(insert, "l1"), 1)
      .first(order(insert, "l2"), 2)
      .expect({})
      .second(line(insert, "l2", "AIR"), 3)
      .expect({"+I l2 AIR@3"})
      .first(order(after, "l2", "'"), 4)
      .expect({"+U l2' AIR@4"})
      .second(line(after, "l2", "SHIP"), 5)
      .expect({"+U l2' SHIP@5"})
      .second(line(insert, "l1", "TRUCK"), 6)
      .expect({"+I l1 TRUCK@6"})
      .second(line(removed, "l2", "SHIP"), 7)
      .expect({"-D l2' SHIP@7"})
      .second(line(insert, "l2", "RAIL"), 8)
      .expect({"+I l2' RAIL@8"})
      .run();
}

TEST(ChangelogJoin, a_left_join_takes_the_row_without_partner_back_and_brings_it_again) {
  HarnessScript<Harness> script(left);
  script.first(order(insert, "l1"), 1)
      .expect({"+I l1 null@1"})
      .first(order(insert, "l2"), 2)
      .expect({"+I l2 null@2"})
      .second(line(insert, "l2", "AIR"), 3)
      .expect({"+I l2 AIR@3", "-D l2 null@3"})
      .second(line(insert, "l2", "SHIP"), 4)
      .expect({"+I l2 SHIP@4"})
      .second(line(removed, "l2", "AIR"), 5)
      .expect({"-D l2 AIR@5"})
      .second(line(removed, "l2", "SHIP"), 6)
      .expect({"+I l2 null@6", "-D l2 SHIP@6"})
      .first(order(removed, "l2"), 7)
      .expect({"-D l2 null@7"})
      .run();
}

TEST(ChangelogJoin, what_takes_a_row_back_comes_before_what_replaces_it) {
  Harness harness(left);
  harness.first().push(order(insert, "l2"));
  harness.second().push(line(insert, "l2", "AIR"));
  harness.second().push(line(removed, "l2", "AIR"));
  EXPECT_THAT(
      harness.take_values(),
      ElementsAre(Joined{insert, "l2 null"}, Joined{removed, "l2 null"}, Joined{insert, "l2 AIR"},
                  Joined{removed, "l2 AIR"}, Joined{insert, "l2 null"}));
}

TEST(ChangelogJoin, a_right_join_is_a_left_join_of_the_other_side) {
  HarnessScript<Harness> script(right);
  script.second(line(insert, "l1", "AIR"), 1)
      .expect({"+I null AIR@1"})
      .first(order(insert, "l1"), 2)
      .expect({"+I l1 AIR@2", "-D null AIR@2"})
      .first(order(insert, "l2"), 3)
      .expect({})
      .first(order(removed, "l1"), 4)
      .expect({"+I null AIR@4", "-D l1 AIR@4"})
      .run();
}

TEST(ChangelogJoin, a_full_join_has_rows_of_both_sides_without_partner) {
  HarnessScript<Harness> script(full);
  script.first(order(insert, "l1"), 1)
      .second(line(insert, "l2", "AIR"), 2)
      .expect({"+I l1 null@1", "+I null AIR@2"})
      .second(line(insert, "l1", "SHIP"), 3)
      .expect({"+I l1 SHIP@3", "-D l1 null@3"})
      .first(order(insert, "l2"), 4)
      .expect({"+I l2 AIR@4", "-D null AIR@4"})
      .first(order(removed, "l1"), 5)
      .expect({"+I null SHIP@5", "-D l1 SHIP@5"})
      .run();
}

TEST(ChangelogJoin, a_semi_join_has_a_left_row_from_its_first_partner_to_its_last) {
  HarnessScript<SemiHarness> script(semi);
  script.first(order(insert, "l1"), 1)
      .first(order(insert, "l2"), 2)
      .expect({})
      .second(line(insert, "l2", "AIR"), 3)
      .expect({"+I l2@3"})
      .second(line(after, "l2", "SHIP"), 4)
      .expect({})
      .second(line(removed, "l2", "AIR"), 5)
      .expect({})
      .second(line(removed, "l2", "SHIP"), 6)
      .expect({"-D l2@6"})
      .run();
}

TEST(ChangelogJoin, an_anti_join_has_a_left_row_as_long_as_it_has_no_partner) {
  HarnessScript<SemiHarness> script(anti);
  script.first(order(insert, "l1"), 1)
      .first(order(insert, "l2"), 2)
      .expect({"+I l1@1", "+I l2@2"})
      .second(line(insert, "l2", "AIR"), 3)
      .expect({"-D l2@3"})
      .second(line(insert, "l1", "AIR"), 4)
      .expect({"-D l1@4"})
      .first(order(after, "l1"), 5)
      .expect({})
      .second(line(removed, "l1", "AIR"), 6)
      .expect({"+I l1@6", "+I l1@6"})
      .run();
}

TEST(ChangelogJoin, equal_rows_are_as_many_as_were_added) {
  HarnessScript<Harness> script(left);
  script.first(order(insert, "l"), 1)
      .first(order(insert, "l"), 2)
      .expect({"+I l null@1", "+I l null@2"})
      .second(line(insert, "l", "AIR"), 3)
      .second(line(insert, "l", "AIR"), 4)
      .expect(
          {"+I l AIR@3", "+I l AIR@3", "+I l AIR@4", "+I l AIR@4", "-D l null@3", "-D l null@3"})
      .first(order(removed, "l"), 5)
      .expect({"-D l AIR@5", "-D l AIR@5"})
      .second(line(removed, "l", "AIR"), 6)
      .expect({"-D l AIR@6"})
      .second(line(removed, "l", "AIR"), 7)
      .expect({"+I l null@7", "-D l AIR@7"})
      .run();
}

TEST(ChangelogJoin, an_update_of_two_records_takes_the_row_of_before_back) {
  HarnessScript<Harness> script(inner);
  script.first(order(insert, "l"), 1)
      .second(line(insert, "l", "AIR"), 2)
      .expect({"+I l AIR@2"})
      .second(line(before, "l", "AIR"), 3)
      .expect({"-U l AIR@3"})
      .second(line(after, "l", "SHIP"), 3)
      .expect({"+U l SHIP@3"})
      .run();
}

TEST(ChangelogJoin, a_row_with_an_id_is_taken_back_as_it_was_added) {
  Harness harness([](Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
    return orders_of(orders)
        .unique_by(&Order::order)
        .join(lines_of(lines))
        .process("join", pair_of)
        .changes();
  });
  harness.second().push(line(insert, "l", "AIR"));
  harness.first().push({insert, {"o1", "l", "'"}});
  harness.first().push({insert, {"o2", "l", "''"}});
  harness.first().push({after, {"o1", "l", "'''"}});
  harness.first().push({removed, {"o1", "l", "whatever"}});
  EXPECT_THAT(harness.take_values(),
              ElementsAre(Joined{insert, "l' AIR"}, Joined{insert, "l'' AIR"},
                          Joined{after, "l''' AIR"}, Joined{removed, "l''' AIR"}));
}

TEST(ChangelogJoin, taking_back_what_is_not_there_is_counted_and_changes_nothing) {
  Harness harness(left);
  harness.first().push(order(insert, "l"));
  harness.second().push(line(removed, "l", "AIR"));
  harness.first().push(order(removed, "l", "'"));
  harness.first().push(order(before, "m"));
  EXPECT_THAT(harness.take_values(), ElementsAre(Joined{insert, "l null"}));
  EXPECT_EQ(harness.counter("unknown rows taken back"), 3);
}

TEST(ChangelogJoin, keeps_rows_until_they_are_taken_back) {
  Harness harness(inner);
  harness.first().push(order(insert, "l"));
  harness.second().push(line(insert, "l", "AIR"));
  harness.second().push(line(insert, "l", "AIR"));
  harness.watermark(EventTime{1'000'000'000});
  harness.first().push(order(removed, "l"));
  harness.second().push(line(removed, "l", "AIR"));
  EXPECT_GT(bytes_kept(harness.snapshot()), 0U);
  harness.second().push(line(removed, "l", "AIR"));
  EXPECT_EQ(bytes_kept(harness.snapshot()), 0U);
}

// Forgotten is not taken back: what has been put out stays.
TEST(ChangelogJoin, a_time_to_live_forgets_rows_of_its_side) {
  const auto describe = [](Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
    return orders_of(orders)
        .left_join(lines_of(lines).state_ttl(1h))
        .process("join", with_or_without)
        .changes();
  };
  HarnessScript<Harness> script(describe);
  script.second(line(insert, "l", "AIR"), 1)
      .first(order(insert, "l"), 2)
      .expect({"+I l AIR@2"})
      .processing_time(1'800'000)
      .second(line(insert, "l", "SHIP"), 3)
      .expect({"+I l SHIP@3"})
      .processing_time(3'600'000)
      .first(order(insert, "l", "'"), 4)
      .expect({"+I l' SHIP@4"})
      .processing_time(5'400'000)
      .first(order(insert, "l", "''"), 5)
      .expect({"+I l'' null@5"})
      .second(line(insert, "l", "RAIL"), 6)
      .expect({"+I l RAIL@6", "+I l' RAIL@6", "+I l'' RAIL@6", "-D l'' null@6"})
      .run();
}

TEST(ChangelogJoin, a_record_with_many_partners_gives_them_all_in_batches) {
  constexpr int partners = 30'000;
  Harness harness(left);
  for (int n = 0; n < partners; ++n) harness.first().push(order(insert, "l", std::to_string(n)));
  EXPECT_EQ(harness.take_values().size(), partners);
  harness.second().push(line(insert, "l", "AIR"));
  harness.second().push(line(removed, "l", "AIR"));
  ASSERT_TRUE(harness.status());
  std::map<std::string, int> rows;
  for (const Joined& change : harness.take_values())
    rows[change.row] += adds_row(change.kind) ? 1 : -1;
  std::erase_if(rows, [](const auto& row) { return row.second == 0; });
  EXPECT_THAT(rows, IsEmpty());
}

TEST(ChangelogJoin, a_time_to_live_of_nothing_is_a_mistake_of_the_plan) {
  const Harness harness([](Stream<Change<Order>> orders, Stream<Change<Line>> lines) {
    return orders_of(orders)
        .join(lines_of(lines).state_ttl(0ms))
        .process("join", pair_of)
        .changes();
  });
  ASSERT_FALSE(harness.status());
  EXPECT_THAT(harness.status().error().message,
              HasSubstr("a state_ttl of 0 ms: it must be above 0"));
}

// --- Against a join of the tables that the changelogs describe.

struct Row {
  std::uint32_t key = 0;
  std::uint32_t id = 0;
  std::uint32_t value = 0;
  friend auto operator<=>(const Row&, const Row&) = default;
};
struct Both {
  std::optional<Row> left;
  std::optional<Row> right;
  friend auto operator<=>(const Both&, const Both&) = default;
};
using RowHarness = TwoInputHarness<Change<Row>, Change<Row>, Change<Both>>;
using Table = std::map<Row, int>;
using BothTable = std::map<Both, int>;

std::optional<Row> row_or_none(const Row* row) {
  return row == nullptr ? std::nullopt : std::optional(*row);
}

template <class Left, class Right>
Stream<Change<Both>> joined(JoinType type, const Left& left, const Right& right) {
  const auto alone = [](const ChangelogStream<Row>& rows) {
    return rows.changes().map([](const Change<Row>& change) {
      return Change<Both>{change.kind, {change.row, {}}};
    });
  };
  switch (type) {
    case JoinType::inner:
      return left.join(right)
          .process("join",
                   [](const Row& l, const Row& r) {
                     return Both{l, r};
                   })
          .changes();
    case JoinType::left:
      return left.left_join(right)
          .process("join",
                   [](const Row& l, const Row* r) {
                     return Both{l, row_or_none(r)};
                   })
          .changes();
    case JoinType::right:
      return left.right_join(right)
          .process("join",
                   [](const Row* l, const Row& r) {
                     return Both{row_or_none(l), r};
                   })
          .changes();
    case JoinType::full:
      return left.full_join(right)
          .process("join",
                   [](const Row* l, const Row* r) {
                     return Both{row_or_none(l), row_or_none(r)};
                   })
          .changes();
    case JoinType::semi:
      return alone(left.semi_join("join", right));
    default:
      return alone(left.anti_join("join", right));
  }
}

BothTable join_of(JoinType type, const Table& left, const Table& right) {
  const auto has_key = [](const Table& table, std::uint32_t key) {
    return std::ranges::any_of(table, [key](const auto& row) { return row.first.key == key; });
  };
  const bool pairs = type != JoinType::semi && type != JoinType::anti;
  BothTable both;
  for (const auto& [l, l_count] : left) {
    const bool matched = has_key(right, l.key);
    for (const auto& [r, r_count] : right) {
      if (pairs && l.key == r.key) both[{l, r}] = l_count * r_count;
    }
    if (type == JoinType::semi ? matched
                               : !matched && type != JoinType::inner && type != JoinType::right)
      both[{l, {}}] = l_count;
  }
  for (const auto& [r, r_count] : right) {
    if ((type == JoinType::right || type == JoinType::full) && !has_key(left, r.key))
      both[{{}, r}] = r_count;
  }
  return both;
}

template <class T>
void apply_to(std::map<T, int>& table, const Change<T>& change) {
  if ((table[change.row] += adds_row(change.kind) ? 1 : -1) == 0) table.erase(change.row);
}

constexpr JoinType all_types[] = {JoinType::inner, JoinType::left, JoinType::right,
                                  JoinType::full,  JoinType::semi, JoinType::anti};

// Rows of few values, so that many are equal. Those that are taken back are there.
Change<Row> random_change(Random& random, const Table& table) {
  if (!table.empty() && random.below(5) < 2) {
    const auto at = static_cast<std::ptrdiff_t>(random.below(table.size()));
    return {random.below(2) == 0 ? before : removed, std::next(table.begin(), at)->first};
  }
  const auto number = [&](std::uint64_t below) {
    return static_cast<std::uint32_t>(random.below(below));
  };
  return {random.below(2) == 0 ? insert : after, {number(3), number(3), number(2)}};
}

TEST(ChangelogJoin, applied_to_a_table_its_changes_give_the_join_of_both_tables) {
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    const JoinType type = all_types[seed % std::size(all_types)];
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto describe = [type](Stream<Change<Row>> left, Stream<Change<Row>> right) {
      return joined(type, left.changelog(std::identity{}).key_by(&Row::key),
                    right.changelog(std::identity{}).key_by(&Row::key));
    };
    auto harness = std::make_unique<RowHarness>(describe);
    Table left;
    Table right;
    BothTable result;
    for (int step = 0; step < 50; ++step) {
      if (random.below(10) == 0) {
        harness =
            std::make_unique<RowHarness>(describe, HarnessOptions{.restored = harness->snapshot()});
      }
      const bool is_left = random.below(2) == 0;
      Table& table = is_left ? left : right;
      std::vector<Record<Change<Row>>> batch;
      for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
        batch.push_back({random_change(random, table)});
        apply_to(table, batch.back().value);
      }
      (is_left ? harness->first() : harness->second()).push_batch(std::move(batch));
      for (const Change<Both>& change : harness->take_values()) apply_to(result, change);
      ASSERT_TRUE(harness->status());
      ASSERT_EQ(result, join_of(type, left, right)) << "step " << step;
      ASSERT_EQ(harness->counter("unknown rows taken back"), 0);
    }
  }
}

// A table by id: what is added replaces.
void put(std::map<std::pair<std::uint32_t, std::uint32_t>, Row>& table, const Change<Row>& change) {
  const auto id = std::pair(change.row.key, change.row.id);
  if (adds_row(change.kind)) {
    table[id] = change.row;
  } else {
    table.erase(id);
  }
}

TEST(ChangelogJoin, with_ids_its_changes_put_into_a_table_by_id_give_the_join_of_both_tables) {
  using ById = std::map<std::pair<std::uint32_t, std::uint32_t>, Row>;
  const auto id_of = [](const std::optional<Row>& row) {
    return row ? std::optional(std::pair(row->key, row->id)) : std::nullopt;
  };
  const auto table_of = [](const ById& by_id) {
    Table table;
    for (const auto& [id, row] : by_id) table[row] = 1;
    return table;
  };
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    const JoinType type = all_types[seed % std::size(all_types)];
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto describe = [type](Stream<Change<Row>> left, Stream<Change<Row>> right) {
      return joined(type, left.changelog(std::identity{}).key_by(&Row::key).unique_by(&Row::id),
                    right.changelog(std::identity{}).key_by(&Row::key).unique_by(&Row::id));
    };
    auto harness = std::make_unique<RowHarness>(describe);
    ById left;
    ById right;
    std::map<std::pair<decltype(id_of({})), decltype(id_of({}))>, Both> result;
    for (int step = 0; step < 50; ++step) {
      if (random.below(10) == 0) {
        harness =
            std::make_unique<RowHarness>(describe, HarnessOptions{.restored = harness->snapshot()});
      }
      const bool is_left = random.below(2) == 0;
      ById& table = is_left ? left : right;
      const Change<Row> change = random_change(random, table_of(table));
      put(table, change);
      (is_left ? harness->first() : harness->second()).push(change);
      for (const Change<Both>& out : harness->take_values()) {
        const auto id = std::pair(id_of(out.row.left), id_of(out.row.right));
        if (adds_row(out.kind)) {
          result[id] = out.row;
        } else {
          ASSERT_EQ(result.erase(id), 1U) << "step " << step;
        }
      }
      BothTable rows;
      for (const auto& [id, row] : result) rows[row] = 1;
      ASSERT_TRUE(harness->status());
      ASSERT_EQ(rows, join_of(type, table_of(left), table_of(right))) << "step " << step;
    }
  }
}

}  // namespace
}  // namespace weir
