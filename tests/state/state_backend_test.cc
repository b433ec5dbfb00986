#include "state/state_backend.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/random.h"
#include "state/broadcast_state.h"
#include "state/list_state.h"
#include "state/operator_list_state.h"
#include "state/value_state.h"
#include "tests/state/bound_states.h"

namespace weir {
namespace {

using Counts = KeyedTable<std::string, int>;

RestoredState snapshot(StateBackend& backend) {
  return write_to_memory(backend.freeze());
}

// With one state "count", and one entry.
RestoredState a_snapshot() {
  StateBackend backend(all_groups);
  const std::string key = "k";
  (*backend.keyed<std::string, int>("count", StateKind::value))->find_or_insert(hash_of(key), key) =
      7;
  return snapshot(backend);
}

TEST(StateBackend, what_is_registered_comes_with_what_is_restored) {
  StateBackend backend(all_groups, a_snapshot());
  const auto counts = backend.keyed<std::string, int>("count", StateKind::value);
  ASSERT_TRUE(counts);
  const std::string key = "k";
  EXPECT_EQ((*counts)->find_or_insert(hash_of(key), key), 7);
  EXPECT_TRUE(backend.check_all_claimed());
}

TEST(StateBackend, a_state_of_another_type_is_refused_with_what_it_was) {
  StateBackend backend(all_groups, a_snapshot(), "alerts");
  const auto counts = backend.keyed<std::string, double>("count", StateKind::value);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error(),
            (Error{Errc::state_mismatch,
                   "the state 'count' of 'alerts' is a value per key of key string, value float64, "
                   "but what is restored is a value per key of key string, value int32: keep its "
                   "type, or give the new state another name"}));
}

TEST(StateBackend, a_state_of_another_kind_is_refused) {
  StateBackend keyed(all_groups, a_snapshot());
  EXPECT_EQ((keyed.keyed<std::string, int>("count", StateKind::reducing)).error().code,
            Errc::state_mismatch);
  StateBackend listed(all_groups, a_snapshot());
  EXPECT_EQ(listed.list<int>("count", StateKind::split_list).error().code, Errc::state_mismatch);
}

TEST(StateBackend, a_name_is_registered_once) {
  StateBackend backend(all_groups);
  ASSERT_TRUE((backend.keyed<std::string, int>("count", StateKind::value)));
  const auto again = backend.list<int>("count", StateKind::split_list);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::user_code);
}

TEST(StateBackend, what_is_restored_and_not_registered_is_named) {
  StateBackend backend(all_groups, a_snapshot(), "alerts");
  EXPECT_EQ(backend.unclaimed(), (std::vector<std::string>{"count"}));
  const auto checked = backend.check_all_claimed();
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error(),
            (Error{Errc::state_mismatch,
                   "what is restored has state that 'alerts' no longer declares: 'count': declare "
                   "it again, under the same name"}));
}

TEST(StateBackend, damaged_bytes_are_refused_with_the_name_of_the_state) {
  RestoredState damaged = a_snapshot();
  damaged.keyed.at(0).groups.at(0).second.pop_back();
  StateBackend backend(all_groups, std::move(damaged), "alerts");
  const auto counts = backend.keyed<std::string, int>("count", StateKind::value);
  ASSERT_FALSE(counts);
  EXPECT_EQ(counts.error().code, Errc::corrupt_data);
  EXPECT_NE(counts.error().message.find("'count' of 'alerts'"), std::string::npos);
}

TEST(StateBackend, a_key_in_the_wrong_group_is_damage) {
  RestoredState damaged = a_snapshot();
  KeyGroup& group = damaged.keyed.at(0).groups.at(0).first;
  group.value = (group.value + 1) % 128;
  StateBackend backend(all_groups, std::move(damaged));
  EXPECT_EQ((backend.keyed<std::string, int>("count", StateKind::value)).error().code,
            Errc::corrupt_data);
}

TEST(StateBackend, windows_are_restored_each_with_its_keys) {
  using Spaces = NamespacedTables<std::int64_t, std::string, int>;
  const auto put = [](Spaces& tables, std::int64_t space, const std::string& key, int value) {
    tables.table_of(space).find_or_insert(hash_of(key), key) = value;
  };
  StateBackend backend(all_groups);
  auto tables = *backend.windows<std::int64_t, std::string, int>("windows");
  put(*tables, 20, "a", 1);
  put(*tables, 10, "a", 2);
  put(*tables, 10, "b", 3);
  put(*tables, 5, "gone", 4);
  tables->drop_first();
  FrozenState frozen = backend.freeze();
  tables->drop_first();  // while it is frozen
  put(*tables, 20, "late", 5);
  StateBackend again(all_groups, write_to_memory(std::move(frozen)));
  auto restored = *again.windows<std::int64_t, std::string, int>("windows");
  std::vector<std::tuple<std::int64_t, std::string, int>> entries;
  for (; !restored->empty(); restored->drop_first()) {
    std::map<std::string, int> sorted;
    TableCursor cursor;
    (void)restored->first_table().walk(cursor, [&](const std::string& key, int value) {
      return sorted.emplace(key, value).second;
    });
    for (const auto& [key, value] : sorted) entries.emplace_back(restored->first(), key, value);
  }
  EXPECT_EQ(entries, (std::vector<std::tuple<std::int64_t, std::string, int>>{
                         {10, "a", 2}, {10, "b", 3}, {20, "a", 1}}));
}

TEST(StateBackend, timers_are_restored_by_the_names_of_their_members) {
  StateBackend backend(all_groups);
  auto timers = *backend.timers<std::string>(StateKind::event_timers, {"first", "second"});
  timers->add({20, {0}, "a"});
  timers->add({10, {1}, "a"});
  timers->add({10, {0}, "a"});
  timers->add({30, {0}, "deleted"});
  timers->remove({30, {0}, "deleted"});
  const RestoredState written = snapshot(backend);

  StateBackend again(all_groups, written);
  auto restored = *again.timers<std::string>(StateKind::event_timers, {"new", "second", "first"});
  EXPECT_EQ(restored->size(), 3U);
  EXPECT_FALSE(restored->add({10, {2}, "a"}));  // it is there already
  EXPECT_EQ(restored->next_time_ms(), 10);
  std::vector<std::pair<std::int64_t, std::uint32_t>> fired;
  while (const auto entry = restored->pop_due(100))
    fired.emplace_back(entry->time_ms, entry->timer.value);
  std::sort(fired.begin(), fired.end());
  EXPECT_EQ(fired,
            (std::vector<std::pair<std::int64_t, std::uint32_t>>{{10, 1}, {10, 2}, {20, 2}}));

  StateBackend without(all_groups, written, "alerts");
  const auto refused = without.timers<std::string>(StateKind::event_timers, {"second"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::state_mismatch);
  EXPECT_NE(refused.error().message.find("'first'"), std::string::npos);
}

TEST(StateBackend, frozen_state_outlives_the_backend) {
  auto backend = std::make_unique<StateBackend>(all_groups);
  const std::string key = "k";
  (*backend->keyed<std::string, int>("count", StateKind::value))
      ->find_or_insert(hash_of(key), key) = 7;
  FrozenState frozen = backend->freeze();
  backend.reset();
  const RestoredState written = write_to_memory(std::move(frozen));
  EXPECT_EQ(written.keyed.at(0).groups, a_snapshot().keyed.at(0).groups);
}

TEST(StateBackend, a_freeze_while_another_is_written_takes_what_is_there_now) {
  StateBackend backend(all_groups);
  auto counts = *backend.keyed<std::string, int>("count", StateKind::value);
  const std::string key = "k";
  counts->find_or_insert(hash_of(key), key) = 7;
  FrozenState first = backend.freeze();
  counts->find_or_insert(hash_of(key), key) = 8;
  FrozenState second = backend.freeze();
  counts->find_or_insert(hash_of(key), key) = 9;
  EXPECT_EQ(write_to_memory(std::move(first)).keyed.at(0).groups, a_snapshot().keyed.at(0).groups);
  EXPECT_EQ(write_to_memory(std::move(second)).keyed.at(0).groups.at(0).second.back(),
            std::byte{0});
  StateBackend again(all_groups, snapshot(backend));
  EXPECT_EQ((*again.keyed<std::string, int>("count", StateKind::value))
                ->find_or_insert(hash_of(key), key),
            9);
}

TEST(OperatorListState, keeps_its_items_in_order_over_a_restore) {
  StateBackend backend(all_groups);
  OperatorListState<std::string> list;
  ASSERT_TRUE(list.bind(backend, "list"));
  list.add("a");
  list.add_all({"b", "c"});
  StateBackend again(all_groups, snapshot(backend));
  OperatorListState<std::string> restored;
  ASSERT_TRUE(restored.bind(again, "list"));
  EXPECT_EQ(restored.get(), (std::vector<std::string>{"a", "b", "c"}));
  restored.update({"d"});
  EXPECT_EQ(restored.get(), (std::vector<std::string>{"d"}));
  restored.clear();
  EXPECT_TRUE(restored.get().empty());
}

TEST(BroadcastState, is_changed_by_the_broadcast_side_only) {
  StateBackend backend(all_groups);
  BroadcastState<std::string, int> rules;
  bool on_broadcast_side = true;
  ASSERT_TRUE(rules.bind(backend, "rules", on_broadcast_side));
  rules.put("a", 1);
  rules.put("b", 2);
  rules.remove("b");
  on_broadcast_side = false;
  EXPECT_EQ(*rules.get("a"), 1);
  EXPECT_FALSE(rules.contains("b"));
  EXPECT_THROW(rules.put("c", 3), std::logic_error);
  EXPECT_THROW(rules.remove("a"), std::logic_error);
  EXPECT_THROW(rules.clear(), std::logic_error);
  EXPECT_EQ(rules.entries(), (std::vector<std::pair<std::string, int>>{{"a", 1}}));
}

}  // namespace
}  // namespace weir
