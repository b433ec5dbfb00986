#include "state/asymmetric_barrier.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace weir {
namespace {

struct alignas(64) Cell {
  std::atomic<int> value{0};
};

// The other thread may have lost its processor.
void wait_for(const Cell& cell, int round) {
  for (int spins = 0; cell.value.load(std::memory_order_acquire) != round; ++spins) {
    if (spins > 1000) std::this_thread::yield();
  }
}

// Each round, both threads store and then read what the other one stores.
TEST(AsymmetricBarrier, one_of_two_threads_at_least_sees_what_the_other_one_stored) {
  if (!has_asymmetric_barriers()) GTEST_SKIP() << "the kernel has no membarrier";
  constexpr int rounds = 20'000;
  Cell frequent, rare, started, finished;
  int seen_by_rare = 0;
  std::thread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      wait_for(started, round);
      rare.value.store(round, std::memory_order_relaxed);
      heavy_barrier();
      seen_by_rare = frequent.value.load(std::memory_order_relaxed);
      finished.value.store(round, std::memory_order_release);
    }
  });
  int both_missed = 0;
  for (int round = 1; round <= rounds; ++round) {
    started.value.store(round, std::memory_order_release);
    // Some rounds later than others, so that the stores meet.
    for (int i = 0; i < round % 64; ++i) light_barrier();
    frequent.value.store(round, std::memory_order_relaxed);
    light_barrier();
    const int seen = rare.value.load(std::memory_order_relaxed);
    wait_for(finished, round);
    if (seen != round && seen_by_rare != round) ++both_missed;
  }
  other.join();
  EXPECT_EQ(both_missed, 0);
}

}  // namespace
}  // namespace weir
