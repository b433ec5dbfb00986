#include "base/time.h"

#include <cstdio>

namespace weir {

CivilTime civil_time(EventTime time) {
  constexpr std::int64_t day_ms = 86'400'000;
  std::int64_t days_since_epoch = time.ms / day_ms;
  std::int64_t of_day = time.ms % day_ms;
  if (of_day < 0) {
    of_day += day_ms;
    --days_since_epoch;
  }
  // Civil date from days, after H. Hinnant, "chrono-Compatible Low-Level Date Algorithms": the
  // library's year_month_day wraps outside the years ±32767.
  const std::int64_t shifted = days_since_epoch + 719'468;
  const std::int64_t era = (shifted >= 0 ? shifted : shifted - 146'096) / 146'097;
  const std::int64_t day_of_era = shifted - era * 146'097;
  const std::int64_t year_of_era =
      (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_index = (5 * day_of_year + 2) / 153;
  const int seconds_of_day = static_cast<int>(of_day / 1000);
  CivilTime civil;
  civil.day = static_cast<int>(day_of_year - (153 * month_index + 2) / 5 + 1);
  civil.month = static_cast<int>(month_index < 10 ? month_index + 3 : month_index - 9);
  civil.year = year_of_era + era * 400 + (civil.month <= 2 ? 1 : 0);
  civil.hour = seconds_of_day / 3600;
  civil.minute = seconds_of_day / 60 % 60;
  civil.second = seconds_of_day % 60;
  civil.millisecond = static_cast<int>(of_day % 1000);
  return civil;
}

std::string to_string(EventTime time) {
  if (time == EventTime::min()) return "-inf";
  if (time == EventTime::max()) return "+inf";
  const CivilTime at = civil_time(time);
  char text[64];
  int length = std::snprintf(text, sizeof text, "%04lld-%02d-%02dT%02d:%02d:%02d",
                             static_cast<long long>(at.year), at.month, at.day, at.hour, at.minute,
                             at.second);
  std::string result(text, static_cast<std::size_t>(length));
  if (at.millisecond != 0) {
    length = std::snprintf(text, sizeof text, ".%03d", at.millisecond);
    result.append(text, static_cast<std::size_t>(length));
  }
  return result + 'Z';
}

}  // namespace weir
