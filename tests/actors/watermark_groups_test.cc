#include "actors/watermark_groups.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/actors/sample_job.h"

namespace weir {
namespace {

// The sample job, whose "times" are aligned: of two subtasks.
class Groups {
 public:
  Groups() {
    graph_.nodes[1].alignment_group = "visits";
    begin();
  }

  void begin() { groups_.begin(graph_, graph_.vertices[0]); }
  void finish(std::uint32_t subtask) { groups_.on_finished(graph_, {{0}, {subtask}}); }
  // What the subtask is told that says how far it is.
  EventTime report(std::uint32_t subtask, EventTime reached) {
    const AlignWatermarks answer =
        groups_.on_report(graph_, {{1}, {{0}, {subtask}}, {{NodeId{1}, reached}}});
    EXPECT_EQ(answer.task, (TaskId{{0}, {subtask}}));
    EXPECT_EQ(answer.least.size(), 1U);
    EXPECT_EQ(answer.least[0].step, NodeId{1});
    return answer.least[0].time;
  }
  [[nodiscard]] const JobGraph& graph() const { return graph_; }
  [[nodiscard]] WatermarkGroups& groups() { return groups_; }

 private:
  JobGraph graph_ = sample_graph();
  WatermarkGroups groups_;
};

TEST(WatermarkGroups, tell_who_reports_how_far_the_slowest_is) {
  Groups groups;
  (void)groups.report(0, EventTime{42});
  EXPECT_EQ(groups.report(1, EventTime{44}), EventTime{42});
  EXPECT_EQ(groups.report(0, EventTime{5000}), EventTime{44});
}

TEST(WatermarkGroups, are_held_by_a_task_that_has_not_said_anything_yet) {
  Groups groups;
  EXPECT_EQ(groups.report(0, EventTime{42}), EventTime::min());
}

TEST(WatermarkGroups, are_not_held_by_a_task_that_has_finished) {
  Groups groups;
  (void)groups.report(0, EventTime{42});
  groups.finish(0);
  EXPECT_EQ(groups.report(1, EventTime{44}), EventTime{44});
}

TEST(WatermarkGroups, are_held_by_tasks_that_begin_again_until_they_say_how_far_they_are) {
  Groups groups;
  (void)groups.report(0, EventTime{42});
  (void)groups.report(1, EventTime{44});
  groups.begin();
  EXPECT_EQ(groups.report(0, EventTime{40}), EventTime::min());
  (void)groups.report(1, EventTime{41});
  EXPECT_EQ(groups.report(0, EventTime{40}), EventTime{40});
}

TEST(WatermarkGroups, take_no_report_about_steps_that_are_not_the_tasks_own) {
  Groups groups;
  (void)groups.report(0, EventTime{42});
  (void)groups.report(1, EventTime{44});
  const AlignWatermarks answer = groups.groups().on_report(
      groups.graph(), {{1}, {{1}, {0}}, {{NodeId{1}, EventTime{0}}, {NodeId{99}, EventTime{0}}}});
  EXPECT_TRUE(answer.least.empty());
  EXPECT_EQ(groups.report(1, EventTime{44}), EventTime{42});
}

}  // namespace
}  // namespace weir
