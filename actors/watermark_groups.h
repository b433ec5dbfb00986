// How far the sources of a job are that wait for each other, and who is told what.
#pragma once

#include <string>
#include <vector>

#include "actors/messages.h"
#include "dataflow/plan/job_graph.h"
#include "dataflow/window/watermark_alignment.h"

namespace weir {

// A WatermarkAligner for the steps of a job graph. A task that has not said yet how far it is, because it has not begun or has been begun
// again, holds its group where it is; one that has failed does so with what it said last, until it begins again. Part of the JobManager.
class WatermarkGroups {
 public:
  // These tasks are about to begin, for the first time or again.
  void begin(const JobGraph& graph, const JobVertex& vertex);
  void on_finished(const JobGraph& graph, TaskId task);
  // The answer. Steps that are not of the task, or of no group, are passed over. Requires that the graph has the task.
  [[nodiscard]] AlignWatermarks on_report(const JobGraph& graph, const ReportWatermarks& report);

 private:
  WatermarkAligner aligner_;
};

}  // namespace weir
