#include "actors/job_status.h"

#include <charconv>

#include "base/check.h"

namespace weir {

Result<void> JobSettings::check() const {
  for (const Duration timeout : {slot_timeout, deploy_timeout, cancel_timeout}) {
    if (timeout < Duration{0} || timeout > duration_max) {
      return Error{Errc::bad_option, "a timeout of the job is " + std::to_string(timeout.count()) +
                                         " ms: give at least 0, and at most 3650d"};
    }
  }
  WEIR_TRY(checkpoints.check());
  return weir::check(restarts);
}

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::initializing:
      return "INITIALIZING";
    case JobState::created:
      return "CREATED";
    case JobState::running:
      return "RUNNING";
    case JobState::restarting:
      return "RESTARTING";
    case JobState::failing:
      return "FAILING";
    case JobState::failed:
      return "FAILED";
    case JobState::cancelling:
      return "CANCELLING";
    case JobState::canceled:
      return "CANCELED";
    case JobState::finished:
      return "FINISHED";
  }
  WEIR_CHECK(false);
  return {};
}

std::string_view name_of(TaskState state) {
  switch (state) {
    case TaskState::created:
      return "CREATED";
    case TaskState::deploying:
      return "DEPLOYING";
    case TaskState::initializing:
      return "INITIALIZING";
    case TaskState::running:
      return "RUNNING";
    case TaskState::finished:
      return "FINISHED";
    case TaskState::canceling:
      return "CANCELING";
    case TaskState::canceled:
      return "CANCELED";
    case TaskState::failed:
      return "FAILED";
  }
  WEIR_CHECK(false);
  return {};
}

std::string task_name(const std::string& vertex, SubtaskIndex subtask, std::uint32_t parallelism) {
  return vertex + " (" + std::to_string(subtask.value + 1) + "/" + std::to_string(parallelism) +
         ")";
}

std::string words_on_kept_checkpoint(const JobOutcome& outcome) {
  if (outcome.kept_checkpoint.empty()) return {};
  return "; its state is kept, go on with --from " + outcome.kept_checkpoint;
}

std::string to_string(JobId job) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text(16, '0');
  for (std::size_t i = 0; i < 16; ++i) text[15 - i] = digits[(job.value >> (4 * i)) & 15];
  return text;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  JobId job;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), job.value, 16);
  if (text.size() != 16 || code != std::errc{} || end != text.data() + text.size()) return {};
  return job;
}

}  // namespace weir
