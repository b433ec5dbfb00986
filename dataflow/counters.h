// Counts that user functions keep for the people who run the job.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace weir {

// What a function counts, added up over the subtasks of its step. Shown while the job runs and in its result. It is no state: it begins at
// 0 with each attempt. Had from FunctionContext::counter; one thread adds.
class Counter {
 public:
  Counter() = default;
  explicit Counter(std::atomic<std::int64_t>& cell) : cell_(&cell) {}

  void add(std::int64_t amount = 1) {
    WEIR_CHECK(cell_ != nullptr);  // had from nowhere: ask FunctionContext::counter in open
    cell_->store(cell_->load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

 private:
  std::atomic<std::int64_t>* cell_ =
      nullptr;  // of the operator's metrics, which outlive the function
};

// The counters of one operator instance. Thread-safe: the task adds names, whoever reports reads.
class CounterSet {
 public:
  // The same for the same name. Stays where it is.
  [[nodiscard]] std::atomic<std::int64_t>& cell(const std::string& name) {
    const std::lock_guard lock(mutex_);
    for (auto& [known, value] : cells_) {
      if (known == name) return value;
    }
    return cells_
        .emplace_back(std::piecewise_construct, std::forward_as_tuple(name),
                      std::forward_as_tuple(0))
        .second;
  }
  // Calls visit(name, value).
  template <class Visit>
  void for_each(Visit visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, value] : cells_) visit(name, value.load(std::memory_order_relaxed));
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::pair<std::string, std::atomic<std::int64_t>>> cells_;
};

}  // namespace weir
