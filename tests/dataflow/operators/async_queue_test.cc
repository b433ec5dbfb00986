#include "dataflow/operators/async_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <variant>

namespace weir {
namespace {

using Queue = AsyncQueue<bool>;  // of whether it is settled

Queue::Control watermark(std::int64_t ms) {
  return Watermark{EventTime{ms}};
}
// The next control that may leave; fails if an entry comes, or nothing may.
Queue::Control next_control(Queue& queue) {
  const auto next = queue.next([](bool settled) { return settled; });
  return std::get<Queue::Control>(next);
}

TEST(AsyncQueue, watermarks_behind_an_entry_that_waits_become_one) {
  Queue queue(AsyncOrder::ordered);
  const auto entry = std::make_shared<bool>(false);
  queue.add(entry);
  for (std::int64_t ms = 1; ms <= 1000; ++ms) queue.add(watermark(ms));
  EXPECT_EQ(queue.control_count(), 1U);
  *entry = true;
  EXPECT_EQ(std::get<Queue::Entry>(queue.next([](bool settled) { return settled; })), entry);
  EXPECT_EQ(next_control(queue), watermark(1000));
  EXPECT_EQ(queue.control_count(), 0U);
}

TEST(AsyncQueue, a_watermark_keeps_its_place_among_entries_and_other_controls) {
  Queue queue(AsyncOrder::unordered);
  const Queue::Control idle = WatermarkStatus{true};
  queue.add(watermark(1));
  queue.add(idle);
  queue.add(watermark(2));
  queue.add(std::make_shared<bool>(true));
  queue.add(watermark(3));
  EXPECT_EQ(queue.control_count(), 4U);
  EXPECT_EQ(next_control(queue), watermark(1));
  EXPECT_EQ(next_control(queue), idle);
  EXPECT_EQ(next_control(queue), watermark(2));
  EXPECT_TRUE(
      std::holds_alternative<Queue::Entry>(queue.next([](bool settled) { return settled; })));
  EXPECT_EQ(next_control(queue), watermark(3));
}

}  // namespace
}  // namespace weir
