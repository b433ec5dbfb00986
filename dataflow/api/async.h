// Functions that answer later: requests to other services, many under way at once.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace weir {

// In the order of the records, or as answers come; but never across a watermark, so that what was on time stays so.
enum class AsyncOrder : std::uint8_t { ordered, unordered };

// When a request that failed is made again. The first of `attempts` is not a repetition.
struct AsyncRetry {
  std::uint32_t attempts = 1;
  Duration delay{100};
  double backoff = 1.0;  // the delay is multiplied by it each time
  Duration delay_max{10'000};
};

struct AsyncOptions {
  AsyncOrder order = AsyncOrder::ordered;
  std::size_t capacity = 100;  // records of one subtask under way or waiting for their turn
  Duration timeout = std::chrono::seconds{30};  // of a record, all its attempts together
  AsyncRetry retry = {};

  // What is wrong, for people.
  [[nodiscard]] std::optional<std::string> mistake() const {
    if (capacity == 0) return "an async_map has the capacity 0: it must be above 0";
    if (timeout <= Duration{0}) {
      return "an async_map has a timeout of " + std::to_string(timeout.count()) +
             " ms: it must be above 0";
    }
    if (retry.attempts == 0) return "an async_map makes 0 attempts: it must make at least one";
    if (retry.delay < Duration{0} || retry.backoff < 1.0)
      return "an async_map has a retry delay below 0 or a backoff below 1";
    return {};
  }
};

namespace async_detail {

template <class Out>
struct Answer {
  std::uint64_t request;
  std::uint32_t attempt;
  std::vector<Out> values;
  std::optional<std::string> failure;
};

// Where answers arrive, from any thread, until the operator takes them.
template <class Out>
class Inbox {
 public:
  explicit Inbox(std::function<void()> waker) : waker_(std::move(waker)) {}

  void push(Answer<Out> answer) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      answers_.push_back(std::move(answer));
      has_any_.store(true, std::memory_order_release);
      if (answers_.size() > 1) return;  // the operator knows
    }
    waker_();
  }
  [[nodiscard]] std::vector<Answer<Out>> take() {
    if (empty()) return {};
    const std::lock_guard lock(mutex_);
    has_any_.store(false, std::memory_order_relaxed);
    return std::exchange(answers_, {});
  }
  // Without a lock: it is asked for each record. Whoever pushes into an empty one calls the waker after that.
  [[nodiscard]] bool empty() const { return !has_any_.load(std::memory_order_acquire); }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    has_any_.store(false, std::memory_order_relaxed);
    answers_.clear();
  }

 private:
  const std::function<void()> waker_;
  mutable std::mutex mutex_;
  std::vector<Answer<Out>> answers_;
  std::atomic<bool> has_any_{false};
  bool closed_ = false;
};

}  // namespace async_detail

// Takes the answer to one request. Copies are the same request; the first answer counts, later ones and those after a timeout or
// the end of the task are ignored. From any thread, also within the call that made the request. One that is dropped without an answer
// times out.
template <class Out>
class AsyncResult {
 public:
  AsyncResult(std::shared_ptr<async_detail::Inbox<Out>> inbox, std::uint64_t request,
              std::uint32_t attempt)
      : inbox_(std::move(inbox)), request_(request), attempt_(attempt) {}

  void complete(Out value) const {
    std::vector<Out> values;
    values.push_back(std::move(value));
    complete_with(std::move(values));
  }
  // Any number of records, also none.
  void complete_with(std::vector<Out> values) const {
    inbox_->push({request_, attempt_, std::move(values), {}});
  }
  // The request is made again if attempts are left; else the task fails with these words.
  void fail(std::string why) const { inbox_->push({request_, attempt_, {}, std::move(why)}); }

 private:
  std::shared_ptr<async_detail::Inbox<Out>> inbox_;
  std::uint64_t request_;
  std::uint32_t attempt_;
};

}  // namespace weir
