#include "state/ttl.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "state/aggregating_state.h"
#include "state/list_state.h"
#include "state/map_state.h"
#include "state/reducing_state.h"
#include "state/value_state.h"
#include "tests/state/bound_states.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

using Value = ValueState<int>;
using List = ListState<int>;
using Map = MapState<std::string, int>;
using Values = std::vector<int>;

constexpr StateTtl on_write = ttl(100ms);
constexpr StateTtl on_read = ttl(100ms, TtlUpdate::on_read_and_write);
constexpr StateTtl seen_once =
    ttl(100ms, TtlUpdate::on_create_and_write, TtlVisibility::return_expired_if_not_cleaned_up);

std::size_t entries_written(const RestoredState& snapshot) {
  return snapshot.keyed.at(0).groups.size();
}

// What is written and must be read of a value, at which times; as it is, and with a restore before every step.
class ValueScript {
 public:
  explicit ValueScript(StateTtl ttl) : ttl_(ttl) {}
  ValueScript& set(std::int64_t at, int value) { return add({at, value, {}}); }
  ValueScript& expect(std::int64_t at, std::optional<int> value) { return add({at, {}, value}); }
  void run() const {
    for (std::size_t restored = 0; restored <= steps_.size(); ++restored) {
      SCOPED_TRACE(testing::Message() << "restored before step " << restored);
      auto bound = std::make_unique<BoundState<Value>>(ttl_);
      for (std::size_t i = 0; i < steps_.size(); ++i) {
        const auto& [at, written, read] = steps_[i];
        if (i == restored) bound = std::make_unique<BoundState<Value>>(ttl_, bound->snapshot());
        if (written) {
          bound->at(at).set(*written);
        } else {
          const int* value = bound->at(at).get();
          EXPECT_EQ(value == nullptr ? std::nullopt : std::optional(*value), read) << "at " << at;
        }
      }
    }
  }

 private:
  struct Step {
    std::int64_t at = 0;
    std::optional<int> written;
    std::optional<int> read;
  };
  ValueScript& add(Step step) {
    steps_.push_back(step);
    return *this;
  }

  StateTtl ttl_;
  std::vector<Step> steps_;
};

TEST(Ttl, a_value_lives_from_its_last_write) {
  ValueScript(on_write)
      .set(0, 1)
      .expect(20, 1)
      .set(50, 2)
      .expect(120, 2)
      .set(170, 3)
      .expect(220, 3)
      .expect(300, std::nullopt)
      .run();
}

TEST(Ttl, a_value_that_was_found_expired_is_gone) {
  BoundState<Value> bound{on_write};
  bound.at(170).set(3);
  EXPECT_EQ(bound.at(300).get(), nullptr);
  bound.at(220);
  EXPECT_EQ(entries_written(bound.snapshot()), 0U) << "it was only hidden";
  EXPECT_EQ(bound.at(220).get(), nullptr);
}

TEST(Ttl, an_expired_value_can_be_seen_once_if_that_is_asked_for) {
  ValueScript(seen_once).set(0, 1).expect(120, 1).expect(120, std::nullopt).run();
}

TEST(Ttl, a_value_lives_from_its_last_read_if_that_is_asked_for) {
  ValueScript(on_read).set(0, 1).expect(50, 1).expect(120, 1).expect(250, std::nullopt).run();
}

TEST(Ttl, the_longest_never_ends) {
  const StateTtl longest = ttl(Duration::max());
  ValueScript(longest).set(10, 1).expect(8'000'000'000'000, 1).run();
  EXPECT_FALSE(longest.has_expired(1, ProcessingTime::max()));
  EXPECT_FALSE(longest.has_expired(ProcessingTime::max().ms, ProcessingTime{0}));
}

TEST(Ttl, an_entry_expires_in_the_millisecond_that_its_time_is_over) {
  BoundState<Value> bound{on_write};
  bound.at(7).set(1);
  EXPECT_EQ(bound.at(106).value_or(-1), 1);
  EXPECT_EQ(bound.at(107).get(), nullptr);
}

TEST(Ttl, update_of_an_expired_value_begins_anew) {
  BoundState<Value> bound{on_write};
  bound.at(0).update() = 5;
  EXPECT_EQ(++bound.at(99).update(), 6);
  EXPECT_EQ(++bound.at(199).update(), 1);
}

TEST(Ttl, reading_removes_what_has_expired) {
  BoundState<Value> bound{on_write};
  bound.at(0, "a").set(1);
  bound.at(0, "b").set(1);
  EXPECT_EQ(bound.at(300, "a").get(), nullptr);
  bound.at(300, "a").set(2);
  BoundState<Value> restored{on_write, bound.snapshot()};
  EXPECT_EQ(restored.at(300, "a").value_or(-1), 2);
  EXPECT_EQ(restored.at(300, "b").get(), nullptr);
}

TEST(Ttl, a_snapshot_leaves_out_what_has_expired) {
  BoundState<Value> value{on_write};
  value.at(0).set(1);
  EXPECT_EQ(entries_written(value.snapshot()), 1U);
  value.at(100);
  EXPECT_EQ(entries_written(value.snapshot()), 0U);
  BoundState<List> list{on_write};
  list.at(0).add(1);
  list.at(60).add(2);
  list.at(120);
  BoundState<List> restored{on_write, list.snapshot()};
  EXPECT_EQ(restored.at(120).get(), (Values{2}));
}

TEST(Ttl, writing_sweeps_the_expired_entries_of_other_keys) {
  BoundState<Value> bound{seen_once};
  for (int i = 0; i < 100; ++i) bound.at(0, std::to_string(i)).set(i);
  for (int i = 0; i < 200; ++i) bound.at(200, "busy").set(i);
  // Nothing of an expired key is left to be seen.
  for (int i = 0; i < 100; ++i) EXPECT_EQ(bound.at(200, std::to_string(i)).get(), nullptr);
}

TEST(Ttl, is_restored_with_the_time_of_the_last_write) {
  BoundState<Value> bound{on_write};
  bound.at(50).set(1);
  BoundState<Value> restored{on_write, bound.snapshot()};
  EXPECT_EQ(restored.at(149).value_or(-1), 1);
  EXPECT_EQ(restored.at(150).get(), nullptr);
}

TEST(Ttl, items_of_a_list_expire_one_by_one) {
  BoundState<List> bound{on_write};
  bound.at(0).add(1);
  bound.at(50).add_all({2, 3});
  EXPECT_EQ(bound.at(99).get(), (Values{1, 2, 3}));
  EXPECT_EQ(bound.at(100).get(), (Values{2, 3}));
  bound.at(120).add(4);
  EXPECT_EQ(bound.at(150).get(), (Values{4}));
  EXPECT_TRUE(bound.at(220).get().empty());
}

TEST(Ttl, reading_a_list_keeps_its_items_if_that_is_asked_for) {
  BoundState<List> bound{on_read};
  bound.at(0).add(1);
  EXPECT_EQ(bound.at(90).get(), (Values{1}));
  EXPECT_EQ(bound.at(180).get(), (Values{1}));
  EXPECT_TRUE(bound.at(280).get().empty());
}

TEST(Ttl, entries_of_a_map_expire_one_by_one) {
  BoundState<Map> bound{on_write};
  bound.at(0).put("x", 1);
  bound.at(50).put("y", 2);
  EXPECT_EQ(bound.at(99).entries().size(), 2U);
  EXPECT_FALSE(bound.at(100).contains("x"));
  EXPECT_TRUE(bound.at(100).contains("y"));
  bound.at(120).put("y", 3);
  EXPECT_EQ(*bound.at(200).get("y"), 3);
  EXPECT_TRUE(bound.at(220).is_empty());
}

TEST(Ttl, reading_an_entry_of_a_map_keeps_that_alone_if_that_is_asked_for) {
  BoundState<Map> bound{on_read};
  bound.at(0).put("x", 1);
  bound.at(0).put("y", 2);
  EXPECT_NE(bound.at(60).get("x"), nullptr);
  EXPECT_TRUE(bound.at(120).contains("x"));
  EXPECT_FALSE(bound.at(120).contains("y"));
  bound.at(130).remove("x");
  EXPECT_TRUE(bound.at(130).is_empty());
}

TEST(Ttl, an_expired_entry_of_a_map_can_be_seen_once_and_takes_no_other_with_it) {
  BoundState<Map> bound{seen_once};
  bound.at(0).put("x", 1);
  bound.at(0).put("y", 2);
  EXPECT_EQ(*bound.at(120).get("x"), 1);
  EXPECT_EQ(bound.at(120).get("x"), nullptr);
  const int* other = bound.at(120).get("y");
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(*other, 2);
  EXPECT_TRUE(bound.at(120).is_empty());
}

TEST(Ttl, what_has_expired_of_a_list_that_is_added_to_is_not_read) {
  BoundState<List> bound{on_write};
  bound.at(0).add(1);
  bound.at(120).add(2);
  EXPECT_EQ(bound.at(120).get(), (Values{2}));
}

// Within the time that a test has, if each call looks at one entry, and not at all of the key.
TEST(Ttl, a_key_with_many_entries_is_as_fast_as_one_with_few) {
  constexpr int entries = 200'000;
  BoundState<MapState<int, int>> map{on_read};
  BoundState<List> list{on_write};
  for (int i = 0; i < entries; ++i) {
    map.at(i / 5000).put(i, i);
    list.at(i / 5000).add(i);
    ASSERT_EQ(*map.at(i / 5000).get(i / 2), i / 2);
    ASSERT_FALSE(map.at(i / 5000).is_empty());
  }
  EXPECT_EQ(list.at(entries / 5000).get().size(), static_cast<std::size_t>(entries));
}

TEST(Ttl, folded_values_begin_anew_when_they_have_expired) {
  struct Total {
    using Accumulator = int;
    void add(int& sum, int value) const { sum += value; }
    [[nodiscard]] int result(int sum) const { return sum; }
  };
  BoundState<ReducingState<int, std::plus<>>> reduced{on_write};
  BoundState<AggregatingState<Total>> aggregated{on_write};
  for (const std::int64_t time : {0, 90, 180}) {
    reduced.at(time).add(1);
    aggregated.at(time).add(1);
  }
  EXPECT_EQ(*reduced.at(279).get(), 3);
  EXPECT_EQ(aggregated.at(279).get(), 3);
  reduced.at(280).add(5);
  aggregated.at(280).add(5);
  EXPECT_EQ(*reduced.at(280).get(), 5);
  EXPECT_EQ(aggregated.at(280).get(), 5);
}

TEST(Ttl, turned_on_or_off_makes_another_type_of_the_state) {
  BoundState<Value> without;
  without.of("a").set(1);
  const BoundState<Value> with{on_write, without.snapshot()};
  ASSERT_FALSE(with.bound());
  EXPECT_EQ(with.bound().error().code, Errc::state_mismatch);
}

}  // namespace
}  // namespace weir
