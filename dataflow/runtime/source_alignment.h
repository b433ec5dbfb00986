// When a task says how far its watermarks are, and whether its source may go on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "dataflow/runtime/chain_spec.h"
#include "dataflow/window/watermark_alignment.h"

namespace weir {

// For the steps of a source's chain whose watermarks are aligned with a group's: see WatermarkAlignment. Reports are made at an interval,
// whatever the task does, and when it has a first watermark, and each is answered with how far its groups are; so nothing is lost for ever with a message. Before the
// first answer a source may be read until it has a watermark.
//
// A pure state machine, not thread-safe.
class SourceAlignment {
 public:
  // Of a chain whose steps are not aligned it does nothing.
  explicit SourceAlignment(const ChainSpec& spec) {
    for (std::uint32_t stage = 0; stage < spec.stages.size(); ++stage) {
      const auto& alignment = spec.stages[stage].alignment;
      if (!alignment) continue;
      steps_.push_back(
          {.stage = stage, .node = spec.stages[stage].node, .max_drift = alignment->max_drift});
      interval_ = std::min(interval_, alignment->update_interval);
    }
  }

  // How many steps are aligned, and where in the chain each is.
  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  [[nodiscard]] std::uint32_t stage(std::size_t index) const { return steps_[index].stage; }
  // How far one is now. One that is idle holds nobody.
  void reach(std::size_t index, EventTime watermark, bool idle) {
    steps_[index].watermark = watermark;
    steps_[index].idle = idle;
  }

  // Whether it is time to say how far they are: at the interval, and at once when there is a first watermark.
  [[nodiscard]] bool report_is_due(ProcessingTime now) {
    if (steps_.empty()) return false;
    if (!next_report_) next_report_ = now + interval_;
    return now >= *next_report_ || (!has_said_any_ && has_any());
  }
  // Nothing before that was asked, or if no step is aligned.
  [[nodiscard]] std::optional<ProcessingTime> next_report() const { return next_report_; }
  [[nodiscard]] std::vector<StepWatermark> take_report(ProcessingTime now) {
    next_report_ = now + interval_;
    has_said_any_ = has_any();
    std::vector<StepWatermark> report;
    for (const Step& step : steps_)
      report.push_back({step.node, step.idle ? EventTime::max() : step.watermark});
    return report;
  }
  void on_answer(const std::vector<StepWatermark>& least) {
    for (const StepWatermark& of_group : least) {
      for (Step& step : steps_) {
        if (step.node == of_group.step)
          step.allowed = allowed_watermark(of_group.time, step.max_drift);
      }
    }
  }
  // The step whose group the source has to wait for, if any.
  [[nodiscard]] std::optional<NodeId> waits_for() const {
    for (const Step& step : steps_) {
      if (step.watermark > step.allowed) return step.node;
    }
    return std::nullopt;
  }

 private:
  struct Step {
    std::uint32_t stage;
    NodeId node;
    Duration max_drift;
    EventTime watermark = EventTime::min();
    bool idle = false;
    EventTime allowed = EventTime::min();
  };
  [[nodiscard]] bool has_any() const {
    return std::ranges::any_of(steps_,
                               [](const Step& step) { return step.watermark > EventTime::min(); });
  }

  std::vector<Step> steps_;
  Duration interval_ = duration_max;
  std::optional<ProcessingTime> next_report_;
  bool has_said_any_ = false;
};

}  // namespace weir
