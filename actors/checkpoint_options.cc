#include "actors/checkpoint_options.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/options.h"

namespace weir {
namespace {

Error bad_option(std::string message) {
  return {Errc::bad_option, std::move(message)};
}

Result<void> read_duration(const char* option, const std::string& text, Duration& duration) {
  if (text.empty()) return {};
  const auto parsed = parse_duration(text);
  if (!parsed)
    return bad_option(std::string(option) + " is '" + text + "' but " + parsed.error().message);
  duration = *parsed;
  return {};
}

// As an absolute path: task processes may have another working directory.
Result<std::string> read_from(std::string_view text) {
  constexpr std::string_view local = "file://";
  std::string_view path = text;
  if (path.starts_with(local)) path.remove_prefix(local.size());
  if (path.find("://") != std::string_view::npos) {
    return bad_option(
        "--from is " + std::string(text) +
        ": only paths and file:/// are supported; mount the storage and give its path");
  }
  auto absolute = std::filesystem::absolute(path).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // "dir/" and "dir" are the same
  return absolute.string();
}

}  // namespace

void CheckpointOptions::add_to(CLI::App& app) {
  const char* const group = "Checkpoints and restarts";
  const auto add = [&](const char* name, auto& to, const char* type, const char* help) {
    app.add_option(name, to, help)->type_name(type)->group(group);
  };
  add("--checkpoint-interval", interval_, "TIME", "take a checkpoint so often; default: none");
  add("--checkpoint-dir", directory_, "DIR",
      "where checkpoints go: a directory that all nodes see, or file:///…");
  add("--checkpoint-mode", mode_, "MODE", "exactly-once or at-least-once; default: exactly-once");
  add("--checkpoint-timeout", timeout_, "TIME", "give one up after that; default: 10m");
  add("--checkpoint-min-pause", min_pause_, "TIME",
      "between the end of one and the begin of the next; default: 0");
  add("--max-concurrent-checkpoints", max_concurrent_, "N", "under way at a time; default: 1");
  add("--tolerable-checkpoint-failures", tolerable_failures_, "N",
      "in a row, before the job fails; default: 0");
  add("--retained-checkpoints", retained_, "N", "completed ones that are kept; default: 1");
  add("--checkpoint-retention", retention_, "WHEN",
      "what stays when the job ends without finishing: none, delete-on-cancellation or "
      "retain-on-cancellation; default: none");
  add("--checkpoint-inline-threshold", inline_threshold_, "SIZE",
      "state of a task up to this goes into the manifest, not into a file; default: 20KB");
  add("--from", from_, "DIR",
      "begin from a checkpoint that was kept: its directory (chk-N), or its job's, then from the "
      "newest; with the same output as before");
  add("--restart-strategy", restart_strategy_, "NAME",
      "none, fixed-delay, exponential-delay or failure-rate; default: exponential-delay with "
      "checkpoints, none without");
  add("--restart-attempts", restart_attempts_, "N",
      "of fixed-delay (default: 1), or failures per minute of failure-rate (default: 1)");
  add("--restart-delay", restart_delay_, "TIME",
      "before a restart; of exponential-delay: before the first; default: 1s");
}

Result<void> CheckpointOptions::read(JobSettings& settings) const {
  WEIR_TRY(read_checkpoints(settings.checkpoints));
  auto restarts = read_restarts(settings.checkpoints.enabled());
  if (!restarts) return restarts.error();
  settings.restarts = *std::move(restarts);
  if (!from_.empty()) {
    auto from = read_from(from_);
    if (!from) return from.error();
    settings.restore_from = *std::move(from);
  }
  return check(settings.restarts);
}

Result<void> CheckpointOptions::read_checkpoints(CheckpointSettings& checkpoints) const {
  WEIR_TRY(read_duration("--checkpoint-interval", interval_, checkpoints.interval));
  if (!interval_.empty() && !checkpoints.enabled()) {
    return bad_option("--checkpoint-interval is '" + interval_ +
                      "' but must be above 0; leave it out for no checkpoints");
  }
  WEIR_TRY(read_duration("--checkpoint-timeout", timeout_, checkpoints.timeout));
  WEIR_TRY(read_duration("--checkpoint-min-pause", min_pause_, checkpoints.min_pause));
  if (mode_ == "at-least-once") {
    checkpoints.mode = CheckpointMode::at_least_once;
  } else if (!mode_.empty() && mode_ != "exactly-once") {
    return bad_option("--checkpoint-mode is '" + mode_ +
                      "' but must be exactly-once or at-least-once");
  }
  if (retention_ == "delete-on-cancellation") {
    checkpoints.externalized = ExternalizedRetention::delete_on_cancellation;
  } else if (retention_ == "retain-on-cancellation") {
    checkpoints.externalized = ExternalizedRetention::retain_on_cancellation;
  } else if (!retention_.empty() && retention_ != "none") {
    return bad_option("--checkpoint-retention is '" + retention_ +
                      "' but must be none, delete-on-cancellation or retain-on-cancellation");
  }
  checkpoints.max_concurrent = max_concurrent_.value_or(checkpoints.max_concurrent);
  checkpoints.tolerable_failures = tolerable_failures_.value_or(checkpoints.tolerable_failures);
  checkpoints.retained = retained_.value_or(checkpoints.retained);
  if (!inline_threshold_.empty()) {
    const auto size = OptionType<ByteSize>::parse(inline_threshold_);
    if (!size) {
      return bad_option("--checkpoint-inline-threshold is '" + inline_threshold_ + "' but " +
                        size.error().message);
    }
    checkpoints.inline_threshold_bytes = size->bytes;
  }
  checkpoints.directory = directory_;
  if (!checkpoints.enabled()) {
    const std::pair<const char*, bool> given[] = {
        {"--checkpoint-dir", !directory_.empty()},
        {"--checkpoint-retention", !retention_.empty()},
        {"--checkpoint-mode", !mode_.empty()},
        {"--checkpoint-timeout", !timeout_.empty()},
        {"--checkpoint-min-pause", !min_pause_.empty()},
        {"--max-concurrent-checkpoints", max_concurrent_.has_value()},
        {"--tolerable-checkpoint-failures", tolerable_failures_.has_value()},
        {"--retained-checkpoints", retained_.has_value()},
        {"--checkpoint-inline-threshold", !inline_threshold_.empty()}};
    for (const auto& [option, is_given] : given) {
      if (!is_given) continue;
      return bad_option(std::string(option) +
                        " is given but --checkpoint-interval is not: no checkpoint would be taken");
    }
    return {};
  }
  if (directory_.empty()) {
    return bad_option(
        "--checkpoint-interval needs --checkpoint-dir: a directory that all nodes see, where "
        "checkpoints go");
  }
  auto path = checkpoint_directory_path(directory_);
  if (!path) return path.error();
  // Task processes may have another working directory.
  checkpoints.directory = std::filesystem::absolute(*path).lexically_normal().string();
  return checkpoints.check();
}

Result<RestartSettings> CheckpointOptions::read_restarts(bool takes_checkpoints) const {
  RestartSettings restarts = default_restart(takes_checkpoints);
  if (restart_strategy_ == "none") {
    restarts = NoRestart{};
  } else if (restart_strategy_ == "fixed-delay") {
    restarts = FixedDelayRestart{};
  } else if (restart_strategy_ == "exponential-delay") {
    restarts = ExponentialDelayRestart{};
  } else if (restart_strategy_ == "failure-rate") {
    restarts = FailureRateRestart{};
  } else if (!restart_strategy_.empty()) {
    return bad_option("--restart-strategy is '" + restart_strategy_ +
                      "' but must be none, fixed-delay, exponential-delay or failure-rate");
  }
  std::optional<Duration> delay;
  if (!restart_delay_.empty()) {
    Duration parsed{};
    WEIR_TRY(read_duration("--restart-delay", restart_delay_, parsed));
    delay = parsed;
  }
  if (auto* fixed = std::get_if<FixedDelayRestart>(&restarts)) {
    fixed->attempts = restart_attempts_.value_or(fixed->attempts);
    fixed->delay = delay.value_or(fixed->delay);
  } else if (auto* rate = std::get_if<FailureRateRestart>(&restarts)) {
    rate->max_failures = restart_attempts_.value_or(rate->max_failures);
    rate->delay = delay.value_or(rate->delay);
  } else if (auto* exponential = std::get_if<ExponentialDelayRestart>(&restarts)) {
    exponential->initial = delay.value_or(exponential->initial);
    exponential->max = std::max(exponential->max, exponential->initial);
    if (restart_attempts_) exponential->attempts = restart_attempts_;
  } else if (restart_attempts_ || delay) {
    return bad_option(
        "--restart-attempts and --restart-delay need a --restart-strategy, or checkpoints");
  }
  return restarts;
}

}  // namespace weir
