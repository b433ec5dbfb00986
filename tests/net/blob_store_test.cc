#include "net/blob_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/codec.h"
#include "tests/support/files.h"

namespace weir {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

static_assert(Encodable<BlobId>);

const BlobId id_of_abc =
    parse_blob_id("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad").value();

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.push_back(entry.path().filename().string());
  return names;
}

class BlobStoreTest : public testing::Test {
 protected:
  BlobUpload begin(std::uint64_t size, bool executable = false) {
    return store.begin_upload({id_of_abc, size, executable}).value();
  }
  std::vector<std::string> leftovers() const { return names_in(directory / "incoming"); }

  TemporaryDirectory files;
  fs::path directory = files.file("store/of/blobs");
  BlobStore store = BlobStore::open(directory).value();
};

TEST(BlobId, reads_what_it_writes_and_nothing_else) {
  EXPECT_EQ(parse_blob_id(to_string(id_of_abc)), id_of_abc);
  EXPECT_EQ(parse_blob_id(""), std::nullopt);
  EXPECT_EQ(parse_blob_id("../../etc/passwd"), std::nullopt);
  EXPECT_EQ(parse_blob_id(std::string(63, 'a')), std::nullopt);
  EXPECT_EQ(parse_blob_id(std::string(65, 'a')), std::nullopt);
  EXPECT_EQ(parse_blob_id(std::string(63, 'a') + 'g'), std::nullopt);
  EXPECT_EQ(parse_blob_id(std::string(63, 'a') + 'A'), std::nullopt);
}

TEST_F(BlobStoreTest, a_hash_is_what_sha256sum_says) {
  const std::string big(1'000'000, 'x');
  for (const std::string& content : {std::string(), std::string("abc"), big}) {
    const std::string path = files.write("content", content);
    ASSERT_EQ(std::system(("sha256sum < " + path + " > " + files.file("sum")).c_str()), 0);
    EXPECT_EQ(to_string(hash_file(path).value()), read_file(files.file("sum")).substr(0, 64));
  }
}

TEST_F(BlobStoreTest, what_cannot_be_hashed_is_said_plainly) {
  const std::string missing = files.file("missing");
  EXPECT_EQ(hash_file(missing).error().message,
            "cannot read " + missing + ": No such file or directory");
  EXPECT_EQ(hash_file(missing).error().code, Errc::input_missing);
  EXPECT_EQ(hash_file("/").error().message, "cannot read /: Is a directory");
  EXPECT_EQ(hash_file("/dev/zero").error().message, "cannot read /dev/zero: not a regular file");
  EXPECT_EQ(store.put_file(missing).error().code, Errc::input_missing);
}

TEST_F(BlobStoreTest, a_file_that_was_put_can_be_read_in_pieces) {
  const BlobId id = store.put_file(files.write("file", "abc")).value();
  EXPECT_EQ(id, id_of_abc);
  EXPECT_TRUE(store.has(id));
  EXPECT_EQ(store.size_of(id).value(), 3U);
  EXPECT_EQ(read_file(store.path_of(id)), "abc");
  EXPECT_EQ(text_of(store.read(id, 0, 2).value()), "ab");
  EXPECT_EQ(text_of(store.read(id, 2, 100).value()), "c");
  EXPECT_THAT(store.read(id, 3, 100).value(), IsEmpty());
  EXPECT_THAT(store.read(id, 1ULL << 62, 100).value(), IsEmpty());
  EXPECT_TRUE(store.verify(id));
}

TEST_F(BlobStoreTest, a_missing_blob_is_named) {
  EXPECT_FALSE(store.has(id_of_abc));
  const auto read = store.read(id_of_abc, 0, 1);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::input_missing);
  EXPECT_THAT(read.error().message, HasSubstr(to_string(id_of_abc)));
  EXPECT_EQ(store.size_of(id_of_abc).error().code, Errc::input_missing);
  EXPECT_EQ(store.verify(id_of_abc).error().code, Errc::input_missing);
  EXPECT_TRUE(store.remove(id_of_abc));
}

TEST_F(BlobStoreTest, a_program_stays_executable_and_can_be_executed) {
  const std::string script = files.write("script", "#!/bin/sh\nexit 7\n");
  const BlobId plain = store.put_file(script).value();
  EXPECT_EQ(mode_of(store.path_of(plain)), 0444U);
  ::chmod(script.c_str(), 0755);
  EXPECT_EQ(store.put_file(script).value(), plain);
  EXPECT_EQ(mode_of(store.path_of(plain)), 0555U);
  EXPECT_EQ(WEXITSTATUS(std::system(store.path_of(plain).c_str())), 7);
  ::chmod(script.c_str(), 0644);
  EXPECT_EQ(store.put_file(script).value(), plain);
  EXPECT_EQ(mode_of(store.path_of(plain)), 0555U);
}

TEST_F(BlobStoreTest, an_upload_is_visible_when_it_is_finished_and_not_before) {
  BlobUpload upload = begin(3, true);
  EXPECT_TRUE(upload.append(0, bytes_of("a")));
  EXPECT_TRUE(upload.append(1, bytes_of("bc")));
  EXPECT_EQ(upload.received(), 3U);
  EXPECT_FALSE(store.has(id_of_abc));
  EXPECT_EQ(store.total_bytes(), 0U);
  EXPECT_TRUE(upload.finish());
  EXPECT_EQ(read_file(store.path_of(id_of_abc)), "abc");
  EXPECT_EQ(mode_of(store.path_of(id_of_abc)), 0555U);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(BlobStoreTest, pieces_that_do_not_follow_each_other_are_refused) {
  BlobUpload upload = begin(3);
  ASSERT_TRUE(upload.append(0, bytes_of("a")));
  const std::string blob = "blob " + to_string(id_of_abc) + ": ";
  EXPECT_EQ(upload.append(0, bytes_of("a")).error().message,
            blob + "bytes from 0 on came when 1 had been received");
  EXPECT_EQ(upload.append(2, bytes_of("c")).error().message,
            blob + "bytes from 2 on came when 1 had been received");
  EXPECT_EQ(upload.append(1, bytes_of("bcd")).error().message,
            blob + "it is longer than the 3 bytes announced");
  EXPECT_TRUE(upload.append(1, bytes_of("bc")));
  EXPECT_TRUE(upload.finish());
}

TEST_F(BlobStoreTest, an_upload_that_is_not_what_it_said_is_refused_and_gone) {
  const std::string blob = "blob " + to_string(id_of_abc) + ": ";
  BlobUpload damaged = begin(3);
  ASSERT_TRUE(damaged.append(0, bytes_of("abd")));
  const auto refused = damaged.finish();
  EXPECT_EQ(refused.error().code, Errc::corrupt_data);
  EXPECT_THAT(refused.error().message, HasSubstr(blob + "what was received has the hash a52d159f"));

  BlobUpload cut = begin(3);
  ASSERT_TRUE(cut.append(0, bytes_of("ab")));
  EXPECT_EQ(cut.finish().error().message, blob + "2 of 3 bytes were received");

  EXPECT_FALSE(store.has(id_of_abc));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(BlobStoreTest, an_upload_given_up_leaves_nothing) {
  {
    BlobUpload upload = begin(3);
    ASSERT_TRUE(upload.append(0, bytes_of("ab")));
    EXPECT_EQ(leftovers().size(), 1U);
  }
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(BlobStoreTest, what_a_crash_leaves_is_removed_and_blobs_stay) {
  const TemporaryDirectory crashing;
  const pid_t process = ::fork();
  if (process == 0) {
    auto own = BlobStore::open(crashing.file("store")).value();
    (void)own.put_file(files.write("file", "abc"));
    auto upload = own.begin_upload({{}, 100}).value();
    (void)upload.append(0, bytes_of("half"));
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(process, nullptr, 0);
  EXPECT_EQ(names_in(crashing.file("store/incoming")).size(), 1U);
  const auto reopened = BlobStore::open(crashing.file("store")).value();
  EXPECT_THAT(names_in(crashing.file("store/incoming")), IsEmpty());
  EXPECT_TRUE(reopened.verify(id_of_abc));
}

TEST_F(BlobStoreTest, a_directory_that_somebody_removed_is_made_anew) {
  std::filesystem::remove_all(directory);
  EXPECT_FALSE(store.has(id_of_abc));
  const BlobId id = store.put_file(files.write("file", "abc")).value();
  EXPECT_EQ(read_file(store.path_of(id)), "abc");
}

TEST_F(BlobStoreTest, a_directory_has_one_store_at_a_time) {
  const auto second = BlobStore::open(directory);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "another process uses the directory " + directory.string() +
                                        ": choose another with --data-dir");
}

TEST_F(BlobStoreTest, a_directory_that_cannot_be_is_named) {
  const std::string file = files.write("file", "");
  EXPECT_EQ(BlobStore::open(file + "/store").error().message,
            "cannot create " + file + "/store: Not a directory");
  EXPECT_EQ(BlobStore::open(file).error().code, Errc::output_failed);
}

TEST_F(BlobStoreTest, total_bytes_counts_complete_blobs_and_removed_ones_are_gone) {
  const BlobId abc = store.put_file(files.write("file", "abc")).value();
  const BlobId other = store.put_file(files.write("file", "12345")).value();
  BlobUpload upload = begin(3);
  ASSERT_TRUE(upload.append(0, bytes_of("ab")));
  EXPECT_EQ(store.total_bytes(), 8U);
  EXPECT_TRUE(store.remove(other));
  EXPECT_FALSE(store.has(other));
  EXPECT_EQ(store.total_bytes(), 3U);
  EXPECT_TRUE(store.has(abc));
}

TEST_F(BlobStoreTest, damage_on_disk_is_found) {
  const BlobId id = store.put_file(files.write("file", "abc")).value();
  EXPECT_TRUE(store.verify(id));
  ::chmod(store.path_of(id).c_str(), 0644);
  std::ofstream(store.path_of(id)) << "abd";
  const auto verified = store.verify(id);
  EXPECT_EQ(verified.error().code, Errc::corrupt_data);
  EXPECT_THAT(verified.error().message, HasSubstr(" is damaged: it has another hash"));
}

// The limit on file sizes is a disk that fills up, for this process alone.
TEST_F(BlobStoreTest, a_full_disk_is_told_with_path_and_reason) {
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const std::string source = files.write("file", std::string(100'000, 'x'));
  const rlimit small{50'000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto put = store.put_file(source);
  BlobUpload upload = store.begin_upload({hash_file(source).value(), 100'000}).value();
  const auto appended = upload.append(0, bytes_of(std::string(100'000, 'x')));
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, SIG_DFL);

  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, Errc::output_failed);
  EXPECT_THAT(put.error().message, testing::MatchesRegex("cannot write .*/incoming/......: "
                                                         "File too large"));
  EXPECT_EQ(appended.error().code, Errc::output_failed);
  EXPECT_EQ(leftovers().size(), 1U);

  // Space again: the piece may be sent once more.
  EXPECT_EQ(upload.received(), 0U);
  EXPECT_TRUE(upload.append(0, bytes_of(std::string(100'000, 'x'))));
  EXPECT_TRUE(upload.finish());
  EXPECT_TRUE(store.verify(hash_file(source).value()));
}

TEST_F(BlobStoreTest, the_same_blob_may_come_from_many_at_once) {
  const std::string content(300'000, 'y');
  const std::string path = files.write("file", content);
  const BlobId id = hash_file(path).value();
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 10; ++n) {
        if (t % 2 == 0) {
          if (store.put_file(path)) ++done;
        } else {
          auto upload = store.begin_upload({id, content.size(), t == 1}).value();
          const bool taken = upload.append(0, bytes_of(content)) && upload.finish();
          if (taken) ++done;
        }
        if (store.has(id) && !store.verify(id)) ADD_FAILURE() << "half a blob was visible";
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(done, 80);
  EXPECT_EQ(store.total_bytes(), content.size());
  EXPECT_EQ(mode_of(store.path_of(id)), 0555U);
  EXPECT_THAT(leftovers(), IsEmpty());
}

}  // namespace
}  // namespace weir
