#include "snapshot/task_snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>

#include "base/codec.h"
#include "snapshot/checksum.h"
#include "snapshot/memory_snapshot_storage.h"
#include "tests/snapshot/frozen_states.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr KeyGroupSlice slice{.range = {.first = {4}, .count = 4}, .max_parallelism = 8};

OperatorFrozen counter(std::map<std::uint32_t, std::string> groups) {
  OperatorFrozen frozen{.operator_name = "count",
                        .subtask = {1},
                        .parallelism = 2,
                        .max_parallelism = 8,
                        .state = {}};
  frozen.state.keyed.push_back(std::make_unique<FrozenByHand>("total", slice, std::move(groups)));
  frozen.state.items.push_back(items_of("offsets", StateKind::split_list, {"x", "yz"}));
  return frozen;
}

std::vector<OperatorFrozen> one(OperatorFrozen frozen) {
  std::vector<OperatorFrozen> all;
  all.push_back(std::move(frozen));
  return all;
}

Result<TaskSnapshot> write(SnapshotStorage& storage, std::vector<OperatorFrozen> operators,
                           std::uint64_t threshold) {
  return write_task_snapshot(storage, "job/chk-1", "task", std::move(operators), threshold);
}

TEST(TaskSnapshotWriter, writes_group_behind_group_into_one_file) {
  MemorySnapshotStorage storage;
  const TaskSnapshot snapshot = *write(storage, one(counter({{4, "four"}, {6, "six"}})), 0);
  EXPECT_THAT(storage.files(), ElementsAre("job/chk-1/task"));
  EXPECT_EQ(text_of(*storage.content("job/chk-1/task")),
            std::string("foursix\1\0\0\0x\2\0\0\0yz", 18));
  EXPECT_EQ(snapshot.file, (StateFile{.name = "task", .size = 18}));
  ASSERT_EQ(snapshot.operators.size(), 1U);
  const OperatorSnapshot& count = snapshot.operators[0];
  EXPECT_EQ(count.operator_name, "count");
  EXPECT_EQ(count.subtask, SubtaskIndex{1});
  ASSERT_EQ(count.keyed.size(), 1U);
  EXPECT_THAT(count.keyed[0].groups,
              ElementsAre(KeyGroupChunk{{4}, {0, 4, checksum_of(bytes_of("four"))}},
                          KeyGroupChunk{{6}, {4, 3, checksum_of(bytes_of("six"))}}));
  ASSERT_EQ(count.items.size(), 1U);
  EXPECT_EQ(count.items[0].items, 2U);
  EXPECT_EQ(count.items[0].chunk.offset, 7U);
  EXPECT_EQ(count.items[0].chunk.size, 11U);
}

TEST(TaskSnapshotWriter, keeps_little_state_inline) {
  MemorySnapshotStorage storage;
  const TaskSnapshot snapshot = *write(storage, one(counter({{4, "four"}})), 15);
  EXPECT_THAT(storage.files(), IsEmpty());
  EXPECT_EQ(snapshot.file.name, "");
  EXPECT_EQ(snapshot.file.size, 15U);
  EXPECT_EQ(text_of(snapshot.file.inline_bytes), std::string("four\1\0\0\0x\2\0\0\0yz", 15));
  EXPECT_EQ(write(storage, one(counter({{4, "four"}})), 14)->file.name, "task");
}

TEST(TaskSnapshotWriter, a_task_without_state_needs_no_file) {
  MemorySnapshotStorage storage;
  OperatorFrozen nothing;
  nothing.operator_name = "map";
  const TaskSnapshot snapshot = *write(storage, one(std::move(nothing)), 0);
  EXPECT_THAT(storage.files(), IsEmpty());
  EXPECT_EQ(snapshot.file, StateFile{});
  EXPECT_EQ(snapshot.operators[0].operator_name, "map");
}

TEST(TaskSnapshotWriter, large_groups_of_several_operators_lie_behind_each_other) {
  MemorySnapshotStorage storage;
  std::vector<OperatorFrozen> operators;
  operators.push_back(counter({{4, std::string(300'000, 'a')}, {5, std::string(300'000, 'b')}}));
  operators.push_back(counter({{7, std::string(10, 'c')}}));
  const TaskSnapshot snapshot = *write(storage, std::move(operators), 20'480);
  const Bytes content = *storage.content("job/chk-1/task");
  EXPECT_EQ(content.size(), snapshot.file.size);
  for (const OperatorSnapshot& part : snapshot.operators) {
    for (const KeyGroupChunk& group : part.keyed[0].groups) {
      const auto bytes = std::span(content).subspan(group.chunk.offset, group.chunk.size);
      EXPECT_EQ(checksum_of(bytes), group.chunk.checksum);
    }
  }
  EXPECT_EQ(snapshot.operators[1].keyed[0].groups[0].chunk.offset, 600'011U);
}

TEST(TaskSnapshotWriter, a_failed_write_leaves_no_file_and_says_why) {
  MemorySnapshotStorage storage;
  storage.set_capacity(400'000);
  const auto written = write(
      storage, one(counter({{4, std::string(300'000, 'a')}, {5, std::string(300'000, 'b')}})), 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::output_failed);
  EXPECT_THAT(written.error().message, HasSubstr("job/chk-1/task: No space left on device"));
  EXPECT_THAT(storage.files(), IsEmpty());
}

TEST(TaskSnapshotWriter, a_failed_sync_leaves_no_file) {
  MemorySnapshotStorage storage;
  storage.set_fault([](StorageCall call, const std::string&) -> std::optional<Error> {
    if (call == StorageCall::close) return Error{Errc::output_failed, "disk gone"};
    return std::nullopt;
  });
  EXPECT_EQ(write(storage, one(counter({{4, "x"}})), 0).error().message, "disk gone");
  EXPECT_THAT(storage.files(), IsEmpty());
}

class Throwing final : public FrozenKeyedState {
 public:
  [[nodiscard]] const StateDescriptor& descriptor() const override { return descriptor_; }
  [[nodiscard]] KeyGroupSlice slice() const override { return whole_; }
  void write_group(KeyGroup, ByteWriter&) override { throw std::runtime_error("bad value"); }

 private:
  StateDescriptor descriptor_;
  KeyGroupSlice whole_ = {.range = {.first = {0}, .count = 8}, .max_parallelism = 8};
};

TEST(TaskSnapshotWriter, an_exception_while_encoding_is_an_error_of_user_code) {
  MemorySnapshotStorage storage;
  OperatorFrozen frozen;
  frozen.operator_name = "count";
  frozen.state.keyed.push_back(std::make_unique<Throwing>());
  const auto written = write(storage, one(std::move(frozen)), 0);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error(),
            (Error{Errc::user_code, "encoding the state of count threw: bad value"}));
}

TEST(TaskSnapshotWriter, no_two_attempts_share_a_file) {
  EXPECT_EQ(state_file_name({.vertex = {1}, .subtask = {2}}, {3}), "task-1-2-attempt-3");
}

TEST(TaskSnapshot, travels_in_messages) {
  MemorySnapshotStorage storage;
  TaskSnapshot snapshot = *write(storage, one(counter({{4, "four"}, {5, "five"}})), 100);
  snapshot.committables = {{.operator_name = "out", .committables = {bytes_of("part-0")}}};
  snapshot.times.async = std::chrono::microseconds{123};
  EXPECT_EQ(*from_bytes<TaskSnapshot>(to_bytes(snapshot)), snapshot);
}

TEST(TaskSnapshotWriter, stops_when_the_task_has_ended_and_leaves_no_file) {
  MemorySnapshotStorage storage;
  std::stop_source stop;
  storage.set_fault([&](StorageCall call, const std::string&) -> std::optional<Error> {
    if (call == StorageCall::write) stop.request_stop();
    return {};
  });
  const std::string large(std::size_t{300} * 1024, 'x');
  const auto written = write_task_snapshot(
      storage, "job/chk-1", "task", one(counter({{4, large}, {6, "six"}})), 0, stop.get_token());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::cancelled);
  EXPECT_THAT(storage.files(), IsEmpty());
}

}  // namespace
}  // namespace weir
