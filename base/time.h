// The two time lines of the engine. They do not mix: a record's event time says when something
// happened, processing time is what the clock of the machine that processes it shows.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <string>

namespace weir {

using Duration = std::chrono::milliseconds;
// The longest that a setting may be, ten years: added to any clock, in any of its units, it does not overflow.
inline constexpr Duration duration_max = std::chrono::hours(24 * 3650);

// Milliseconds since 1970-01-01T00:00Z, by the records' own account.
struct EventTime {
  std::int64_t ms{};

  // No watermark yet, respectively end of input: "no earlier record will follow".
  static constexpr EventTime min() { return {std::numeric_limits<std::int64_t>::min()}; }
  static constexpr EventTime max() { return {std::numeric_limits<std::int64_t>::max()}; }

  template <class D>
  static constexpr EventTime of(std::chrono::time_point<std::chrono::system_clock, D> at) {
    return {std::chrono::floor<std::chrono::milliseconds>(at).time_since_epoch().count()};
  }

  // Saturates at min() and max().
  friend constexpr EventTime operator+(EventTime t, Duration d) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(t.ms, d.count(), &sum)) return d.count() > 0 ? max() : min();
    return {sum};
  }
  friend constexpr EventTime operator-(EventTime t, Duration d) {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(t.ms, d.count(), &difference)) return d.count() > 0 ? min() : max();
    return {difference};
  }
  friend constexpr auto operator<=>(const EventTime&, const EventTime&) = default;
};

// Milliseconds since 1970-01-01T00:00Z on the clock of the machine.
struct ProcessingTime {
  std::int64_t ms{};

  static constexpr ProcessingTime min() { return {std::numeric_limits<std::int64_t>::min()}; }
  static constexpr ProcessingTime max() { return {std::numeric_limits<std::int64_t>::max()}; }

  // Saturates at min() and max().
  friend constexpr ProcessingTime operator+(ProcessingTime t, Duration d) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(t.ms, d.count(), &sum)) return d.count() > 0 ? max() : min();
    return {sum};
  }
  friend constexpr Duration operator-(ProcessingTime a, ProcessingTime b) {
    return Duration{a.ms - b.ms};
  }
  friend constexpr auto operator<=>(const ProcessingTime&, const ProcessingTime&) = default;
};

// A time as calendar and clock show it, in UTC. Of every time there is: years may have more than four
// digits, or be negative.
struct CivilTime {
  std::int64_t year = 0;
  int month = 1;  // from 1
  int day = 1;    // from 1
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millisecond = 0;
  friend bool operator==(const CivilTime&, const CivilTime&) = default;
};
[[nodiscard]] CivilTime civil_time(EventTime time);

// ISO 8601 in UTC: 2015-05-17T10:05:03Z, with .mmm only when the milliseconds are not zero.
// min() and max() read "-inf" and "+inf"; years outside 0000–9999 are written with all their
// digits.
[[nodiscard]] std::string to_string(EventTime time);

}  // namespace weir
