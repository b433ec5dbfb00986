#include "dataflow/window/idleness_timer.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// V12.
TEST(IdlenessTimer, is_idle_when_more_than_the_timeout_has_gone_since_the_first_silent_look) {
  IdlenessTimer timer(Duration{10});
  timer.on_record();
  EXPECT_FALSE(timer.look({0}));
  EXPECT_FALSE(timer.look({100})) << "the first silent look starts the timer";
  EXPECT_FALSE(timer.look({110}));
  EXPECT_TRUE(timer.look({111}));
  EXPECT_TRUE(timer.look({120})) << "and stays idle";
  timer.on_record();
  EXPECT_FALSE(timer.look({121}));
}

TEST(IdlenessTimer, looks_a_few_times_per_timeout_and_at_least_every_200_ms) {
  IdlenessTimer quick(Duration{10});
  (void)quick.look({0});
  EXPECT_EQ(quick.next_look(), ProcessingTime{2});
  IdlenessTimer slow(Duration{60'000});
  (void)slow.look({0});
  EXPECT_EQ(slow.next_look(), ProcessingTime{200});
}

// What Apache Flink got wrong until FLINK-35886: a source that waits for room is not idle.
TEST(IdlenessTimer, time_in_which_nobody_could_look_does_not_count) {
  IdlenessTimer timer(Duration{1000});
  (void)timer.look({0});
  EXPECT_FALSE(timer.look({200}));
  EXPECT_FALSE(timer.look({5000})) << "the task was held up";
  EXPECT_FALSE(timer.look({5200}));
  EXPECT_FALSE(timer.look({6200})) << "again";
  for (std::int64_t at = 6400; at <= 7400; at += 200) EXPECT_FALSE(timer.look({at}));
  EXPECT_TRUE(timer.look({7600}));
}

}  // namespace
}  // namespace weir
