// When checkpoints are taken, where they go, and how long they stay.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace weir {

enum class CheckpointMode : std::uint8_t {
  exactly_once,   // barriers are aligned: channels wait for each other
  at_least_once,  // no channel waits; after a failure some records count twice
};

// Whether the checkpoints of a job outlive it. Those of a job that finished never do.
enum class ExternalizedRetention : std::uint8_t {
  none,                    // removed when the job ends, however it does
  delete_on_cancellation,  // kept if the job failed
  retain_on_cancellation,  // kept if the job failed or was cancelled
};

// The defaults are Flink's. Has a codec.
struct CheckpointSettings {
  Duration interval{0};  // from trigger to trigger; 0: none are taken
  CheckpointMode mode = CheckpointMode::exactly_once;
  Duration timeout{600'000};
  // From the end of a checkpoint that completed to the next trigger. Above 0 only one is under way at a time.
  Duration min_pause{0};
  std::uint32_t max_concurrent = 1;
  std::uint32_t tolerable_failures = 0;  // so many in a row; with one more the job fails
  std::uint32_t retained = 1;            // completed checkpoints that are kept
  ExternalizedRetention externalized = ExternalizedRetention::none;
  std::string directory{};  // a path, or a URI file:///…
  std::uint64_t inline_threshold_bytes =
      20'480;  // a task's state up to this size goes into the manifest

  [[nodiscard]] bool enabled() const { return interval > Duration{0}; }
  [[nodiscard]] std::uint32_t effective_max_concurrent() const {
    return min_pause > Duration{0} ? 1 : max_concurrent;
  }
  // Errc::bad_option, naming the option and what to do about it. Touches no file.
  [[nodiscard]] Result<void> check() const;

  friend bool operator==(const CheckpointSettings&, const CheckpointSettings&) = default;
};

inline constexpr Duration checkpoint_interval_min{10};
inline constexpr std::uint64_t inline_threshold_bytes_max = 1024 * 1024;

// The path that a directory setting names: as it is, or from file:///…. Errc::bad_option if it is empty or a URI of
// another scheme.
[[nodiscard]] Result<std::string> checkpoint_directory_path(std::string_view directory);

}  // namespace weir
