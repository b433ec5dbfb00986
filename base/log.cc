#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

#include "base/check.h"

namespace weir {
namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  WEIR_CHECK(false);
  return spdlog::level::off;
}

std::shared_ptr<spdlog::logger> make_logger(spdlog::sink_ptr sink, LogLevel level) {
  auto logger = std::make_shared<spdlog::logger>("weir", std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %L %v");
  logger->set_level(spdlog_level(level));
  logger->flush_on(spdlog::level::warn);
  return logger;
}

}  // namespace

std::optional<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::debug;
  if (text == "info") return LogLevel::info;
  if (text == "warning") return LogLevel::warning;
  if (text == "error") return LogLevel::error;
  if (text == "off") return LogLevel::off;
  return std::nullopt;
}

Logger::Logger()
    : Logger(make_logger(std::make_shared<spdlog::sinks::null_sink_mt>(), LogLevel::off)) {}

Logger Logger::to_stderr(LogLevel level) {
  return Logger(make_logger(std::make_shared<spdlog::sinks::stderr_sink_mt>(), level));
}

Logger Logger::to_file(const std::filesystem::path& path, LogLevel level) {
  try {
    return Logger(
        make_logger(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()), level));
  } catch (const spdlog::spdlog_ex& e) {
    Logger fallback = to_stderr(level);
    fallback.warning("cannot log to " + path.string() + " (" + e.what() +
                     "); logging to standard error");
    return fallback;
  }
}

Logger Logger::about(std::string_view subject) const {
  Logger logger = *this;
  logger.prefix_ += std::string(subject) + ": ";
  return logger;
}

void Logger::debug(std::string_view text) const {
  logger_->debug("{}{}", prefix_, text);
}
void Logger::info(std::string_view text) const {
  logger_->info("{}{}", prefix_, text);
}
void Logger::warning(std::string_view text) const {
  logger_->warn("{}{}", prefix_, text);
}
void Logger::error(std::string_view text) const {
  logger_->error("{}{}", prefix_, text);
}
void Logger::flush() const {
  logger_->flush();
}

}  // namespace weir
