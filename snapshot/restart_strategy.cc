#include "snapshot/restart_strategy.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>

#include "base/check.h"

namespace weir {
namespace {

class Never final : public RestartStrategy {
 public:
  explicit Never(const NoRestart&) {}
  std::optional<Duration> on_failure(MonotonicTime) override { return std::nullopt; }
};

class FixedDelay final : public RestartStrategy {
 public:
  explicit FixedDelay(const FixedDelayRestart& settings) : settings_(settings) {}
  std::optional<Duration> on_failure(MonotonicTime) override {
    if (restarts_ >= settings_.attempts) return std::nullopt;
    ++restarts_;
    return settings_.delay;
  }

 private:
  FixedDelayRestart settings_;
  std::uint32_t restarts_ = 0;
};

class FailureRate final : public RestartStrategy {
 public:
  explicit FailureRate(const FailureRateRestart& settings) : settings_(settings) {}
  std::optional<Duration> on_failure(MonotonicTime now) override {
    failures_.push_back(now);
    while (now - failures_.front() > settings_.interval) failures_.pop_front();
    if (failures_.size() > settings_.max_failures) return std::nullopt;
    return settings_.delay;
  }

 private:
  FailureRateRestart settings_;
  std::deque<MonotonicTime> failures_;  // those of the last interval
};

class ExponentialDelay final : public RestartStrategy {
 public:
  ExponentialDelay(const ExponentialDelayRestart& settings, Random random)
      : settings_(settings), random_(random) {}

  std::optional<Duration> on_failure(MonotonicTime now) override {
    if (next_restart_ && now <= *next_restart_) {
      if (gave_up()) return std::nullopt;
      return std::chrono::ceil<Duration>(*next_restart_ - now);
    }
    if (next_restart_ && now >= *next_restart_ + settings_.reset_threshold) attempt_ = 0;
    const Duration delay = delay_of(attempt_);
    ++attempt_;
    next_restart_ = now + delay;
    if (gave_up()) return std::nullopt;
    return delay;
  }

 private:
  [[nodiscard]] bool gave_up() const {
    return settings_.attempts && attempt_ > *settings_.attempts;
  }
  // Grows from the initial delay without rounding in between, so that it does not depend on the unit.
  [[nodiscard]] Duration delay_of(std::uint64_t attempt) {
    const double grown = static_cast<double>(settings_.initial.count()) *
                         std::pow(settings_.multiplier, static_cast<double>(attempt));
    const auto max = static_cast<double>(settings_.max.count());
    const auto delay = static_cast<std::int64_t>(std::min(grown, max));
    const auto spread = static_cast<std::uint64_t>(static_cast<double>(delay) * settings_.jitter);
    const auto above = static_cast<std::int64_t>(random_.below(2 * spread + 1));
    return std::min(Duration{delay - static_cast<std::int64_t>(spread) + above}, settings_.max);
  }

  ExponentialDelayRestart settings_;
  Random random_;
  std::uint64_t attempt_ = 0;  // since the last reset
  std::optional<MonotonicTime> next_restart_;
};

Result<void> bad(std::string message) {
  return Error{Errc::bad_option, "restart strategy: " + std::move(message)};
}

Result<void> check_one(const NoRestart&) {
  return {};
}

Result<void> check_delay(Duration delay) {
  if (delay < Duration{0}) return bad("the delay is negative: give 0 or more");
  if (delay > duration_max) return bad("the delay is above 3650d");
  return {};
}

Result<void> check_one(const FixedDelayRestart& settings) {
  if (settings.attempts == 0) return bad("0 attempts: give at least 1, or choose none");
  return check_delay(settings.delay);
}

Result<void> check_one(const FailureRateRestart& settings) {
  if (settings.max_failures == 0) return bad("0 failures: allow at least 1, or choose none");
  if (settings.interval <= Duration{0}) return bad("the interval must be above 0");
  if (settings.interval > duration_max) return bad("the interval is above 3650d");
  return check_delay(settings.delay);
}

Result<void> check_one(const ExponentialDelayRestart& settings) {
  if (settings.initial < Duration{1}) return bad("the initial delay must be at least 1 ms");
  if (settings.max < settings.initial) {
    return bad("the longest delay is below the initial one: raise it");
  }
  // Also refuses what is not a number.
  if (!(settings.multiplier >= 1.0)) return bad("the multiplier must be at least 1");
  if (!(settings.jitter >= 0.0 && settings.jitter <= 1.0)) {
    return bad("the jitter must be between 0 and 1");
  }
  WEIR_TRY(check_delay(settings.max));
  WEIR_TRY(check_delay(settings.reset_threshold));
  if (settings.reset_threshold < Duration{1}) return bad("the reset threshold must be above 0");
  if (settings.attempts == 0U) return bad("0 attempts: give at least 1, or choose none");
  return {};
}

}  // namespace

RestartSettings default_restart(bool takes_checkpoints) {
  if (takes_checkpoints) return ExponentialDelayRestart{};
  return NoRestart{};
}

Result<void> check(const RestartSettings& settings) {
  return std::visit([](const auto& s) { return check_one(s); }, settings);
}

std::unique_ptr<RestartStrategy> make_restart_strategy(const RestartSettings& settings,
                                                       Random random) {
  WEIR_CHECK(check(settings));
  switch (settings.index()) {
    case 0:
      return std::make_unique<Never>(std::get<0>(settings));
    case 1:
      return std::make_unique<FixedDelay>(std::get<1>(settings));
    case 2:
      return std::make_unique<FailureRate>(std::get<2>(settings));
    default:
      return std::make_unique<ExponentialDelay>(std::get<3>(settings), random);
  }
}

}  // namespace weir
