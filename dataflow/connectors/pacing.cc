#include "dataflow/connectors/pacing.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/check.h"

namespace weir {

Pacing::Pacing(double records_per_second, MonotonicTime start, const IndexSplit& split)
    : nanoseconds_per_record_(1e9 / records_per_second),
      start_(start),
      first_index_(split.next - split.next % split.stride) {
  WEIR_CHECK(records_per_second > 0);
}

std::uint64_t Pacing::due(const IndexSplit& split, MonotonicTime now, std::uint64_t most) const {
  if (nanoseconds_per_record_ == 0) return most;
  const double late = nanoseconds_past_due(split, now);
  if (late < 0) return 0;
  const double behind = late / nanoseconds_per_record_ / static_cast<double>(split.stride);
  return behind < static_cast<double>(most) ? std::min(most, static_cast<std::uint64_t>(behind) + 1)
                                            : most;
}

Duration Pacing::until_due(const IndexSplit& split, MonotonicTime now) const {
  if (nanoseconds_per_record_ == 0) return Duration{0};
  using Nanoseconds = std::chrono::duration<double, std::nano>;
  constexpr Nanoseconds longest = std::chrono::minutes{1};
  const Nanoseconds early{-nanoseconds_past_due(split, now)};
  return std::chrono::ceil<Duration>(std::clamp(early, early.zero(), longest));
}

double Pacing::nanoseconds_past_due(const IndexSplit& split, MonotonicTime now) const {
  const auto elapsed = std::chrono::nanoseconds(now - start_).count();
  const auto records_before =
      static_cast<double>(static_cast<std::int64_t>(split.next - first_index_));
  return static_cast<double>(elapsed) - std::floor(records_before * nanoseconds_per_record_);
}

}  // namespace weir
