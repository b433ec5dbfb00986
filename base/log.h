// The log: one line per event, with its level, time and what it is about.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace weir {

enum class LogLevel { debug, info, warning, error, off };

// Reads "debug", "info", "warning", "error" or "off".
[[nodiscard]] std::optional<LogLevel> parse_log_level(std::string_view text);

// A handle to a log; copies write to the same. Thread-safe. The default writes nowhere.
class Logger {
 public:
  Logger();
  // To standard error, for people.
  [[nodiscard]] static Logger to_stderr(LogLevel level);
  // To a file, appended; falls back to standard error, and says so, if it cannot be opened.
  [[nodiscard]] static Logger to_file(const std::filesystem::path& path, LogLevel level);

  // The same log with what the lines are about in front: "job word_count", "count (2/4)".
  [[nodiscard]] Logger about(std::string_view subject) const;

  void debug(std::string_view text) const;
  void info(std::string_view text) const;
  void warning(std::string_view text) const;
  void error(std::string_view text) const;
  void flush() const;

 private:
  explicit Logger(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
  std::shared_ptr<spdlog::logger> logger_;  // shared by all handles
  std::string prefix_;
};

}  // namespace weir
