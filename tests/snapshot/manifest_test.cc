#include "snapshot/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>

#include "base/clock.h"
#include "base/codec.h"
#include "base/random.h"
#include "snapshot/checksum.h"
#include "snapshot/manifest_assembly.h"
#include "snapshot/memory_snapshot_storage.h"
#include "tests/snapshot/frozen_states.h"
#include "tests/support/fuzz.h"
#include "tests/support/hex_block.h"

namespace weir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::size_t header_bytes = 32;

// A source with a coordinator, and a counter of which one subtask has finished, the other has its state in a file.
CheckpointManifest some_manifest() {
  const StateDescriptor total{.name = "total", .kind = StateKind::value, .schema = "long→long"};
  const StateDescriptor positions{
      .name = "positions", .kind = StateKind::split_list, .schema = "text"};
  return {
      .id = {7},
      .job = {0xabcdULL},
      .job_name = "visits",
      .triggered = {1'700'000'000'000},
      .files = {{.name = "task-1-0-attempt-1", .size = 30},
                {.name = "",
                 .size = 5,
                 .inline_bytes = bytes_of(std::string_view("\1\0\0\0x", 5))}},
      .operators = {
          {.name = "lines",
           .parallelism = 1,
           .max_parallelism = 128,
           .subtasks = {{.file = 1, .items = {{positions, 1, {0, 5, 99}}}}},
           .coordinator = bytes_of("splits")},
          {.name = "count",
           .parallelism = 2,
           .max_parallelism = 128,
           .subtasks = {{.file = 0, .keyed = {{total, {{{3}, {0, 10, 1}}, {{9}, {10, 20, 2}}}}}},
                        {.finished = true}},
           .committables = {bytes_of("part-0"), bytes_of("part-1")}}}};
}

std::string failure_of(std::span<const std::byte> bytes) {
  const auto decoded = decode_manifest(bytes);
  EXPECT_FALSE(decoded);
  if (decoded) return {};
  EXPECT_EQ(decoded.error().code, Errc::corrupt_data);
  return decoded.error().message;
}

// A manifest with this body, under a checksum that is right.
Bytes sealed(std::span<const std::byte> body, std::uint32_t version = 1) {
  Bytes bytes = bytes_of("WEIRCHKP");
  ByteWriter writer(bytes);
  writer.scalar(version);
  writer.scalar(std::uint32_t{0});
  writer.scalar(std::uint64_t{body.size()});
  writer.scalar(checksum_of(bytes, body));
  writer.bytes(body);
  return bytes;
}

std::string senseless(const std::function<void(CheckpointManifest&)>& change) {
  CheckpointManifest manifest = some_manifest();
  change(manifest);
  return failure_of(*encode_manifest(manifest));
}

TEST(Manifest, comes_back_as_it_was_written) {
  const CheckpointManifest manifest = some_manifest();
  const auto decoded = decode_manifest(*encode_manifest(manifest));
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, manifest);
  EXPECT_EQ(manifest.state_bytes(), 35U);
  ASSERT_NE(manifest.find("count"), nullptr);
  EXPECT_EQ(manifest.find("none"), nullptr);
}

TEST(Manifest, of_an_empty_job_comes_back) {
  EXPECT_EQ(*decode_manifest(*encode_manifest({})), CheckpointManifest{});
}

TEST(Manifest, of_many_subtasks_and_groups_comes_back) {
  CheckpointManifest manifest = some_manifest();
  OperatorInManifest& count = manifest.operators[1];
  count.parallelism = 500;
  count.max_parallelism = parallelism_max;
  count.subtasks.assign(500, count.subtasks[0]);
  for (SubtaskInManifest& subtask : count.subtasks) {
    subtask.keyed[0].groups.clear();
    for (std::uint32_t i = 0; i < 65; ++i) subtask.keyed[0].groups.push_back({{i}, {0, 10, i}});
  }
  EXPECT_EQ(*decode_manifest(*encode_manifest(manifest)), manifest);
}

TEST(Manifest, travels_in_messages) {
  EXPECT_EQ(*from_bytes<CheckpointManifest>(to_bytes(some_manifest())), some_manifest());
}

TEST(Manifest, of_a_newer_format_is_told_from_damage) {
  EXPECT_THAT(failure_of(sealed(bytes_of("anything"), 2)),
              HasSubstr("is of format 2, and this version of weir reads formats up to 1"));
}

TEST(Manifest, that_is_none_is_told_so) {
  EXPECT_THAT(failure_of(bytes_of("{\"version\": 1, \"something\": \"quite different\"}")),
              HasSubstr("is no manifest"));
}

TEST(Manifest, cut_anywhere_is_truncated) {
  const Bytes whole = *encode_manifest(some_manifest());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_THAT(failure_of(std::span(whole).first(size)), HasSubstr("is truncated")) << size;
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THAT(failure_of(longer), HasSubstr("is damaged"));
}

TEST(Manifest, with_a_flipped_bit_is_never_accepted) {
  const Bytes good = *encode_manifest(some_manifest());
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const std::string failure = failure_of(bad);
    if (bit < 8 * 24) continue;
    ASSERT_THAT(failure, HasSubstr("checksum does not match")) << bit;
  }
}

TEST(Manifest, that_makes_no_sense_is_refused_despite_its_checksum) {
  EXPECT_THAT(senseless([](auto& m) { m.files[0].name = "../x"; }), HasSubstr("called '../x'"));
  EXPECT_THAT(senseless([](auto& m) { m.files[0].name = ".."; }), HasSubstr("called '..'"));
  EXPECT_THAT(senseless([](auto& m) { m.files[1].size = 6; }), HasSubstr("5 of them inline"));
  EXPECT_THAT(senseless([](auto& m) { m.files[0].size = 29; }), HasSubstr("beyond the end"));
  EXPECT_THAT(senseless([](auto& m) { m.operators[1].name = "lines"; }),
              HasSubstr("two operators are called lines"));
  EXPECT_THAT(senseless([](auto& m) { m.operators[1].parallelism = 3; }),
              HasSubstr("2 subtasks, parallelism 3"));
  EXPECT_THAT(senseless([](auto& m) { m.operators[1].max_parallelism = 1; }),
              HasSubstr("maximum parallelism 1"));
  EXPECT_THAT(senseless([](auto& m) { m.operators[1].max_parallelism = 9; }),
              HasSubstr("key group 9"));
  EXPECT_THAT(senseless([](auto& m) { m.operators[1].subtasks[0].file = 2; }),
              HasSubstr("in no file"));
  EXPECT_THAT(senseless([](auto& m) { m.operators[1].subtasks[0].finished = true; }),
              HasSubstr("a finished subtask of 'count' has state"));
  EXPECT_THAT(senseless([](auto& m) {
                m.operators[1].subtasks[0].keyed[0].descriptor.kind = StateKind::broadcast;
              }),
              HasSubstr("'total' is of kind 18"));
  EXPECT_THAT(senseless([](auto& m) {
                m.operators[0].subtasks[0].items[0].descriptor.kind = static_cast<StateKind>(99);
              }),
              HasSubstr("'positions' is of kind 99"));
  EXPECT_THAT(failure_of(sealed(bytes_of("12345678"))), HasSubstr("is damaged"));
  EXPECT_THAT(failure_of(sealed(bytes_of("1234567"))), HasSubstr("not made of words"));
}

TEST(Manifest, is_written_last_and_by_rename) {
  MemorySnapshotStorage storage;
  const StoredCheckpoint checkpoint{.directory = "job/chk-7", .manifest = some_manifest()};
  std::vector<std::string> calls;
  storage.set_fault([&](StorageCall call, const std::string& path) -> std::optional<Error> {
    if (call == StorageCall::rename) calls.push_back("rename to " + path);
    if (call == StorageCall::close) calls.push_back("close " + path);
    return std::nullopt;
  });
  ASSERT_TRUE(write_manifest(storage, checkpoint));
  EXPECT_THAT(calls,
              ElementsAre("close job/chk-7/_metadata.writing", "rename to job/chk-7/_metadata"));
  EXPECT_THAT(storage.files(), ElementsAre("job/chk-7/_metadata"));
  EXPECT_EQ(*read_manifest(storage, "job/chk-7"), checkpoint);
}

TEST(Manifest, that_cannot_be_written_leaves_nothing) {
  for (const StorageCall fails : {StorageCall::create, StorageCall::write, StorageCall::close,
                                  StorageCall::rename, StorageCall::make_directories}) {
    MemorySnapshotStorage storage;
    storage.set_fault([&](StorageCall call, const std::string&) -> std::optional<Error> {
      if (call == fails) return Error{Errc::output_failed, "no"};
      return std::nullopt;
    });
    EXPECT_EQ(write_manifest(storage, {.directory = "chk-7", .manifest = some_manifest()})
                  .error()
                  .message,
              "no");
    EXPECT_THAT(storage.files(), IsEmpty());
  }
}

TEST(Manifest, errors_name_the_file) {
  MemorySnapshotStorage storage;
  storage.put("job/chk-7/_metadata", bytes_of("WEIR"));
  EXPECT_EQ(read_manifest(storage, "job/chk-7").error().message,
            "memory:/job/chk-7/_metadata is truncated: 4 bytes, where the header has 32");
  EXPECT_EQ(read_manifest(storage, "job/chk-8").error().code, Errc::input_missing);
}

TEST(Manifest, of_another_checkpoint_is_noticed) {
  MemorySnapshotStorage storage;
  storage.put("job/chk-8/_metadata", *encode_manifest(some_manifest()));
  EXPECT_THAT(read_manifest(storage, "job/chk-8").error().message,
              HasSubstr("is that of checkpoint 7"));
  storage.put("elsewhere/_metadata", *encode_manifest(some_manifest()));
  EXPECT_TRUE(read_manifest(storage, "elsewhere"));
}

TEST(Manifest, files_that_are_missing_or_of_another_size_are_named) {
  MemorySnapshotStorage storage;
  const StoredCheckpoint checkpoint{.directory = "chk-7", .manifest = some_manifest()};
  EXPECT_EQ(check_files(storage, checkpoint).error().code, Errc::input_missing);
  storage.put("chk-7/task-1-0-attempt-1", Bytes(29));
  EXPECT_EQ(check_files(storage, checkpoint).error().message,
            "memory:/chk-7/task-1-0-attempt-1 is truncated: 29 bytes, where the manifest has 30");
  storage.put("chk-7/task-1-0-attempt-1", Bytes(31));
  EXPECT_THAT(check_files(storage, checkpoint).error().message, HasSubstr("is too long"));
  storage.put("chk-7/task-1-0-attempt-1", Bytes(30));
  EXPECT_TRUE(check_files(storage, checkpoint));
}

SnapshotPlan some_plan() {
  return {.job = {1},
          .job_name = "visits",
          .operators = {
              {"lines", {0}, {0}, 1, 128}, {"count", {1}, {1}, 2, 128}, {"out", {2}, {1}, 2, 128}}};
}

TEST(ManifestAssembly, puts_everything_where_it_belongs) {
  const StateDescriptor total{.name = "total", .kind = StateKind::value, .schema = "long"};
  const OperatorSnapshot count{.operator_name = "count",
                               .subtask = {1},
                               .parallelism = 2,
                               .max_parallelism = 128,
                               .keyed = {{total, {{{70}, {0, 4, 5}}}}}};
  const checkpoint::Store content{.id = {3},
                                  .triggered = {55},
                                  .coordinators = {{NodeId{0}, bytes_of("splits")}},
                                  .tasks = {{{{1}, {1}},
                                             {.file = {.name = "f", .size = 4},
                                              .operators = {count,
                                                            {.operator_name = "out",
                                                             .subtask = {1},
                                                             .parallelism = 2,
                                                             .max_parallelism = 128}},
                                              .committables = {{"out", {bytes_of("a")}}}}}},
                                  .finished = {{{0}, {0}}, {{1}, {0}}}};
  const auto manifest = assemble_manifest(some_plan(), content, {{"out", {bytes_of("b")}}});
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->id, CheckpointId{3});
  EXPECT_EQ(manifest->triggered, ProcessingTime{55});
  EXPECT_THAT(manifest->files, ElementsAre(StateFile{.name = "f", .size = 4}));
  EXPECT_EQ(manifest->operators[0].coordinator, bytes_of("splits"));
  EXPECT_TRUE(manifest->operators[0].subtasks[0].finished);
  EXPECT_TRUE(manifest->operators[1].subtasks[0].finished);
  EXPECT_EQ(manifest->operators[1].subtasks[1],
            (SubtaskInManifest{.file = 0, .keyed = {{total, {{{70}, {0, 4, 5}}}}}}));
  EXPECT_THAT(manifest->operators[2].committables, ElementsAre(bytes_of("a"), bytes_of("b")));
  EXPECT_TRUE(decode_manifest(*encode_manifest(*manifest)));
}

TEST(ManifestAssembly, refuses_what_does_not_fit_the_plan) {
  const auto failure = [](TaskSnapshot task) {
    checkpoint::Store content{.id = {3}};
    content.tasks[{{1}, {0}}] = std::move(task);
    const auto manifest = assemble_manifest(some_plan(), std::move(content), {});
    return manifest ? std::string() : manifest.error().message;
  };
  EXPECT_THAT(failure({.operators = {{.operator_name = "other"}}}),
              HasSubstr("'other' is not in the plan"));
  EXPECT_THAT(failure({.operators = {{.operator_name = "count", .parallelism = 3}}}),
              HasSubstr("'count' has another parallelism"));
  EXPECT_THAT(failure({.committables = {{"other", {}}}}), HasSubstr("'other'"));
}

// The example of snapshot/FORMAT.md, as its indented block has it.
TEST(Manifest, the_documented_example_is_what_is_written) {
  const std::string state("\x2a\x00\x00\x00\x00\x00\x00\x00", 8);
  const CheckpointManifest manifest{
      .id = {7},
      .job = {255},
      .job_name = "visits",
      .triggered = {1000},
      .files = {{.size = 8, .inline_bytes = bytes_of(state)}},
      .operators = {{.name = "count",
                     .parallelism = 1,
                     .max_parallelism = 128,
                     .subtasks = {{.file = 0,
                                   .keyed = {{{"total", StateKind::value, "i64"},
                                              {{{3}, {0, 8, checksum_of(bytes_of(state))}}}}}}},
                     .committables = {bytes_of("part-0")}}}};
  std::ifstream file(WEIR_SOURCE_DIR "/snapshot/FORMAT.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const std::string written = hex_block(*encode_manifest(manifest));
  EXPECT_NE(document.find(written), std::string::npos) << "not in FORMAT.md:\n" << written;
}

// Bodies damaged under a right checksum reach what is behind it; damage to the whole reaches the rest. Neither may crash
// or throw; what is accepted can be written again.
TEST(ManifestFuzz, damaged_manifests_end_in_an_error_or_make_sense) {
  const std::uint64_t seed = fuzz_seed();
  Random random(seed);
  const Bytes whole = *encode_manifest(some_manifest());
  const Bytes body(whole.begin() + header_bytes, whole.end());
  const MonotonicTime end = system_clock().now() + fuzz_time();
  std::uint64_t runs = 0;
  std::uint64_t accepted = 0;
  while (system_clock().now() < end) {
    for (int round = 0; round < 1000; ++round, ++runs) {
      Bytes damaged = body;
      if (random.below(8) > 0) damage_somewhere(damaged, random);
      if (random.below(8) == 0) damaged.resize(random.below(damaged.size() + 64));
      Bytes bytes = sealed(damaged);
      if (random.below(4) == 0) damage_somewhere(bytes, random);
      if (random.below(8) == 0) bytes.resize(random.below(bytes.size() + 1));
      const auto decoded = decode_manifest(bytes);
      if (!decoded) continue;
      ++accepted;
      ASSERT_EQ(*decode_manifest(*encode_manifest(*decoded)), *decoded)
          << "seed " << seed << " run " << runs;
    }
  }
  std::cout << runs << " manifests, " << accepted << " accepted\n";
  EXPECT_GT(accepted, 0U);
}

}  // namespace
}  // namespace weir
