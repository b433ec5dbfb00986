#include "actors/progress_line.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;

TEST(ProgressLine, shows_rate_share_and_watermark) {
  ProgressLine line(MonotonicTime{});
  JobProgress progress;
  progress.state = JobState::running;
  progress.records_read = 1'500'000;
  progress.read_units = 25;
  progress.total_units = 100;
  progress.watermark = EventTime{1431857103000};
  EXPECT_EQ(
      line.text(progress, MonotonicTime{} + 2s),
      "RUNNING  1,500,000 records  750,000/s  25 % of the input  watermark 2015-05-17T10:05:03Z");
  progress.records_read = 1'500'100;
  progress.bad_records = 3;
  progress.late_records_dropped = 4;
  EXPECT_EQ(line.text(progress, MonotonicTime{} + 3s),
            "RUNNING  1,500,100 records  100/s  25 % of the input  watermark 2015-05-17T10:05:03Z  "
            "3 skipped  4 late");
}

TEST(ProgressLine, says_what_the_job_waits_for) {
  ProgressLine line(MonotonicTime{});
  JobProgress progress;
  progress.state = JobState::created;
  progress.waiting_for = "4 slots (2 free of 2)";
  EXPECT_EQ(line.text(progress, MonotonicTime{} + 1s), "CREATED  waits for 4 slots (2 free of 2)");
}

TEST(ProgressLine, says_of_what_the_figures_are_after_a_restart) {
  ProgressLine line(MonotonicTime{});
  JobProgress progress;
  progress.state = JobState::running;
  progress.records_read = 100;
  progress.restarts = 1;
  EXPECT_EQ(line.text(progress, MonotonicTime{} + 1s),
            "RUNNING  100 records since the last restart  100/s");
}

TEST(ProgressLine, separates_thousands) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(1000), "1,000");
  EXPECT_EQ(with_separators(1234567), "1,234,567");
}

}  // namespace
}  // namespace weir
