#include "dataflow/connectors/unsynced_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/dataflow/connectors/temp_dir.h"

namespace weir {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(UnsyncedFiles, are_synced_once_with_their_directories) {
  const TempDir dir;
  UnsyncedFiles files;
  files.add(dir.write("a", "1"));
  dir.write("b", "2");
  files.add(dir.path("b"), open_to_read(dir.path("b")));
  files.add(dir.path("b"));
  files.add_directory(dir.path());
  EXPECT_THAT(files.paths(), ElementsAre(dir.path("a"), dir.path("b"), dir.path()));
  EXPECT_EQ(files.open_files(), 1U);
  ASSERT_TRUE(files.sync());
  EXPECT_TRUE(files.empty());
  EXPECT_EQ(files.open_files(), 0U);
}

TEST(UnsyncedFiles, name_the_one_that_is_gone_or_cannot_be_synced) {
  const TempDir dir;
  UnsyncedFiles files;
  files.add(dir.path("gone"));
  const auto gone = files.sync();
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, Errc::output_failed);
  EXPECT_THAT(gone.error().message,
              AllOf(HasSubstr("cannot open output"), HasSubstr(dir.path("gone"))));

  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const FileDescriptor reader(pipe[0]);
  files.add("pipe", FileDescriptor(pipe[1]));
  const auto unsyncable = files.sync();
  ASSERT_FALSE(unsyncable);
  EXPECT_THAT(unsyncable.error().message, HasSubstr("cannot sync output 'pipe'"));
}

// What it was opened with tells whether writing back has failed; the name does not matter.
TEST(UnsyncedFiles, need_no_name_if_they_are_held_open) {
  const TempDir dir;
  UnsyncedFiles files;
  dir.write("a", "1");
  files.add(dir.path("a"), open_to_read(dir.path("a")));
  std::filesystem::remove(dir.path("a"));
  EXPECT_TRUE(files.sync());
}

}  // namespace
}  // namespace weir
