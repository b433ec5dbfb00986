// Decides whether and when what has failed is started again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

namespace weir {

// The first failure is final.
struct NoRestart {
  friend bool operator==(const NoRestart&, const NoRestart&) = default;
};

struct FixedDelayRestart {
  std::uint32_t attempts = 1;
  Duration delay{1000};
  friend bool operator==(const FixedDelayRestart&, const FixedDelayRestart&) = default;
};

// Gives up when more than max_failures come within an interval.
struct FailureRateRestart {
  std::uint32_t max_failures = 1;
  Duration interval{60'000};
  Duration delay{1000};
  friend bool operator==(const FailureRateRestart&, const FailureRateRestart&) = default;
};

// The delay grows with each failure up to `max`, and is `initial` again after `reset_threshold` without one. What fails
// before the restart that is due already is part of the same attempt.
struct ExponentialDelayRestart {
  Duration initial{1000};
  Duration max{60'000};
  double multiplier = 1.5;
  Duration reset_threshold{3'600'000};
  double jitter = 0.1;                      // the part of the delay that it varies by, up or down
  std::optional<std::uint32_t> attempts{};  // between two resets; none: no bound
  friend bool operator==(const ExponentialDelayRestart&, const ExponentialDelayRestart&) = default;
};

// The defaults are Flink's. Has a codec.
using RestartSettings =
    std::variant<NoRestart, FixedDelayRestart, FailureRateRestart, ExponentialDelayRestart>;

// For jobs that name none: exponential delay if they take checkpoints, otherwise none.
[[nodiscard]] RestartSettings default_restart(bool takes_checkpoints);

// Errc::bad_option, naming what is wrong and what to do about it.
[[nodiscard]] Result<void> check(const RestartSettings& settings);

// A pure state machine. Not thread-safe.
class RestartStrategy {
 public:
  virtual ~RestartStrategy() = default;
  // How long from now to wait with the restart; nothing: give up. Time does not go back from call to call.
  [[nodiscard]] virtual std::optional<Duration> on_failure(MonotonicTime now) = 0;
};

// `random` is for the jitter. Requires check(settings).
[[nodiscard]] std::unique_ptr<RestartStrategy> make_restart_strategy(
    const RestartSettings& settings, Random random);

}  // namespace weir
