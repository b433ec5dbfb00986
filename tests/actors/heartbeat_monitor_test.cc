#include "actors/heartbeat_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

class Heartbeats : public testing::Test {
 protected:
  static MonotonicTime at(Duration time) { return MonotonicTime{1h + time}; }
  // At every interval up to a time, exclusive.
  void look_until(Duration until) {
    for (; next_look_ < until; next_look_ += 200ms)
      EXPECT_THAT(monitor_.look(at(next_look_)), IsEmpty()) << next_look_.count();
  }

  HeartbeatMonitor<int> monitor_{200ms, 2s};
  Duration next_look_ = 200ms;
};

TEST_F(Heartbeats, silence_for_longer_than_the_timeout_is_told_once) {
  monitor_.add(1, at(0ms));
  monitor_.add(2, at(0ms));
  look_until(1000ms);
  EXPECT_TRUE(monitor_.beat(2, at(1000ms)));
  look_until(2100ms);
  EXPECT_THAT(monitor_.look(at(2100ms)), ElementsAre(1));
  EXPECT_FALSE(monitor_.beat(1, at(2150ms)));
  EXPECT_THAT(monitor_.look(at(2300ms)), IsEmpty());
}

TEST_F(Heartbeats, nobody_is_judged_by_a_look_that_comes_late) {
  monitor_.add(1, at(0ms));
  look_until(1000ms);
  next_look_ = 9000ms;
  look_until(11'200ms);
  EXPECT_THAT(monitor_.look(at(11'200ms)), ElementsAre(1));
}

// Of a process that was frozen just after a peer had come.
TEST_F(Heartbeats, the_first_look_can_be_late_too) {
  monitor_.add(1, at(0ms));
  EXPECT_THAT(monitor_.look(at(9000ms)), IsEmpty());
  next_look_ = 9200ms;
  look_until(11'200ms);
  EXPECT_THAT(monitor_.look(at(11'200ms)), ElementsAre(1));
}

TEST_F(Heartbeats, a_long_time_without_peers_does_not_make_a_look_late) {
  monitor_.add(1, at(0ms));
  look_until(1000ms);
  monitor_.remove(1);
  look_until(9000ms);
  monitor_.add(2, at(9000ms));
  look_until(11'200ms);
  EXPECT_THAT(monitor_.look(at(11'200ms)), ElementsAre(2));
}

}  // namespace
}  // namespace weir
