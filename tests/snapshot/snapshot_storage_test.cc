#include "snapshot/snapshot_storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "base/random.h"
#include "snapshot/checkpoint_layout.h"
#include "snapshot/file_snapshot_storage.h"
#include "snapshot/memory_snapshot_storage.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Bytes bytes_of(std::string_view text) {
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

// A directory that is removed with it.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(fs::temp_directory_path() / ("weir-snapshot-" + std::to_string(fresh_seed()))) {
    fs::create_directories(path_);
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Result<void> write(SnapshotStorage& storage, const std::string& path, std::string_view content) {
  auto file = storage.create(path);
  if (!file) return file.error();
  WEIR_TRY((*file)->write(bytes_of(content)));
  return (*file)->close();
}

// What holds for every storage.
class EverySnapshotStorage : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam()) {
      storage_ = std::make_unique<MemorySnapshotStorage>();
    } else {
      storage_ = make_file_snapshot_storage(directory_.path() / "new" / "root");
    }
    ASSERT_TRUE(storage_->make_directories("a/b"));
  }
  SnapshotStorage& storage() { return *storage_; }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<SnapshotStorage> storage_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, EverySnapshotStorage, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "memory" : "files"; });

TEST_P(EverySnapshotStorage, gives_back_what_was_written) {
  ASSERT_TRUE(write(storage(), "a/b/file", "0123456789"));
  EXPECT_EQ(*storage().size("a/b/file"), 10U);
  EXPECT_EQ(*storage().read("a/b/file", 0, 10), bytes_of("0123456789"));
  EXPECT_EQ(*storage().read("a/b/file", 3, 4), bytes_of("3456"));
  EXPECT_EQ(*storage().read("a/b/file", 10, 0), Bytes{});
}

TEST_P(EverySnapshotStorage, a_file_that_is_not_closed_is_removed) {
  auto file = storage().create("a/file");
  ASSERT_TRUE((*file)->write(bytes_of("half")));
  file->reset();
  EXPECT_EQ(storage().size("a/file").error().code, Errc::input_missing);
}

TEST_P(EverySnapshotStorage, reading_past_the_end_says_that_the_file_is_truncated) {
  ASSERT_TRUE(write(storage(), "a/file", "0123"));
  for (const auto& [offset, size] : {std::pair{0ULL, 5ULL}, {5ULL, 0ULL}, {1ULL, ~0ULL}}) {
    const auto read = storage().read("a/file", offset, size);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::corrupt_data);
    EXPECT_THAT(read.error().message, HasSubstr("a/file is truncated: 4 bytes"));
  }
}

TEST_P(EverySnapshotStorage, what_is_not_there_is_named) {
  const Error error = storage().read("a/none", 0, 1).error();
  EXPECT_EQ(error.code, Errc::input_missing);
  EXPECT_THAT(error.message, HasSubstr("a/none: No such file or directory"));
  EXPECT_EQ(storage().list("none").error().code, Errc::input_missing);
  EXPECT_EQ(write(storage(), "none/file", "").error().code, Errc::output_failed);
  EXPECT_EQ(storage().rename("a/none", "a/to").error().code, Errc::output_failed);
}

TEST_P(EverySnapshotStorage, a_rename_replaces) {
  ASSERT_TRUE(write(storage(), "a/old", "old"));
  ASSERT_TRUE(write(storage(), "a/new", "new"));
  ASSERT_TRUE(storage().rename("a/new", "a/old"));
  EXPECT_EQ(*storage().read("a/old", 0, 3), bytes_of("new"));
  EXPECT_FALSE(storage().size("a/new"));
}

TEST_P(EverySnapshotStorage, lists_what_a_directory_has) {
  ASSERT_TRUE(write(storage(), "a/z", ""));
  ASSERT_TRUE(write(storage(), "a/b/inner", ""));
  ASSERT_TRUE(write(storage(), "a/c", ""));
  EXPECT_THAT(*storage().list("a"),
              ElementsAre(StorageEntry{"b", true}, StorageEntry{"c"}, StorageEntry{"z"}));
  EXPECT_THAT(*storage().list(""), ElementsAre(StorageEntry{"a", true}));
}

TEST_P(EverySnapshotStorage, removes_files_and_whole_directories) {
  ASSERT_TRUE(storage().make_directories("ab"));
  ASSERT_TRUE(write(storage(), "a/b/inner", ""));
  ASSERT_TRUE(storage().remove("a"));
  EXPECT_THAT(*storage().list(""), ElementsAre(StorageEntry{"ab", true}));
  EXPECT_TRUE(storage().remove("a")) << "what is gone need not be removed";
}

TEST_P(EverySnapshotStorage, can_be_checked_and_is_left_as_it_was) {
  ASSERT_TRUE(check_writable(storage()));
  EXPECT_THAT(*storage().list(""), ElementsAre(StorageEntry{"a", true}));
}

TEST(FileSnapshotStorage, an_unusable_directory_is_named_with_reason_and_remedy) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "file") << "x";
  const auto storage = make_file_snapshot_storage(directory.path() / "file" / "checkpoints");
  const Error error = check_writable(*storage).error();
  EXPECT_EQ(error.code, Errc::output_failed);
  EXPECT_THAT(error.message, StartsWith("checkpoints cannot be kept in " + storage->root()));
  EXPECT_THAT(error.message, HasSubstr("Not a directory"));
  EXPECT_THAT(error.message, HasSubstr("--checkpoint-dir"));
}

TEST(FileSnapshotStorage, a_full_disk_is_an_error_that_leaves_no_file) {
  const TemporaryDirectory directory;
  const auto storage = make_file_snapshot_storage(directory.path());
  fs::create_symlink("/dev/full", directory.path() / "file");
  const Error error = write(*storage, "file", "x").error();
  EXPECT_EQ(error.code, Errc::output_failed);
  EXPECT_THAT(error.message, HasSubstr("/file: No space left on device"));
  EXPECT_THAT(*storage->list(""), ElementsAre());
}

TEST(FileSnapshotStorage, a_slash_at_the_end_of_the_root_means_nothing) {
  const TemporaryDirectory directory;
  const auto storage = make_file_snapshot_storage(directory.path().string() + "/x/");
  ASSERT_TRUE(check_writable(*storage));
  EXPECT_EQ(storage->root(), directory.path() / "x");
}

TEST(MemorySnapshotStorage, fails_where_a_test_wants_it) {
  MemorySnapshotStorage storage;
  storage.set_fault([](StorageCall call, const std::string& path) -> std::optional<Error> {
    if (call == StorageCall::close && path == "bad") return Error{Errc::output_failed, "no"};
    return std::nullopt;
  });
  EXPECT_TRUE(write(storage, "good", "x"));
  EXPECT_EQ(write(storage, "bad", "x").error().message, "no");
  EXPECT_THAT(storage.files(), ElementsAre("good"));
}

TEST(MemorySnapshotStorage, is_full_when_a_test_wants_it) {
  MemorySnapshotStorage storage;
  storage.set_capacity(3);
  EXPECT_TRUE(write(storage, "good", "xxx"));
  EXPECT_THAT(write(storage, "bad", "x").error().message, HasSubstr("No space left on device"));
}

TEST(CheckpointLayout, is_the_one_people_know) {
  EXPECT_EQ(checkpoint_directory({0xabcULL}, {12}), "0000000000000abc/chk-12");
  MemorySnapshotStorage storage;
  ASSERT_TRUE(make_job_directories(storage, {1}));
  EXPECT_THAT(*storage.list(job_directory({1})),
              ElementsAre(StorageEntry{"shared", true}, StorageEntry{"taskowned", true}));
}

TEST(CheckpointLayout, tells_checkpoints_from_other_names) {
  EXPECT_EQ(checkpoint_of("chk-12"), CheckpointId{12});
  for (const auto* name :
       {"chk-", "chk-1x", "chk-01", "chk--1", "shared", "chk-99999999999999999999"}) {
    EXPECT_EQ(checkpoint_of(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace weir
