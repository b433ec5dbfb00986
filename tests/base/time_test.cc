#include "base/time.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>

namespace weir {
namespace {

using namespace std::chrono_literals;

EventTime at(std::chrono::sys_days day) {
  return EventTime::of(day);
}

TEST(EventTime, is_written_in_iso_8601_without_zero_milliseconds) {
  EXPECT_EQ(to_string(EventTime{0}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(to_string(EventTime{1'431'857'103'000}), "2015-05-17T10:05:03Z");
}

TEST(EventTime, is_written_with_milliseconds_when_there_are_some) {
  EXPECT_EQ(to_string(EventTime{1}), "1970-01-01T00:00:00.001Z");
  EXPECT_EQ(to_string(EventTime{1'431'857'103'450}), "2015-05-17T10:05:03.450Z");
}

TEST(EventTime, before_1970_counts_backwards_from_midnight) {
  EXPECT_EQ(to_string(EventTime{-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(to_string(EventTime{-86'400'000}), "1969-12-31T00:00:00Z");
}

TEST(EventTime, knows_leap_days) {
  using std::chrono::sys_days, std::chrono::year, std::chrono::February;
  EXPECT_EQ(to_string(at(sys_days{year{2000} / February / 29})), "2000-02-29T00:00:00Z");
  EXPECT_EQ(to_string(at(sys_days{year{1900} / February / 28}) + 24h), "1900-03-01T00:00:00Z");
}

TEST(EventTime, writes_years_outside_four_digits_in_full) {
  EXPECT_EQ(to_string(EventTime{253'402'300'799'999}), "9999-12-31T23:59:59.999Z");
  EXPECT_EQ(to_string(EventTime{253'402'300'800'000}), "10000-01-01T00:00:00Z");
  EXPECT_EQ(to_string(EventTime{std::numeric_limits<std::int64_t>::max() - 1}),
            "292278994-08-17T07:12:55.806Z");
  EXPECT_EQ(to_string(EventTime{std::numeric_limits<std::int64_t>::min() + 1}),
            "-292275055-05-16T16:47:04.193Z");
}

TEST(EventTime, writes_early_years_with_four_digits) {
  using std::chrono::sys_days, std::chrono::year, std::chrono::January;
  EXPECT_EQ(to_string(at(sys_days{year{0} / January / 1})), "0000-01-01T00:00:00Z");
  EXPECT_EQ(to_string(at(sys_days{year{476} / 9 / 4})), "0476-09-04T00:00:00Z");
}

TEST(EventTime, writes_its_limits_as_infinities) {
  EXPECT_EQ(to_string(EventTime::min()), "-inf");
  EXPECT_EQ(to_string(EventTime::max()), "+inf");
}

TEST(EventTime, agrees_with_the_library_calendar_on_every_day_of_four_centuries) {
  using std::chrono::sys_days, std::chrono::year, std::chrono::year_month_day, std::chrono::January;
  const sys_days end{year{2001} / January / 1};
  for (sys_days day{year{1601} / January / 1}; day != end; day += std::chrono::days{1}) {
    const year_month_day date{day};
    char expected[32];
    std::snprintf(expected, sizeof expected, "%04d-%02u-%02uT00:00:00Z",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()));
    ASSERT_EQ(to_string(at(day)), expected);
  }
}

TEST(EventTime, rounds_finer_times_down_also_before_1970) {
  using std::chrono::sys_time, std::chrono::microseconds;
  EXPECT_EQ(EventTime::of(sys_time<microseconds>{1999us}), EventTime{1});
  EXPECT_EQ(EventTime::of(sys_time<microseconds>{-1us}), EventTime{-1});
}

TEST(EventTime, saturates_at_its_limits) {
  EXPECT_EQ(EventTime::max() + 1ms, EventTime::max());
  EXPECT_EQ(EventTime::min() + -1ms, EventTime::min());
  EXPECT_EQ(EventTime::min() - 1ms, EventTime::min());
  EXPECT_EQ(EventTime::max() - -1ms, EventTime::max());
  EXPECT_EQ(EventTime{5} - 1h + 1h, EventTime{5});
}

TEST(ProcessingTime, differs_by_durations) {
  EXPECT_EQ(ProcessingTime{5000} - ProcessingTime{2000}, 3s);
  EXPECT_EQ(ProcessingTime{2000} + 3s, ProcessingTime{5000});
}

TEST(ProcessingTime, saturates_at_its_limits) {
  EXPECT_EQ(ProcessingTime{1} + Duration::max(), ProcessingTime::max());
  EXPECT_EQ(ProcessingTime{-2} + Duration::min(), ProcessingTime::min());
  EXPECT_EQ(ProcessingTime{5} + Duration::max() + Duration{-1},
            ProcessingTime{ProcessingTime::max().ms - 1});
}

}  // namespace
}  // namespace weir
