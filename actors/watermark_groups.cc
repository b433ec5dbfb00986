#include "actors/watermark_groups.h"

#include <algorithm>

namespace weir {

void WatermarkGroups::begin(const JobGraph& graph, const JobVertex& vertex) {
  for (const NodeId step : vertex.stages) {
    const std::string& group = graph.node(step).alignment_group;
    if (group.empty()) continue;
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i)
      aligner_.report(group, {step, {i}}, EventTime::min());
  }
}

void WatermarkGroups::on_finished(const JobGraph& graph, TaskId task) {
  for (const NodeId step : graph.vertex(task.vertex).stages) aligner_.remove({step, task.subtask});
}

AlignWatermarks WatermarkGroups::on_report(const JobGraph& graph, const ReportWatermarks& report) {
  AlignWatermarks answer{report.attempt, report.task, {}};
  const std::vector<NodeId>& steps = graph.vertex(report.task.vertex).stages;
  for (const StepWatermark& of_step : report.reached) {
    if (std::ranges::find(steps, of_step.step) == steps.end()) continue;
    const std::string& group = graph.node(of_step.step).alignment_group;
    if (group.empty()) continue;
    aligner_.report(group, {of_step.step, report.task.subtask}, of_step.time);
  }
  for (const NodeId step : steps) {
    const std::string& group = graph.node(step).alignment_group;
    if (!group.empty()) answer.least.push_back({step, aligner_.least(group)});
  }
  return answer;
}

}  // namespace weir
