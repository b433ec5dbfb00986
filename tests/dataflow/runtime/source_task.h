// The task of a job's first source, alone: what it sends on its first exchange is kept.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "dataflow/plan/physical_plan.h"
#include "dataflow/runtime/task_core.h"
#include "tests/dataflow/runtime/recording_transport.h"

namespace weir {

// Requires that the source has one subtask, and its vertex one exchange to one consumer.
class SourceTask final : public TaskEnvironment {
 public:
  explicit SourceTask(std::shared_ptr<const PhysicalPlan> plan) : plan_(std::move(plan)) {
    const Vertex& vertex = plan_->vertices.front();
    const LogicalNode& source = plan_->logical.nodes.front();
    metrics_of_operators_ = std::vector<OperatorMetrics>(vertex.chain.stages.size());
    TaskCore::Wiring wiring;
    for (std::size_t i = 0; i < vertex.chain.stages.size(); ++i) {
      OperatorContext& context = wiring.contexts.emplace_back();
      context.operator_name = vertex.chain.stages[i].operator_name;
      context.metrics = &metrics_of_operators_[i];
      context.clock = &clock;
    }
    constexpr std::uint64_t wide = std::uint64_t{1} << 40;
    wiring.exchanges = {{{&out}, wide}};
    enumerator_ = source.make_enumerator();
    EXPECT_TRUE(enumerator_->open(1));
    core_ = std::make_unique<TaskCore>(vertex.chain, std::move(wiring), *this, clock, metrics);
    EXPECT_TRUE(core_->open());
  }

  // Steps until it waits.
  StepOutcome::Kind run() {
    while (true) {
      const auto outcome = core_->step();
      EXPECT_TRUE(outcome);
      wake_at = outcome->wake_at;
      if (outcome->kind == StepOutcome::Kind::again) continue;
      if (!std::exchange(asks_, false)) return outcome->kind;
      auto assignment = enumerator_->next({});
      EXPECT_TRUE(assignment);
      if (auto* split = std::get_if<Split>(&*assignment)) {
        EXPECT_TRUE(core_->add_split(std::move(*split)));
      } else {
        EXPECT_TRUE(core_->no_more_splits());
      }
    }
  }
  // Lets time pass, as a task is woken.
  StepOutcome::Kind run_for(Duration time) {
    const ProcessingTime end = clock.processing_time() + time;
    StepOutcome::Kind kind = run();
    while (kind == StepOutcome::Kind::waiting && wake_at && *wake_at <= end) {
      if (*wake_at > clock.processing_time()) clock.advance(*wake_at - clock.processing_time());
      kind = run();
    }
    if (end > clock.processing_time()) clock.advance(end - clock.processing_time());
    return kind;
  }

  // What has left since the last call: "records" of a batch by their values, "WM 5", "IDLE", "ACTIVE", "BARRIER 1".
  template <class T>
  [[nodiscard]] std::vector<std::string> take_sent() {
    std::vector<std::string> texts;
    for (; taken_ < out.elements().size(); ++taken_) {
      const Element& element = out.elements()[taken_];
      if (const auto* batch = std::get_if<BatchPtr>(&element)) {
        for (const T& value : batch_cast<T>(**batch).values) texts.push_back(std::to_string(value));
      } else if (const auto* watermark = std::get_if<Watermark>(&element)) {
        texts.push_back(watermark->time == EventTime::max()
                            ? "WM MAX"
                            : "WM " + std::to_string(watermark->time.ms));
      } else if (const auto* status = std::get_if<WatermarkStatus>(&element)) {
        texts.emplace_back(status->idle ? "IDLE" : "ACTIVE");
      } else if (const auto* barrier = std::get_if<Barrier>(&element)) {
        texts.push_back("BARRIER " + std::to_string(barrier->checkpoint.value));
      } else {
        texts.emplace_back("END");
      }
    }
    return texts;
  }
  [[nodiscard]] TaskCore& core() { return *core_; }

  void return_credit(ChannelIndex, std::uint64_t, BatchPtr) override {}
  void request_split() override { asks_ = true; }
  void acknowledge(FrozenTask frozen) override { acknowledged.push_back(frozen.chain.checkpoint); }
  void decline(CheckpointId) override {}
  void report_watermarks(std::vector<StepWatermark> reached) override {
    reports.push_back(std::move(reached));
  }

  ManualClock clock;
  RecordingTransport out;
  TaskMetrics metrics{1};
  std::optional<ProcessingTime> wake_at;
  std::vector<CheckpointId> acknowledged;
  std::vector<std::vector<StepWatermark>> reports;

 private:
  std::shared_ptr<const PhysicalPlan> plan_;
  std::vector<OperatorMetrics> metrics_of_operators_;
  std::unique_ptr<SplitEnumerator> enumerator_;
  std::unique_ptr<TaskCore> core_;
  bool asks_ = false;
  std::size_t taken_ = 0;
};

}  // namespace weir
