#include "snapshot/checkpoint_settings.h"

#include <utility>

namespace weir {
namespace {

Error bad(std::string message) {
  return {Errc::bad_option, std::move(message)};
}

std::string text_of(Duration duration) {
  return std::to_string(duration.count()) + " ms";
}

}  // namespace

Result<void> CheckpointSettings::check() const {
  if (interval < Duration{0} || (enabled() && interval < checkpoint_interval_min)) {
    return bad("--checkpoint-interval is " + text_of(interval) + ": give at least " +
               text_of(checkpoint_interval_min) + ", or leave it out for no checkpoints");
  }
  if (timeout < checkpoint_interval_min) {
    return bad("--checkpoint-timeout is " + text_of(timeout) + ": give at least " +
               text_of(checkpoint_interval_min));
  }
  if (min_pause < Duration{0}) {
    return bad("--checkpoint-min-pause is " + text_of(min_pause) + ": give 0 or more");
  }
  for (const auto& [option, given] :
       {std::pair{"--checkpoint-interval", interval}, std::pair{"--checkpoint-timeout", timeout},
        std::pair{"--checkpoint-min-pause", min_pause}}) {
    if (given > duration_max)
      return bad(std::string(option) + " is " + text_of(given) + ": give at most 3650d");
  }
  if (max_concurrent == 0) {
    return bad("--max-concurrent-checkpoints is 0: give at least 1");
  }
  if (retained == 0) {
    return bad("--retained-checkpoints is 0: give at least 1, or there is nothing to restore");
  }
  if (inline_threshold_bytes > inline_threshold_bytes_max) {
    return bad("--checkpoint-inline-threshold is " + std::to_string(inline_threshold_bytes) +
               " bytes: give at most " + std::to_string(inline_threshold_bytes_max) +
               ", for it all goes through the master");
  }
  if (!directory.empty() || enabled()) {
    const auto path = checkpoint_directory_path(directory);
    if (!path) return path.error();
  }
  return {};
}

Result<std::string> checkpoint_directory_path(std::string_view directory) {
  constexpr std::string_view local = "file://";
  if (directory.empty()) {
    return bad("--checkpoint-dir is missing: name a directory that every node can reach");
  }
  const std::size_t scheme = directory.find("://");
  if (scheme == std::string_view::npos) return std::string(directory);
  const std::string_view path = directory.substr(scheme + 3);
  if (!directory.starts_with(local)) {
    return bad("--checkpoint-dir is " + std::string(directory) +
               ": only paths and file:/// are supported; mount the storage and give its path");
  }
  if (!path.starts_with('/')) {
    return bad("--checkpoint-dir is " + std::string(directory) +
               ": after file:// an absolute path must follow, as in file:///var/weir");
  }
  return std::string(path);
}

}  // namespace weir
