#include "base/clock.h"

#include <thread>

namespace weir {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return std::chrono::steady_clock::now(); }
  [[nodiscard]] ProcessingTime processing_time() const override {
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    return {std::chrono::duration_cast<Duration>(since_epoch).count()};
  }
};

}  // namespace

const Clock& system_clock() {
  // Never destroyed: a user function that never returns still looks at it when the process exits.
  static const auto* clock = new SystemClock;
  return *clock;
}

void pause_thread(Duration length) {
  std::this_thread::sleep_for(length);
}

}  // namespace weir
