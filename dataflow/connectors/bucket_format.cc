#include "dataflow/connectors/bucket_format.h"

#include <chrono>
#include <string_view>

#include "dataflow/connectors/part_files.h"

namespace weir {
namespace {

constexpr std::string_view parts_of_time = "YmdHMS";

std::string digits(std::int64_t value, std::size_t width) {
  std::string text = std::to_string(value < 0 ? -value : value);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return value < 0 ? '-' + text : text;
}

std::string part_of(const CivilTime& time, char part) {
  switch (part) {
    case 'Y':
      return digits(time.year, 4);
    case 'm':
      return digits(time.month, 2);
    case 'd':
      return digits(time.day, 2);
    case 'H':
      return digits(time.hour, 2);
    case 'M':
      return digits(time.minute, 2);
    case 'S':
      return digits(time.second, 2);
    default:
      return std::string(1, part);
  }
}

}  // namespace

Result<void> BucketFormat::check(const std::string& sink) const {
  const std::string format = sink + ": bucket format '" + format_ + "' ";
  for (std::size_t at = format_.find('%'); at != std::string::npos; at = format_.find('%', at)) {
    const std::string part = format_.substr(at, 2);
    if (part.size() < 2 || (parts_of_time.find(part[1]) == std::string::npos && part[1] != '%')) {
      return Error{Errc::invalid_plan,
                   format + "has '" + part + "'; there are %Y, %m, %d, %H, %M, %S and %%"};
    }
    at += 2;
  }
  if (empty() || is_bucket(bucket_at(EventTime{0}))) return {};
  return Error{Errc::invalid_plan,
               format +
                   "names no directory below the output; leave out '/' at its ends and '.' at "
                   "the beginning of a name"};
}

std::string BucketFormat::bucket_at(EventTime time) const {
  const CivilTime civil = civil_time(time);
  std::string name;
  for (std::size_t i = 0; i < format_.size(); ++i) {
    const bool is_part = format_[i] == '%' && i + 1 < format_.size();
    name += is_part ? part_of(civil, format_[++i]) : std::string(1, format_[i]);
  }
  return name;
}

Duration BucketFormat::span() const {
  if (format_.find("%S") != std::string::npos) return std::chrono::seconds{1};
  if (format_.find("%M") != std::string::npos) return std::chrono::minutes{1};
  if (format_.find("%H") != std::string::npos) return std::chrono::hours{1};
  return std::chrono::days{1};
}

}  // namespace weir
