#include "dataflow/connectors/bucket_format.h"

#include <gtest/gtest.h>

#include <string>

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr EventTime morning =
    EventTime::of(std::chrono::sys_days{2015y / 5 / 17} + 10h + 5min + 3s);

TEST(BucketFormat, names_hours_and_days_of_UTC) {
  EXPECT_EQ(hourly().bucket_at(morning), "2015-05-17--10");
  EXPECT_EQ(daily().bucket_at(morning), "2015-05-17");
}

TEST(BucketFormat, knows_parts_of_the_time_and_keeps_the_rest) {
  EXPECT_EQ(BucketFormat("%Y%m%d/%H.%M.%S at 100%%").bucket_at(morning),
            "20150517/10.05.03 at 100%");
}

TEST(BucketFormat, names_times_before_1970_and_far_away) {
  EXPECT_EQ(hourly().bucket_at(EventTime{-1}), "1969-12-31--23");
  EXPECT_EQ(daily().bucket_at(EventTime{253'402'300'800'000}), "10000-01-01");
}

TEST(BucketFormat, is_checked) {
  for (const auto* good : {"", "%Y", "year=%Y/month=%m", "all"}) {
    EXPECT_TRUE(BucketFormat(good).check("sink")) << good;
  }
  EXPECT_EQ(
      BucketFormat("%Y-%q").check("sink").error(),
      (Error{Errc::invalid_plan,
             "sink: bucket format '%Y-%q' has '%q'; there are %Y, %m, %d, %H, %M, %S and %%"}));
  EXPECT_EQ(BucketFormat("%").check("sink").error().code, Errc::invalid_plan);
  EXPECT_EQ(
      BucketFormat("/%Y").check("sink").error(),
      (Error{Errc::invalid_plan,
             "sink: bucket format '/%Y' names no directory below the output; leave out '/' at "
             "its ends and '.' at the beginning of a name"}));
  for (const auto* bad : {"%Y/", "%Y//%m", "..", ".%Y", "../%Y", "%Y/../../x", "%Y\n"}) {
    EXPECT_FALSE(BucketFormat(bad).check("sink")) << bad;
  }
}

TEST(Bucketing, follows_records_from_bucket_to_bucket) {
  Bucketing buckets(hourly());
  EXPECT_EQ(buckets.bucket_at(morning), "2015-05-17--10");
  EXPECT_EQ(buckets.bucket_at(morning + 54min + 56'999ms), "2015-05-17--10");
  EXPECT_EQ(buckets.bucket_at(morning + 54min + 57s), "2015-05-17--11");
  EXPECT_EQ(buckets.bucket_at(morning - 6min), "2015-05-17--09");
  EXPECT_EQ(buckets.bucket_at(EventTime{0}), "1970-01-01--00");
  EXPECT_EQ(buckets.bucket_at(EventTime{-1}), "1969-12-31--23");
}

TEST(Bucketing, is_as_fine_as_its_format) {
  EXPECT_EQ(BucketFormat("%Y%S").span(), 1s);
  EXPECT_EQ(BucketFormat("%H:%M").span(), 1min);
  EXPECT_EQ(hourly().span(), 1h);
  EXPECT_EQ(BucketFormat("year %Y").span(), 24h);
}

}  // namespace
}  // namespace weir
