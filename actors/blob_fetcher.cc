#include "actors/blob_fetcher.h"

#include <optional>
#include <utility>

namespace weir {
namespace {

constexpr std::size_t checked_bytes = std::size_t{4} << 20;  // of a blob, in one turn

}  // namespace

// How far an order is.
class BlobFetcher::Progress {
 public:
  Progress(Order order, BlobFetcher& fetcher)
      : order_(std::move(order)),
        blobs_(fetcher.blobs_.get()),
        ask_(&fetcher.ask_),
        logger_(&fetcher.logger_),
        given_up_(&fetcher.given_up_) {}

  // One piece; how it ended, if it has.
  std::optional<Result<void>> advance() {
    if (!order_.is_wanted()) {
      if (incoming_) *given_up_ = std::exchange(incoming_, std::nullopt);
      return Error{Errc::cancelled, "nobody waits for it any more"};
    }
    if (next_ == order_.blobs.size()) return Result<void>();
    const std::string& name = order_.blobs[next_];
    const auto id = parse_blob_id(name);
    if (!id) return Error{Errc::corrupt_data, "the job names a blob '" + name + "', no SHA-256"};
    const auto advanced = is_fetching_ ? fetch_piece(*id) : check_piece(*id);
    if (!advanced) return advanced.error();
    return {};
  }
  void done(const Result<void>& how) { order_.done(how); }

 private:
  void go_on() {
    ++next_;
    is_fetching_ = false;
    check_.reset();
    incoming_.reset();
  }

  Result<void> check_piece(const BlobId& id) {
    if (!check_ && !blobs_->has(id)) {
      is_fetching_ = true;
      return {};
    }
    if (!check_) {
      auto begun = blobs_->begin_check(id);
      if (!begun) return begun.error();
      check_ = *std::move(begun);
    }
    const auto outcome = check_->step(checked_bytes);
    if (!outcome) return outcome.error();
    if (*outcome == BlobCheck::Outcome::intact) go_on();
    if (*outcome == BlobCheck::Outcome::damaged) {
      logger_->warning(blobs_->path_of(id).string() + " is damaged and fetched again");
      is_fetching_ = true;
    }
    return {};
  }

  Result<void> fetch_piece(const BlobId& id) {
    const std::string& name = order_.blobs[next_];
    if (!incoming_ && *given_up_ && (*given_up_)->blob == id)
      incoming_ = std::exchange(*given_up_, std::nullopt);
    const auto chunk = (*ask_)(FetchChunk{name, incoming_ ? incoming_->incoming.received() : 0});
    if (!chunk) return chunk.error();
    if (chunk->error) return *chunk->error;
    if (!incoming_) {
      auto begun =
          blobs_->begin_upload({.id = id, .size_bytes = chunk->total_bytes, .executable = true});
      if (!begun) return begun.error();
      incoming_.emplace(Part{id, *std::move(begun)});
    }
    BlobUpload& incoming = incoming_->incoming;
    WEIR_TRY(incoming.append(incoming.received(), chunk->bytes));
    if (incoming.received() < chunk->total_bytes) {
      if (!chunk->bytes.empty()) return {};
      return Error{Errc::corrupt_data, "blob " + name + " ends early at the master"};
    }
    WEIR_TRY(incoming.finish());
    go_on();
    return {};
  }

  Order order_;
  BlobStore* blobs_;
  const Ask* ask_;
  const Logger* logger_;
  std::size_t next_ = 0;
  bool is_fetching_ = false;
  std::optional<BlobCheck> check_;
  std::optional<Part> incoming_;
  std::optional<Part>* given_up_;  // of the fetcher
};

BlobFetcher::BlobFetcher(std::shared_ptr<BlobStore> blobs, Ask ask, Logger logger)
    : blobs_(std::move(blobs)), ask_(std::move(ask)), logger_(std::move(logger)) {
  thread_ = std::thread([this] { run(); });
}

BlobFetcher::~BlobFetcher() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BlobFetcher::fetch(Order order) {
  {
    const std::scoped_lock lock(mutex_);
    under_way_.push_back(std::make_unique<Progress>(std::move(order), *this));
  }
  changed_.notify_all();
}

void BlobFetcher::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !under_way_.empty(); });
    if (stopping_) return;
    auto progress = std::move(under_way_.front());
    under_way_.pop_front();
    lock.unlock();
    const auto how = progress->advance();
    if (how) progress->done(*how);
    lock.lock();
    if (!how) under_way_.push_back(std::move(progress));
  }
}

}  // namespace weir
