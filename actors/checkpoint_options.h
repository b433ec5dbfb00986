// The options of a job's program that say how it survives failures.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "actors/job_status.h"
#include "base/result.h"

namespace weir {

// --checkpoint-interval and its like, --restart-strategy and its like, --from. Lives as long as the app that parses into it.
class CheckpointOptions {
 public:
  void add_to(CLI::App& app);
  // What was given, over the defaults; checked. Errors name the option.
  [[nodiscard]] Result<void> read(JobSettings& settings) const;

 private:
  [[nodiscard]] Result<void> read_checkpoints(CheckpointSettings& checkpoints) const;
  [[nodiscard]] Result<RestartSettings> read_restarts(bool takes_checkpoints) const;

  std::string interval_;
  std::string directory_;
  std::string mode_;
  std::string timeout_;
  std::string min_pause_;
  std::optional<std::uint32_t> max_concurrent_;
  std::optional<std::uint32_t> tolerable_failures_;
  std::optional<std::uint32_t> retained_;
  std::string retention_;
  std::string inline_threshold_;
  std::string from_;
  std::string restart_strategy_;
  std::optional<std::uint32_t> restart_attempts_;
  std::string restart_delay_;
};

}  // namespace weir
