// A memory barrier between two threads of which one pays for both.
#pragma once

#include <atomic>

namespace weir {

// Dekker's pattern, each thread stores and then reads what the other one stores, without a locked operation in
// the thread that does it often. Of a frequent thread that calls light_barrier() between its store and its load and
// a rare one that calls heavy_barrier() there, at least one reads what the other has stored.
// Linux: membarrier(2), "private expedited"; about a microsecond.

// False where the kernel has no such call or forbids it; then heavy_barrier() must not be called. Thread-safe.
[[nodiscard]] bool has_asymmetric_barriers();

void heavy_barrier();
inline void light_barrier() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace weir
