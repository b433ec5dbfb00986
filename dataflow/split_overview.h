// What people are shown of the splits that an operator has watermarks for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace weir {

// Of the splits that have begun and not ended.
struct SplitOverview {
  static constexpr std::size_t idle_ids_max = 5;

  std::uint32_t splits = 0;
  std::uint32_t idle = 0;
  std::vector<std::string> idle_ids = {};  // the first of them
  // Of those that are not idle, the one whose watermark is the least: "" if there is none.
  std::string holder = {};
  EventTime least = EventTime::min();     // its watermark; min(): it has none yet
  EventTime furthest = EventTime::min();  // the largest of them
  friend bool operator==(const SplitOverview&, const SplitOverview&) = default;
};

// Thread-safe: the task writes, whoever reports reads. The times may be of another moment than the names.
class SplitBoard {
 public:
  // When splits begin, end, fall silent or wake, or another one is the holder.
  void show(SplitOverview overview) {
    show(overview.least, overview.furthest);
    const std::lock_guard lock(mutex_);
    overview_ = std::move(overview);
  }
  // When nothing but the times has changed.
  void show(EventTime least, EventTime furthest) {
    least_ms_.store(least.ms, std::memory_order_relaxed);
    furthest_ms_.store(furthest.ms, std::memory_order_relaxed);
  }
  [[nodiscard]] SplitOverview read() const {
    const std::lock_guard lock(mutex_);
    SplitOverview overview = overview_;
    overview.least = {least_ms_.load(std::memory_order_relaxed)};
    overview.furthest = {furthest_ms_.load(std::memory_order_relaxed)};
    return overview;
  }

 private:
  mutable std::mutex mutex_;
  SplitOverview overview_;
  std::atomic<std::int64_t> least_ms_{EventTime::min().ms};
  std::atomic<std::int64_t> furthest_ms_{EventTime::min().ms};
};

}  // namespace weir
