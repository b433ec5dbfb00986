// What a task tells about itself while it runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace weir {

// Of one exchange of a task.
struct ExchangeMetrics {
  std::atomic<std::uint64_t> records_out{0};
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> in_flight_bytes{0};
  std::atomic<std::uint64_t> window_bytes{0};
  // Of a hash exchange, see KeyGroupSample.
  std::atomic<std::uint64_t> sampled_records{0};
  std::atomic<std::uint64_t> largest_group_records{0};
  std::atomic<std::uint32_t> largest_group{0};
};

// Written by the task alone, read by anybody; each figure is right by itself, not all at one
// instant.
struct TaskMetrics {
  explicit TaskMetrics(std::size_t exchange_count = 0) : exchanges(exchange_count) {}

  std::atomic<std::uint64_t> records_in{0};
  std::atomic<std::uint64_t> head_records_out{
      0};  // by the chain's first operator: what a source has read
  std::atomic<std::uint64_t> records_out{0};  // into exchanges
  std::atomic<std::uint64_t> read_units{0};   // of a source: see SourceOperator::read_units
  std::atomic<std::int64_t> watermark_ms{EventTime::min().ms};  // of its input; a source's output
  std::atomic<std::uint64_t> bytes_in{0};                       // as credit counts them
  std::atomic<std::uint64_t> bytes_out{0};
  std::atomic<std::uint64_t> queued_bytes{0};     // in the input gate
  std::atomic<std::uint64_t> in_flight_bytes{0};  // sent and not yet consumed
  std::atomic<std::uint64_t> window_bytes{0};     // what may be, over all outgoing channels
  std::atomic<std::uint64_t> busy_ns{0};
  std::atomic<std::uint64_t> backpressured_ns{0};       // work waited for room in an exchange
  std::atomic<std::int64_t> backpressured_since_ns{0};  // such a wait is under way; 0: none
  // Of a source that waits for others: the aligned step of its chain that is ahead of its group, from 1; 0: it does not wait.
  std::atomic<std::uint32_t> waits_for_step{0};
  // For the watchdog: when the step under way began, on the monotonic clock, 0 between steps; and
  // which operator of the chain was called last.
  std::atomic<std::int64_t> step_began_ns{0};
  std::atomic<std::uint32_t> stage_called{0};
  std::vector<ExchangeMetrics> exchanges;  // in the order of the chain's, or empty: nobody asks
};

// One writer, so a plain load and store will do: no locked instruction in the loop.
template <class N>
void add(std::atomic<N>& counter, std::uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + static_cast<N>(by),
                std::memory_order_relaxed);
}
template <class N>
void set(std::atomic<N>& gauge, N value) {
  gauge.store(value, std::memory_order_relaxed);
}

}  // namespace weir
