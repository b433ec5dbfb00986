#include "snapshot/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "snapshot/checkpoint_layout.h"
#include "snapshot/manifest_assembly.h"
#include "snapshot/memory_snapshot_storage.h"
#include "snapshot/task_snapshot_writer.h"
#include "tests/snapshot/frozen_states.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t groups = 8;
constexpr VertexId vertex{0};

KeyGroupSlice slice_of(std::uint32_t subtask, std::uint32_t parallelism) {
  return {key_group_range_of({subtask}, parallelism, groups), groups};
}

// What each instance of the operator "count" freezes.
using Instances = std::vector<FrozenState>;

// A state "total" that has in each group the group's number, divided among the instances.
Instances keyed_instances(std::uint32_t parallelism) {
  Instances instances(parallelism);
  for (std::uint32_t i = 0; i < parallelism; ++i) {
    const KeyGroupSlice slice = slice_of(i, parallelism);
    std::map<std::uint32_t, std::string> entries;
    for (std::uint32_t g = slice.range.first.value; g <= slice.range.last().value; ++g) {
      entries[g] = std::to_string(g);
    }
    instances[i].keyed.push_back(std::make_unique<FrozenByHand>("total", slice, entries));
  }
  return instances;
}

Instances item_instances(StateKind kind, const std::vector<std::vector<std::string>>& lists) {
  Instances instances(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) {
    instances[i].items.push_back(items_of("offsets", kind, lists[i]));
  }
  return instances;
}

// Writes a whole checkpoint, as tasks and master do.
StoredCheckpoint stored(SnapshotStorage& storage, Instances instances, CheckpointId id = {1},
                        std::uint64_t inline_threshold = 0,
                        const std::set<SnapshotTaskId>& finished = {}) {
  const auto parallelism = static_cast<std::uint32_t>(instances.size());
  const std::string directory = checkpoint_directory({1}, id);
  checkpoint::Store content{.id = id, .finished = finished};
  for (std::uint32_t i = 0; i < parallelism; ++i) {
    const SnapshotTaskId task{vertex, {i}};
    if (finished.contains(task)) continue;
    std::vector<OperatorFrozen> operators(1);
    operators[0] = {.operator_name = "count",
                    .subtask = {i},
                    .parallelism = parallelism,
                    .max_parallelism = groups,
                    .state = std::move(instances[i])};
    auto snapshot = write_task_snapshot(storage, directory, state_file_name(task, {1}),
                                        std::move(operators), inline_threshold);
    EXPECT_TRUE(snapshot);
    content.tasks[task] = *std::move(snapshot);
  }
  const SnapshotPlan plan{
      .job = {1}, .job_name = "job", .operators = {{"count", {0}, vertex, parallelism, groups}}};
  auto manifest = assemble_manifest(plan, std::move(content), {});
  EXPECT_TRUE(manifest);
  const StoredCheckpoint checkpoint{.directory = directory, .manifest = *std::move(manifest)};
  EXPECT_TRUE(write_manifest(storage, checkpoint));
  return checkpoint;
}

Result<RestoredState> restore(SnapshotStorage& storage, const StoredCheckpoint& checkpoint,
                              std::uint32_t subtask, std::uint32_t parallelism) {
  return restored_state(storage, checkpoint,
                        {.operator_name = "count",
                         .subtask = {subtask},
                         .parallelism = parallelism,
                         .slice = slice_of(subtask, parallelism)});
}

// The items that each of so many instances gets.
std::vector<std::vector<std::string>> dealt(SnapshotStorage& storage,
                                            const StoredCheckpoint& checkpoint,
                                            std::uint32_t parallelism) {
  std::vector<std::vector<std::string>> all;
  for (std::uint32_t i = 0; i < parallelism; ++i) {
    const RestoredState state = *restore(storage, checkpoint, i, parallelism);
    EXPECT_EQ(state.items.size(), 1U);
    std::vector<std::string>& items = all.emplace_back();
    for (const Bytes& item : state.items.at(0).items) items.push_back(text_of(item));
  }
  return all;
}

using Lists = std::vector<std::vector<std::string>>;
const Lists two_lists{{"a0", "a1", "a2"}, {"b0", "b1"}};

TEST(Restore, key_groups_come_from_whoever_had_them) {
  for (const std::uint64_t inline_threshold : {0U, 1000U}) {
    for (std::uint32_t before = 1; before <= groups; ++before) {
      MemorySnapshotStorage storage;
      const StoredCheckpoint checkpoint =
          stored(storage, keyed_instances(before), {1}, inline_threshold);
      for (std::uint32_t after = 1; after <= groups; ++after) {
        for (std::uint32_t i = 0; i < after; ++i) {
          const auto state = restore(storage, checkpoint, i, after);
          ASSERT_TRUE(state) << state.error().message;
          ASSERT_EQ(state->keyed.size(), 1U);
          EXPECT_EQ(state->keyed[0].descriptor.name, "total");
          const KeyGroupRange range = slice_of(i, after).range;
          ASSERT_EQ(state->keyed[0].groups.size(), range.count);
          for (std::uint32_t g = 0; g < range.count; ++g) {
            const std::uint32_t group = range.first.value + g;
            EXPECT_EQ(state->keyed[0].groups[g],
                      std::pair(KeyGroup{group}, bytes_of(std::to_string(group))));
          }
        }
      }
    }
  }
}

// V54.
TEST(Restore, a_split_list_is_dealt_out_round_robin) {
  MemorySnapshotStorage storage;
  const auto checkpoint = stored(storage, item_instances(StateKind::split_list, two_lists));
  EXPECT_EQ(dealt(storage, checkpoint, 3), (Lists{{"a0", "a1"}, {"a2", "b0"}, {"b1"}}));
  EXPECT_EQ(dealt(storage, checkpoint, 1), (Lists{{"a0", "a1", "a2", "b0", "b1"}}));
  EXPECT_EQ(dealt(storage, checkpoint, 7), (Lists{{"a0"}, {"a1"}, {"a2"}, {"b0"}, {"b1"}, {}, {}}));
}

TEST(Restore, a_split_list_is_left_alone_if_there_are_as_many_as_before) {
  MemorySnapshotStorage storage;
  const auto checkpoint = stored(storage, item_instances(StateKind::split_list, two_lists));
  EXPECT_EQ(dealt(storage, checkpoint, 2), two_lists);
}

TEST(Restore, every_instance_gets_a_whole_union_list) {
  MemorySnapshotStorage storage;
  const auto checkpoint = stored(storage, item_instances(StateKind::union_list, two_lists));
  const std::vector<std::string> whole{"a0", "a1", "a2", "b0", "b1"};
  EXPECT_EQ(dealt(storage, checkpoint, 3), (Lists{whole, whole, whole}));
  EXPECT_EQ(dealt(storage, checkpoint, 2), (Lists{whole, whole}));
}

// V55.
TEST(Restore, broadcast_state_comes_from_one_instance_that_has_any) {
  const std::vector<std::string> entries{"test1=3", "test2=3", "test3=3"};
  for (const Lists& before : {Lists{entries, entries}, Lists{entries, {}}, Lists{{}, entries}}) {
    MemorySnapshotStorage storage;
    const auto checkpoint = stored(storage, item_instances(StateKind::broadcast, before));
    EXPECT_EQ(dealt(storage, checkpoint, 3), (Lists{entries, entries, entries}));
    EXPECT_EQ(dealt(storage, checkpoint, 1), (Lists{entries}));
  }
}

// What is dealt out is all there is, whatever the numbers.
TEST(Restore, no_item_is_lost_or_doubled) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    Lists before(1 + random.below(6));
    std::vector<std::string> all;
    for (auto& list : before) {
      for (std::uint64_t i = random.below(5); i > 0; --i) {
        all.push_back(std::to_string(all.size()));
        list.push_back(all.back());
      }
    }
    MemorySnapshotStorage storage;
    const auto checkpoint = stored(storage, item_instances(StateKind::split_list, before));
    std::vector<std::string> after;
    for (const auto& list :
         dealt(storage, checkpoint, static_cast<std::uint32_t>(1 + random.below(7)))) {
      after.insert(after.end(), list.begin(), list.end());
    }
    EXPECT_EQ(after, all);
  }
}

TEST(Restore, what_finished_or_is_new_has_no_state) {
  MemorySnapshotStorage storage;
  const auto checkpoint =
      stored(storage, keyed_instances(2), {1}, 0, {{vertex, {0}}, {vertex, {1}}});
  EXPECT_THAT(restore(storage, checkpoint, 0, 2)->keyed, IsEmpty());
  const auto unknown = restored_state(
      storage, checkpoint, {.operator_name = "new", .parallelism = 1, .slice = slice_of(0, 1)});
  EXPECT_THAT(unknown->keyed, IsEmpty());
}

TEST(Restore, another_maximum_parallelism_is_refused_with_the_remedy) {
  MemorySnapshotStorage storage;
  const auto checkpoint = stored(storage, keyed_instances(2));
  const auto state = restored_state(
      storage, checkpoint, {.operator_name = "count", .parallelism = 1, .slice = {{{0}, 16}, 16}});
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error(),
            (Error{Errc::bad_option,
                   "'count' has maximum parallelism 16 now and had 8 in checkpoint 1: its keyed "
                   "state cannot be restored so; give --max-parallelism 8"}));
}

TEST(Restore, a_flipped_bit_in_a_state_file_is_noticed) {
  MemorySnapshotStorage storage;
  Instances instances = keyed_instances(1);
  instances[0].items.push_back(items_of("offsets", StateKind::split_list, {"x", "y"}));
  const auto checkpoint = stored(storage, std::move(instances));
  const std::string path = "0000000000000001/chk-1/task-0-0-attempt-1";
  const Bytes good = *storage.content(path);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    storage.put(path, bad);
    const auto state = restore(storage, checkpoint, 0, 1);
    ASSERT_FALSE(state) << bit;
    EXPECT_EQ(state.error().code, Errc::corrupt_data);
    EXPECT_THAT(state.error().message, HasSubstr(path + " is damaged: the checksum of the"));
  }
}

TEST(Restore, a_missing_file_is_named) {
  MemorySnapshotStorage storage;
  const auto checkpoint = stored(storage, keyed_instances(2));
  ASSERT_TRUE(storage.remove("0000000000000001/chk-1/task-0-1-attempt-1"));
  EXPECT_TRUE(restore(storage, checkpoint, 0, 2));
  const auto state = restore(storage, checkpoint, 1, 2);
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, Errc::input_missing);
  EXPECT_THAT(state.error().message, HasSubstr("task-0-1-attempt-1: No such file"));
}

TEST(LatestCheckpoint, of_a_job_that_took_none_is_nothing) {
  MemorySnapshotStorage storage;
  EXPECT_EQ(latest_whole(storage, job_directory({1}))->checkpoint, std::nullopt);
}

TEST(LatestCheckpoint, is_the_one_with_the_highest_number) {
  MemorySnapshotStorage storage;
  (void)stored(storage, keyed_instances(1), {9});
  const auto newest = stored(storage, keyed_instances(1), {10});
  const auto latest = *latest_whole(storage, job_directory({1}));
  EXPECT_EQ(latest.checkpoint, newest);
  EXPECT_THAT(latest.passed_over, IsEmpty());
}

TEST(LatestCheckpoint, passes_over_what_is_not_whole_and_says_why) {
  MemorySnapshotStorage storage;
  const std::string job = job_directory({1});
  const auto whole = stored(storage, keyed_instances(1), {1});
  for (std::uint64_t id = 2; id <= 5; ++id) (void)stored(storage, keyed_instances(1), {id});
  ASSERT_TRUE(storage.remove(job + "/chk-2/task-0-0-attempt-1"));
  storage.put(job + "/chk-3/task-0-0-attempt-1", Bytes(3));
  ASSERT_TRUE(storage.remove(job + "/chk-4/_metadata"));
  Bytes damaged = *storage.content(job + "/chk-5/_metadata");
  damaged.back() ^= std::byte{1};
  storage.put(job + "/chk-5/_metadata", damaged);

  const auto latest = *latest_whole(storage, job);
  EXPECT_EQ(latest.checkpoint, whole);
  ASSERT_EQ(latest.passed_over.size(), 4U);
  EXPECT_THAT(latest.passed_over[0].reason.message, HasSubstr("chk-5/_metadata is damaged"));
  EXPECT_THAT(latest.passed_over[1].reason.message, HasSubstr("chk-4 has no _metadata"));
  EXPECT_THAT(latest.passed_over[2].reason.message, HasSubstr("is truncated: 3 bytes"));
  EXPECT_THAT(latest.passed_over[3].reason.message, HasSubstr("chk-2/task-0-0-attempt-1: No such"));
}

TEST(LatestCheckpoint, passes_over_one_that_is_known_to_be_damaged) {
  MemorySnapshotStorage storage;
  const auto whole = stored(storage, keyed_instances(1), {1});
  const auto newer = stored(storage, keyed_instances(1), {2});
  const Error why{Errc::checkpoint_damaged, "a checksum does not match"};
  const auto latest = *latest_whole(storage, job_directory({1}), {{{2}, why}});
  EXPECT_EQ(latest.checkpoint, whole);
  EXPECT_EQ(latest.passed_over, (std::vector<PassedOver>{{newer.directory, why}}));
}

TEST(LatestCheckpoint, of_another_job_is_passed_over_by_a_job_that_restarts) {
  MemorySnapshotStorage storage;
  const auto checkpoint = stored(storage, keyed_instances(1), {1});
  const auto latest = *latest_whole(storage, job_directory({1}), {}, JobId{2});
  EXPECT_EQ(latest.checkpoint, std::nullopt);
  ASSERT_EQ(latest.passed_over.size(), 1U);
  EXPECT_THAT(latest.passed_over[0].reason.message,
              HasSubstr("is that of job " + job_directory({1})));
  EXPECT_EQ(latest_whole(storage, job_directory({1}), {}, JobId{1})->checkpoint, checkpoint);
}

TEST(LatestCheckpoint, storage_that_fails_is_an_error) {
  MemorySnapshotStorage storage;
  storage.set_fault([](StorageCall, const std::string&) -> std::optional<Error> {
    return Error{Errc::input_unreadable, "no"};
  });
  EXPECT_FALSE(latest_whole(storage, "job"));
}

TEST(CheckpointInADirectory, is_that_directory_or_the_newest_whole_one_of_a_job) {
  MemorySnapshotStorage storage;
  const auto older = stored(storage, keyed_instances(1), {1});
  const auto newer = stored(storage, keyed_instances(1), {2});
  EXPECT_EQ(checkpoint_in(storage, older.directory)->checkpoint, older);
  EXPECT_EQ(checkpoint_in(storage, job_directory({1}))->checkpoint, newer);
  ASSERT_TRUE(storage.remove(newer.directory + "/task-0-0-attempt-1"));
  const auto found = *checkpoint_in(storage, job_directory({1}));
  EXPECT_EQ(found.checkpoint, older);
  EXPECT_EQ(found.passed_over.size(), 1U);
  EXPECT_FALSE(checkpoint_in(storage, newer.directory)) << "this one and no other is meant";
}

TEST(CheckpointInADirectory, that_has_none_is_an_error_that_says_why) {
  MemorySnapshotStorage storage;
  EXPECT_THAT(checkpoint_in(storage, "nowhere").error().message,
              HasSubstr("there is no directory memory:/nowhere"));
  ASSERT_TRUE(storage.make_directories("job/shared"));
  EXPECT_THAT(checkpoint_in(storage, "job").error().message,
              HasSubstr("memory:/job holds no checkpoint"));
  ASSERT_TRUE(storage.make_directories("job/chk-1"));
  for (const char* directory : {"job", "job/chk-1"}) {
    EXPECT_THAT(checkpoint_in(storage, directory).error().message,
                HasSubstr("memory:/job/chk-1 has no _metadata: it was never completed"));
  }
}

}  // namespace
}  // namespace weir
