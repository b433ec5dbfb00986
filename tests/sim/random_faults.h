// What simulated jobs with checkpoints go through, drawn from a seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <vector>

#include "actors/engine_context.h"
#include "base/random.h"

namespace weir {

// The first `count`, or the one that WEIR_SIM_SEED says.
inline std::vector<std::uint64_t> seeds(std::uint64_t count) {
  if (const char* seed = std::getenv("WEIR_SIM_SEED")) return {std::strtoull(seed, nullptr, 10)};
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  return all;
}

inline JobSettings settings_for(Random& random) {
  JobSettings settings;
  settings.checkpoints.interval = Duration{50 + static_cast<int>(random.below(200))};
  settings.checkpoints.directory = "/sim";
  settings.checkpoints.retained = 1 + static_cast<std::uint32_t>(random.below(3));
  settings.checkpoints.inline_threshold_bytes = random.below(2) == 0 ? 0 : 20'480;
  settings.restarts = FixedDelayRestart{.attempts = 1'000, .delay = Duration{10}};
  return settings;
}

// Tasks fail at some of their steps, each time another phase of a checkpoint.
class FailsNowAndThen : public FaultInjection {
 public:
  FailsNowAndThen(std::uint64_t seed, int failures) : random_(seed), left_(failures) {}
  [[nodiscard]] std::optional<Error> fails(TaskId) override {
    if (left_ == 0 || random_.below(400) != 0) return std::nullopt;
    --left_;
    return Error{Errc::user_code, "injected"};
  }

 private:
  Random random_;
  int left_;
};

}  // namespace weir
