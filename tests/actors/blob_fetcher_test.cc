#include "actors/blob_fetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/files.h"

namespace weir {
namespace {

constexpr std::size_t piece = 1000;

// A master with blobs, of which it gives a thousand bytes at a time.
class FakeMaster {
 public:
  std::string keep(const std::string& content) {
    const std::string path = directory_.write("content", content);
    const std::string id = to_string(*hash_file(path));
    blobs_[id] = content;
    return id;
  }
  Result<BlobChunk> answer(const FetchChunk& query) {
    ++asked_;
    const auto found = blobs_.find(query.id);
    if (found == blobs_.end()) return BlobChunk{{}, 0, Error{Errc::input_missing, "no blob"}};
    const std::string text = found->second.substr(query.offset, piece);
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return BlobChunk{Bytes(begin, begin + text.size()), found->second.size(), {}};
  }
  int asked() const { return asked_; }

 private:
  TemporaryDirectory directory_;
  std::map<std::string, std::string> blobs_;
  std::atomic<int> asked_{0};
};

class BlobFetcherTest : public testing::Test {
 protected:
  std::future<Result<void>> fetch(BlobFetcher& fetcher, std::vector<std::string> blobs) {
    const auto done = std::make_shared<std::promise<Result<void>>>();
    fetcher.fetch({.blobs = std::move(blobs),
                   .is_wanted = [this] { return wanted_.load(); },
                   .done = [done](const Result<void>& how) { done->set_value(how); }});
    return done->get_future();
  }
  [[nodiscard]] std::string path_of(const std::string& id) const {
    return store_->path_of(*parse_blob_id(id)).string();
  }

  TemporaryDirectory directory_;
  FakeMaster master_;
  std::shared_ptr<BlobStore> store_ =
      std::make_shared<BlobStore>(*BlobStore::open(directory_.file("blobs")));
  std::atomic<bool> wanted_{true};
};

TEST_F(BlobFetcherTest, brings_what_is_missing_once) {
  const std::string first = master_.keep(std::string(2500, 'a'));
  const std::string second = master_.keep("short");
  BlobFetcher fetcher(
      store_, [this](const FetchChunk& query) { return master_.answer(query); }, Logger());
  EXPECT_TRUE(fetch(fetcher, {first, second}).get());
  EXPECT_EQ(read_file(path_of(first)), std::string(2500, 'a'));
  EXPECT_EQ(read_file(path_of(second)), "short");
  EXPECT_EQ(master_.asked(), 4);
  EXPECT_TRUE(fetch(fetcher, {first, second}).get());
  EXPECT_EQ(master_.asked(), 4);
}

// The first piece of the large one waits until the small order is done: in vain, were they fetched one after the other.
TEST_F(BlobFetcherTest, a_small_order_does_not_wait_for_a_large_one) {
  const std::string large = master_.keep(std::string(1'000 * piece, 'x'));
  const std::string small = master_.keep("small");
  std::atomic<int> of_large{0};
  std::atomic<int> of_large_when_small_came{0};
  std::promise<void> both_ordered;
  auto go = both_ordered.get_future().share();
  BlobFetcher fetcher(
      store_,
      [&](const FetchChunk& query) {
        go.wait();
        if (query.id == large) ++of_large;
        if (query.id == small) of_large_when_small_came = of_large.load();
        return master_.answer(query);
      },
      Logger());
  auto large_came = fetch(fetcher, {large});
  auto small_came = fetch(fetcher, {small});
  both_ordered.set_value();
  EXPECT_TRUE(small_came.get());
  EXPECT_TRUE(large_came.get());
  EXPECT_LT(of_large_when_small_came.load(), 10);
}

TEST_F(BlobFetcherTest, what_is_damaged_in_the_store_is_fetched_again) {
  const std::string content(2500, 'a');
  const std::string blob = master_.keep(content);
  BlobFetcher fetcher(
      store_, [this](const FetchChunk& query) { return master_.answer(query); }, Logger());
  for (const std::string& damaged : {content.substr(0, 100), std::string(2500, 'b')}) {
    EXPECT_TRUE(fetch(fetcher, {blob}).get());
    std::filesystem::remove(path_of(blob));
    std::ofstream(path_of(blob)) << damaged;
    EXPECT_TRUE(fetch(fetcher, {blob}).get());
    EXPECT_EQ(read_file(path_of(blob)), content);
  }
}

TEST_F(BlobFetcherTest, what_came_for_an_order_that_was_given_up_is_not_asked_for_again) {
  const std::string content(10 * piece, 'x');
  const std::string blob = master_.keep(content);
  BlobFetcher fetcher(
      store_,
      [this](const FetchChunk& query) {
        if (master_.asked() == 5) wanted_ = false;
        return master_.answer(query);
      },
      Logger());
  EXPECT_EQ(fetch(fetcher, {blob}).get().error().code, Errc::cancelled);
  EXPECT_EQ(master_.asked(), 6);
  wanted_ = true;
  EXPECT_TRUE(fetch(fetcher, {blob}).get());
  EXPECT_EQ(master_.asked(), 10);
  EXPECT_EQ(read_file(path_of(blob)), content);
}

TEST_F(BlobFetcherTest, what_cannot_be_brought_is_told) {
  BlobFetcher fetcher(
      store_, [this](const FetchChunk& query) { return master_.answer(query); }, Logger());
  EXPECT_EQ(fetch(fetcher, {"nonsense"}).get().error().code, Errc::corrupt_data);
  EXPECT_EQ(fetch(fetcher, {std::string(64, '0')}).get().error().code, Errc::input_missing);
  wanted_ = false;
  EXPECT_EQ(fetch(fetcher, {master_.keep("any")}).get().error().code, Errc::cancelled);
}

}  // namespace
}  // namespace weir
