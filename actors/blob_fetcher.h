// Brings to a worker what its jobs consist of.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/messages.h"
#include "base/log.h"
#include "net/blob_store.h"

namespace weir {

// Of several orders each has a piece in turn, so that a small one does not wait for a large one. What the store has already
// is checked once, and fetched again if it is damaged. What has come of a blob when nobody waits for it any more is kept
// for the next order: a job that is restarted until its program is there gets on.
//
// Thread-safe. One thread of its own, on which `done` is called; orders that are not done when it is destroyed are
// forgotten.
class BlobFetcher {
 public:
  using Ask = std::function<Result<BlobChunk>(const FetchChunk&)>;  // may block
  using Done = std::function<void(Result<void>)>;
  // `is_wanted` is asked before each piece; if not, it is done with Errc::cancelled.
  struct Order {
    std::vector<std::string> blobs;
    std::function<bool()> is_wanted;
    Done done;
  };

  BlobFetcher(std::shared_ptr<BlobStore> blobs, Ask ask, Logger logger);
  BlobFetcher(const BlobFetcher&) = delete;
  BlobFetcher& operator=(const BlobFetcher&) = delete;
  ~BlobFetcher();

  void fetch(Order order);

 private:
  class Progress;
  struct Part {
    BlobId blob;
    BlobUpload incoming;
  };
  void run();

  const std::shared_ptr<BlobStore> blobs_;
  const Ask ask_;
  const Logger logger_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Progress>> under_way_;  // bounded by the worker's slots
  bool stopping_ = false;
  std::optional<Part> given_up_;  // the latest; of the thread
  std::thread thread_;
};

}  // namespace weir
