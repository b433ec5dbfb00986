#include "snapshot/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/memory_snapshot_storage.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using enum ExternalizedRetention;

// C08.
TEST(Retention, says_what_outlives_a_job) {
  EXPECT_FALSE(outlives_job(none, JobEnd::finished));
  EXPECT_FALSE(outlives_job(none, JobEnd::failed));
  EXPECT_FALSE(outlives_job(none, JobEnd::canceled));
  EXPECT_FALSE(outlives_job(delete_on_cancellation, JobEnd::finished));
  EXPECT_TRUE(outlives_job(delete_on_cancellation, JobEnd::failed));
  EXPECT_FALSE(outlives_job(delete_on_cancellation, JobEnd::canceled));
  EXPECT_FALSE(outlives_job(retain_on_cancellation, JobEnd::finished));
  EXPECT_TRUE(outlives_job(retain_on_cancellation, JobEnd::failed));
  EXPECT_TRUE(outlives_job(retain_on_cancellation, JobEnd::canceled));
}

TEST(Retention, keeps_the_newest_complete_ones_and_those_under_way) {
  const std::vector<FoundCheckpoint> found{{{1}, true}, {{2}, false}, {{3}, true},
                                           {{4}, true}, {{5}, false}, {{6}, false}};
  EXPECT_THAT(dispensable(found, 1, {CheckpointId{6}}),
              ElementsAre(CheckpointId{1}, CheckpointId{2}, CheckpointId{3}, CheckpointId{5}));
  EXPECT_THAT(dispensable(found, 2, {}),
              ElementsAre(CheckpointId{1}, CheckpointId{2}, CheckpointId{5}, CheckpointId{6}));
  EXPECT_THAT(dispensable({}, 1, {}), IsEmpty());
}

// A job with checkpoints 1, 2 and 4; 3 was given up, and 10 is under way.
void fill(MemorySnapshotStorage& storage) {
  for (const auto* path :
       {"job/chk-1/_metadata", "job/chk-1/task", "job/chk-2/_metadata", "job/chk-3/task",
        "job/chk-4/_metadata", "job/chk-10/task", "job/notes", "job/shared/x"}) {
    storage.put(path, Bytes(1));
  }
}

TEST(Retention, finds_a_jobs_checkpoints_in_order) {
  MemorySnapshotStorage storage;
  fill(storage);
  EXPECT_THAT(*find_checkpoints(storage, "job"),
              ElementsAre(FoundCheckpoint{{1}, true}, FoundCheckpoint{{2}, true},
                          FoundCheckpoint{{3}, false}, FoundCheckpoint{{4}, true},
                          FoundCheckpoint{{10}, false}));
  EXPECT_THAT(*find_checkpoints(storage, "other"), IsEmpty());
}

TEST(Retention, removes_older_and_orphaned_ones_and_nothing_else) {
  MemorySnapshotStorage storage;
  fill(storage);
  ASSERT_TRUE(remove_dispensable(storage, "job", 1, {CheckpointId{10}}));
  EXPECT_THAT(storage.files(),
              ElementsAre("job/chk-10/task", "job/chk-4/_metadata", "job/notes", "job/shared/x"));
}

TEST(Retention, a_manifest_goes_before_what_it_names) {
  MemorySnapshotStorage storage;
  fill(storage);
  std::vector<std::string> removed;
  storage.set_fault([&](StorageCall call, const std::string& path) -> std::optional<Error> {
    if (call == StorageCall::remove) removed.push_back(path);
    return std::nullopt;
  });
  ASSERT_TRUE(remove_checkpoint(storage, "job/chk-1"));
  EXPECT_THAT(removed, ElementsAre("job/chk-1/_metadata", "job/chk-1"));
}

TEST(Retention, goes_on_after_a_failure_and_tells_it) {
  MemorySnapshotStorage storage;
  fill(storage);
  storage.set_fault([](StorageCall call, const std::string& path) -> std::optional<Error> {
    if (call == StorageCall::remove && path == "job/chk-1/_metadata") {
      return Error{Errc::output_failed, "no"};
    }
    return std::nullopt;
  });
  EXPECT_EQ(remove_dispensable(storage, "job", 1, {}).error().message, "no");
  EXPECT_THAT(*find_checkpoints(storage, "job"),
              ElementsAre(FoundCheckpoint{{1}, true}, FoundCheckpoint{{4}, true}));
}

TEST(Retention, nothing_remains_of_a_job_whose_checkpoints_do_not_outlive_it) {
  MemorySnapshotStorage storage;
  fill(storage);
  ASSERT_TRUE(clean_up_after_job(storage, "job", {}, JobEnd::finished));
  EXPECT_THAT(storage.files(), IsEmpty());
  EXPECT_THAT(*storage.list(""), IsEmpty());
}

TEST(Retention, what_outlives_a_job_is_whole) {
  MemorySnapshotStorage storage;
  fill(storage);
  const CheckpointSettings settings{.retained = 2, .externalized = delete_on_cancellation};
  ASSERT_TRUE(clean_up_after_job(storage, "job", settings, JobEnd::failed));
  EXPECT_THAT(*find_checkpoints(storage, "job"),
              ElementsAre(FoundCheckpoint{{2}, true}, FoundCheckpoint{{4}, true}));
  ASSERT_TRUE(clean_up_after_job(storage, "job", settings, JobEnd::canceled));
  EXPECT_THAT(storage.files(), IsEmpty());
}

TEST(Retention, a_job_without_checkpoints_leaves_nothing_to_do) {
  MemorySnapshotStorage storage;
  EXPECT_TRUE(clean_up_after_job(storage, "job", {}, JobEnd::failed));
}

}  // namespace
}  // namespace weir
