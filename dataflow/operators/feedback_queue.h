// What goes from the end of a loop back to its beginning, within a process.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "base/ids.h"
#include "dataflow/batch.h"
#include "dataflow/runtime/element.h"

namespace weir {

// From one tail to one head, in order. It has no bound: a bound would be a deadlock, since the loop waits for itself. The head takes from
// it before it takes new input, so what is in it is what the loop itself has made of that. Thread-safe.
class FeedbackQueue {
 public:
  using Item = std::variant<BatchPtr, LoopMarker>;

  // Called when something comes into an empty queue. From the head, before anything is pushed or again after a restart.
  void set_waker(std::function<void()> waker) {
    const std::lock_guard lock(mutex_);
    waker_ = std::move(waker);
  }
  void push(Item item) {
    std::function<void()> waker;
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      items_.push_back(std::move(item));
      if (items_.size() == 1) waker = waker_;
    }
    if (waker) waker();
  }
  [[nodiscard]] std::optional<Item> take() {
    const std::lock_guard lock(mutex_);
    if (items_.empty()) return {};
    Item item = std::move(items_.front());
    items_.pop_front();
    return item;
  }
  [[nodiscard]] bool empty() const {
    const std::lock_guard lock(mutex_);
    return items_.empty();
  }
  // The head has ended: nothing is kept for it any more.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    items_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Item> items_;
  std::function<void()> waker_;
  bool closed_ = false;
};

// The queues of one loop in one process, by which its heads and tails find each other: those of a subtask are always in the same process,
// as their vertices have the same parallelism and slot group. Thread-safe.
class FeedbackHub {
 public:
  // The queue of this subtask in this attempt; those of earlier attempts are forgotten.
  [[nodiscard]] std::shared_ptr<FeedbackQueue> queue(AttemptId attempt, SubtaskIndex subtask) {
    const std::lock_guard lock(mutex_);
    std::erase_if(queues_, [attempt](const auto& entry) { return entry.first.first < attempt; });
    auto& queue = queues_[{attempt, subtask}];
    if (queue == nullptr) queue = std::make_shared<FeedbackQueue>();
    return queue;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<AttemptId, SubtaskIndex>, std::shared_ptr<FeedbackQueue>> queues_;
};

}  // namespace weir
