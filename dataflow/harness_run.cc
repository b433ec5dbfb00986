#include "dataflow/harness_run.h"

#include "base/check.h"
#include "dataflow/plan/logical_plan.h"
#include "dataflow/plan/physical_plan.h"
#include "dataflow/sink.h"

namespace weir {
namespace {

// Has a split whenever the queue is not empty: the reader then reads all of it.
class QueueEnumerator final : public SplitEnumerator {
 public:
  explicit QueueEnumerator(std::shared_ptr<const HarnessQueue> queue) : queue_(std::move(queue)) {}

  [[nodiscard]] Result<void> open(std::uint32_t /*reader_count*/) override { return {}; }
  [[nodiscard]] Result<Assignment> next(SubtaskIndex /*reader*/) override {
    if (queue_->empty()) return Assignment(NoSplitYet{.ask_after = {}});
    return Assignment(Split{.id = "what was pushed", .bytes = {}});
  }
  void add_back(std::vector<Split> /*splits*/) override {}
  void snapshot(ByteWriter& /*writer*/) const override {}
  [[nodiscard]] Result<void> restore(ByteReader& /*reader*/) override { return {}; }

 private:
  std::shared_ptr<const HarnessQueue> queue_;  // shared with the harness and the reader
};

// Keeps everything, of any type.
class KeepingWriter final : public SinkOperator {
 public:
  explicit KeepingWriter(std::shared_ptr<std::vector<Element>> kept) : kept_(std::move(kept)) {}

  [[nodiscard]] Result<Progress> process(InputPort /*port*/, BatchPtr& in, RowRange rows,
                                         Outputs& /*out*/) override {
    if (rows.end == in->size()) kept_->push_back(std::move(in));
    return Progress{StepResult::done, rows.end};
  }
  [[nodiscard]] Result<StepResult> on_watermark(EventTime watermark, Outputs& /*out*/) override {
    kept_->push_back(Watermark{watermark});
    return StepResult::done;
  }
  [[nodiscard]] Result<StepResult> on_idle(bool idle, Outputs& /*out*/) override {
    kept_->push_back(WatermarkStatus{idle});
    return StepResult::done;
  }

 private:
  std::shared_ptr<std::vector<Element>> kept_;  // shared with the harness
};

}  // namespace

Origin HarnessRun::add_source(PortType port, std::shared_ptr<HarnessQueue> queue,
                              OperatorFactory factory) {
  LogicalNode node;
  node.kind = "harness input";
  node.role = StageRole::source;
  node.parallelism = 1;
  node.factory = std::move(factory);
  node.make_enumerator = [queue] { return std::make_unique<QueueEnumerator>(queue); };
  node.outputs.push_back(port);
  node.output_names.emplace_back();
  queues_.push_back(std::move(queue));
  return {builder_.add(std::move(node)), {}, {}, nullptr};
}

void HarnessRun::keep(const std::vector<Origin>& origins) {
  LogicalNode node;
  node.kind = "harness output";
  node.role = StageRole::sink;
  node.parallelism = 1;
  node.input_hashers.resize(1);
  node.factory = [kept = kept_.emplace_back(std::make_shared<Kept>())] {
    return std::make_unique<KeepingWriter>(kept);
  };
  const NodeId id = builder_.add(std::move(node));
  builder_.connect(origins, id);
}

void HarnessRun::start(const std::vector<Origin>& origins) {
  keep(origins);
  Origin side = origins.front();
  const std::size_t port_count = builder_.node(side.node).outputs.size();
  for (side.port = {1}; side.port.value < port_count; ++side.port.value) keep({side});

  builder_.plan().job_name = "harness";
  const PlanSettings settings{
      .parallelism = 1, .max_parallelism = {}, .chaining = options_.chaining};
  status_ = check_valid(builder_.plan(), settings);
  if (!status_) return;
  tasks_.emplace(
      make_physical_plan(std::move(builder_.plan()), settings), clock_,
      SteppedTasks::Options{
          .strict = options_.strict, .random_seed = 0, .restored = std::move(options_.restored)});
  status_ = tasks_->open();
  run();
}

void HarnessRun::feed(InputIndex input, Element element) {
  WEIR_CHECK(input.value < queues_.size());
  if (!status_) return;
  queues_[input.value]->push_back(std::move(element));
  run();
}

void HarnessRun::advance_to(ProcessingTime time) {
  WEIR_CHECK(time >= processing_time());
  while (status_) {
    const auto wake = tasks_->next_wake();
    if (!wake || *wake <= processing_time() || *wake >= time) break;
    clock_.advance(*wake - processing_time());
    run();
  }
  clock_.advance(time - processing_time());
  run();
}

std::vector<Element> HarnessRun::take(OutputPort port) {
  WEIR_CHECK(port.value < kept_.size());
  return std::exchange(*kept_[port.value], {});
}

void HarnessRun::run() {
  if (status_) status_ = tasks_->run_until_quiet();
}

}  // namespace weir
