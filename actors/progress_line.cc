#include "actors/progress_line.h"

#include <algorithm>

namespace weir {

std::string with_separators(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3;) {
    i -= 3;
    text.insert(i, ",");
  }
  return text;
}

std::string counted(std::uint64_t number, std::string_view what) {
  return with_separators(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

std::string ProgressLine::text(const JobProgress& progress, MonotonicTime now) {
  const std::chrono::duration<double> passed = now - last_time_;
  const std::uint64_t newly =
      progress.records_read - std::min(last_records_, progress.records_read);
  last_time_ = now;
  last_records_ = progress.records_read;

  std::string line(name_of(progress.state));
  if (!progress.waiting_for.empty()) return line + "  waits for " + progress.waiting_for;
  line += "  " + counted(progress.records_read, "record");
  if (progress.restarts > 0) line += " since the last restart";
  if (passed.count() > 0) {
    line +=
        "  " +
        with_separators(static_cast<std::uint64_t>(static_cast<double>(newly) / passed.count())) +
        "/s";
  }
  if (progress.total_units && *progress.total_units > 0) {
    const double share =
        static_cast<double>(progress.read_units) / static_cast<double>(*progress.total_units);
    line += "  " + std::to_string(static_cast<int>(100 * std::min(1.0, share))) + " % of the input";
  }
  const bool has_watermark = progress.watermark && *progress.watermark != EventTime::min() &&
                             *progress.watermark != EventTime::max();
  if (has_watermark) line += "  watermark " + to_string(*progress.watermark);
  if (progress.bad_records > 0) line += "  " + with_separators(progress.bad_records) + " skipped";
  if (progress.late_records_dropped > 0)
    line += "  " + with_separators(progress.late_records_dropped) + " late";
  return line;
}

}  // namespace weir
