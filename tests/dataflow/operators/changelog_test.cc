#include "dataflow/operators/changelog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/hash.h"
#include "base/row_text.h"
#include "dataflow/harness.h"

namespace weir {
namespace {

using testing::ElementsAre;

struct Seat {
  std::string name;
  int row = 0;
  friend bool operator==(const Seat&, const Seat&) = default;
};
using Changes = std::vector<Change<Seat>>;

std::vector<std::string> sorted_texts(const Changes& changes) {
  std::vector<std::string> texts;
  for (const Change<Seat>& change : changes) append_text(texts.emplace_back(), change);
  std::ranges::sort(texts);
  return texts;
}

TEST(Changelog, has_the_kind_that_the_function_says_and_the_time_of_the_record) {
  StreamHarness<Seat, Change<Seat>> harness([](Stream<Seat> in) {
    return in
        .changelog(
            [](const Seat& seat) { return seat.row < 0 ? RowKind::remove : RowKind::insert; })
        .changes();
  });
  harness.push_batch({{{"a", 1}, EventTime{10}}, {{"a", -1}, EventTime{11}}, {{"b", 2}}});
  std::vector<Record<Change<Seat>>> records;
  for (const auto& output : harness.take_outputs())
    records.push_back(std::get<Record<Change<Seat>>>(output));
  EXPECT_THAT(records, ElementsAre(Record<Change<Seat>>{{RowKind::insert, {"a", 1}}, {10}},
                                   Record<Change<Seat>>{{RowKind::remove, {"a", -1}}, {11}},
                                   Record<Change<Seat>>{{RowKind::insert, {"b", 2}}}));
}

// As a batch that goes on as it is, divided by key, and with another stream's.
TEST(Changelog, keeps_kinds_on_its_way_through_exchanges_unions_and_shared_batches) {
  for (const std::uint32_t parallelism : {1U, 3U}) {
    const auto describe = [parallelism](Stream<Change<Seat>> a, Stream<Change<Seat>> b) {
      const auto log = a.changelog(std::identity{});
      return log.union_with(b.changelog(std::identity{}))
          .key_by(&Seat::name)
          .semi_join("all", log.key_by(&Seat::name))
          .parallelism(parallelism)
          .changes();
    };
    for (const bool chaining : {true, false}) {
      TwoInputHarness<Change<Seat>, Change<Seat>, Change<Seat>> harness(describe,
                                                                        {.chaining = chaining});
      std::vector<Record<Change<Seat>>> added;
      std::vector<Record<Change<Seat>>> updated;
      for (int row = 0; row < 2'000; ++row) {
        const Seat seat{"s" + std::to_string(row % 50), row};
        added.push_back({{RowKind::insert, seat}});
        updated.push_back({{RowKind::update_before, seat}});
        updated.push_back({{RowKind::update_after, {seat.name, row + 1'000'000}}});
      }
      harness.first().push_batch(added);
      (void)harness.take_values();
      harness.second().push_batch(added);
      harness.second().push_batch(updated);
      Changes expected;
      for (const auto& [change, time] : added) expected.push_back(change);
      for (const auto& [change, time] : updated) expected.push_back(change);
      EXPECT_EQ(sorted_texts(harness.take_values()), sorted_texts(expected));
    }
  }
}

TEST(Changelog, changes_lead_back_to_it) {
  StreamHarness<Change<Seat>, Change<Seat>> harness([](Stream<Change<Seat>> in) {
    return in.changelog(std::identity{}).changes().changelog(std::identity{}).changes();
  });
  const Changes all{{RowKind::insert, {"a", 1}},
                    {RowKind::update_before, {"a", 1}},
                    {RowKind::update_after, {"a", 2}},
                    {RowKind::remove, {"a", 2}}};
  for (const Change<Seat>& change : all) harness.push(change);
  EXPECT_EQ(harness.take_values(), all);
}

TEST(Change, is_written_with_the_sign_of_its_kind) {
  const Change<Seat> change{RowKind::update_before, {"a", 1}};
  std::string csv;
  std::string json;
  std::string text;
  append_csv(csv, change);
  append_json(json, change);
  append_text(text, change);
  EXPECT_EQ(csv_header<Change<Seat>>(), "kind,row.name,row.row");
  EXPECT_EQ(csv, "-U,a,1");
  EXPECT_EQ(json, R"({"kind":"-U","row":{"name":"a","row":1}})");
  EXPECT_EQ(text, "kind=-U row={name=a row=1}");
  std::string kinds;
  for (const RowKind kind : {RowKind::insert, RowKind::update_after, RowKind::remove})
    append_csv(kinds, kind);
  EXPECT_EQ(kinds, "+I+U-D");
}

TEST(Change, is_a_value_like_others) {
  const Change<Seat> change{RowKind::remove, {"a", 1}};
  EXPECT_EQ(*from_bytes<Change<Seat>>(to_bytes(change)), change);
  EXPECT_NE(hash_of(change), hash_of(Change<Seat>{RowKind::insert, {"a", 1}}));
  static_assert(has_heap<Change<Seat>>);
}

}  // namespace
}  // namespace weir
