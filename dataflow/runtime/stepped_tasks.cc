#include "dataflow/runtime/stepped_tasks.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "base/check.h"
#include "dataflow/runtime/task_core.h"
#include "state/redistribution.h"

namespace weir {
namespace {

// What would be messages between actors: each is delivered once no task is in a step.
using Mail = std::deque<std::function<void()>>;

}  // namespace

// One subtask and its connections.
class SteppedTasks::Task final : public TaskEnvironment {
 public:
  Task(Tasks& tasks, VertexId vertex, SubtaskIndex subtask);

  [[nodiscard]] Result<void> open() { return core_->open(); }
  // Whether a step may find something to do.
  [[nodiscard]] bool is_ready() const { return !finished_ && (ready_ || woken_); }
  [[nodiscard]] Result<void> step();
  void close() { core_->close(); }
  void add_snapshot_to(JobSnapshot& state);

  [[nodiscard]] Result<void> ask_for_split();
  void wake_if_due(ProcessingTime now) { ready_ |= wake_at_ && *wake_at_ <= now; }
  [[nodiscard]] std::optional<ProcessingTime> wake_at() const {
    return finished_ ? std::nullopt : wake_at_;
  }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] const std::vector<ChannelEnd>& producers() const { return producers_; }
  [[nodiscard]] bool is_source() const { return producers_.empty(); }
  [[nodiscard]] const std::vector<OperatorMetrics>& operators() const { return operators_; }

  void return_credit(ChannelIndex channel, std::uint64_t bytes, BatchPtr reusable) override;
  void request_split() override { asks_for_split_ = true; }
  void trigger_checkpoint(CheckpointId checkpoint) {
    if (finished_) return;
    core_->trigger_checkpoint(checkpoint);
    ready_ = true;
  }
  void abort_checkpoint(CheckpointId checkpoint) {
    if (finished_) return;
    core_->abort_checkpoint(checkpoint);
    ready_ = true;
  }
  [[nodiscard]] bool has_acknowledged(CheckpointId checkpoint) const {
    return acknowledged_.contains(checkpoint);
  }

  void acknowledge(FrozenTask frozen) override { acknowledged_.insert(frozen.chain.checkpoint); }
  void decline(CheckpointId /*checkpoint*/) override {}
  // No source waits for another.
  void report_watermarks(std::vector<StepWatermark> reached) override;

 private:
  // To one consumer.
  class Channel final : public ChannelTransport {
   public:
    Channel(Tasks& tasks, ChannelEnd consumer) : tasks_(&tasks), consumer_(consumer) {}
    void send(Element element, std::uint64_t charged_bytes) override;

   private:
    Tasks* tasks_;
    ChannelEnd consumer_;
  };

  void receive(ChannelIndex channel, ChargedElement content);
  void add_credit(const ChannelEnd& at, std::uint64_t bytes, BatchPtr reusable);
  [[nodiscard]] std::vector<OperatorContext> make_contexts(const Vertex& vertex);
  [[nodiscard]] std::vector<RestoredState> take_restored(const Vertex& vertex);

  Tasks* tasks_;
  VertexId vertex_;
  SubtaskIndex subtask_;
  std::vector<OperatorMetrics> operators_;
  TaskMetrics metrics_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<ChannelEnd> producers_;  // of the input channels
  std::set<CheckpointId> acknowledged_;
  std::unique_ptr<TaskCore> core_;
  std::atomic<bool> woken_{false};
  bool ready_ = true;
  bool finished_ = false;
  bool asks_for_split_ = false;
  std::optional<ProcessingTime> ask_split_at_;
  std::optional<ProcessingTime> wake_at_;
};

// Everything that the tasks of a job share.
struct SteppedTasks::Tasks {
  std::shared_ptr<const PhysicalPlan> plan;  // shared with whoever made it
  const Clock* clock;
  Options options;
  Mail mail;
  std::map<NodeId, std::unique_ptr<SplitEnumerator>> enumerators;
  std::vector<std::unique_ptr<Task>> all;  // those of a vertex together
  std::vector<std::size_t> first_of_vertex;
  CheckpointId newest_checkpoint{};

  [[nodiscard]] Task& at(const ChannelEnd& end) {
    return *all[first_of_vertex[end.vertex.value] + end.subtask.value];
  }
  [[nodiscard]] Result<void> open();
  [[nodiscard]] Result<void> run_until_quiet();
  void deliver_mail();
  void inject_barriers();
  void close();
  [[nodiscard]] std::uint64_t total(std::atomic<std::uint64_t> OperatorMetrics::*counter) const;
};

SteppedTasks::Task::Task(Tasks& tasks, VertexId vertex, SubtaskIndex subtask)
    : tasks_(&tasks),
      vertex_(vertex),
      subtask_(subtask),
      operators_(tasks.plan->vertex(vertex).chain.stages.size()) {
  const PhysicalPlan& plan = *tasks.plan;
  producers_ = input_channels(plan, vertex, subtask);
  TaskCore::Wiring wiring{.contexts = make_contexts(plan.vertex(vertex)),
                          .input_channels = input_channel_ports(plan, vertex, subtask),
                          .exchanges = {},
                          .random_seed = tasks.options.random_seed ^
                                         (std::uint64_t{vertex.value} << 32) ^ subtask.value,
                          .restored = take_restored(plan.vertex(vertex))};
  for (const auto& lanes : output_channels(plan, vertex, subtask)) {
    auto& exchange = wiring.exchanges.emplace_back();
    for (const ChannelEnd& consumer : lanes) {
      exchange.window_bytes = channel_window_bytes(plan, consumer.vertex);
      channels_.push_back(std::make_unique<Channel>(tasks, consumer));
      exchange.transports.push_back(channels_.back().get());
    }
  }
  core_ = std::make_unique<TaskCore>(plan.vertex(vertex).chain, std::move(wiring), *this,
                                     *tasks.clock, metrics_);
}

std::vector<OperatorContext> SteppedTasks::Task::make_contexts(const Vertex& vertex) {
  const KeyGroupSlice keys{key_group_range_of(subtask_, vertex.parallelism, vertex.max_parallelism),
                           vertex.max_parallelism};
  std::vector<OperatorContext> contexts;
  for (std::size_t i = 0; i < vertex.chain.stages.size(); ++i) {
    OperatorContext& context = contexts.emplace_back();
    context.job_name = tasks_->plan->logical.job_name;
    context.operator_name = vertex.chain.stages[i].operator_name;
    context.subtask = subtask_;
    context.parallelism = vertex.parallelism;
    context.keys = keys;
    context.clock = tasks_->clock;
    context.metrics = &operators_[i];
    context.strict = tasks_->options.strict;
    context.waker = [this] { woken_ = true; };
  }
  return contexts;
}

// Requires that options.restored is of the vertex's parallelism.
std::vector<RestoredState> SteppedTasks::Task::take_restored(const Vertex& vertex) {
  std::vector<RestoredState> restored(vertex.chain.stages.size());
  for (std::size_t i = 0; i < restored.size(); ++i) {
    const auto found = tasks_->options.restored.find(vertex.chain.stages[i].node);
    if (found != tasks_->options.restored.end())
      restored[i] = std::move(found->second[subtask_.value]);
  }
  return restored;
}

void SteppedTasks::Task::add_snapshot_to(JobSnapshot& state) {
  const auto& stages = tasks_->plan->vertex(vertex_).chain.stages;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    auto frozen = core_->freeze(i);
    WEIR_CHECK(frozen.has_value());  // no operator of a harness writes anything
    state[stages[i].node].push_back(write_to_memory(*std::move(frozen)));
  }
}

Result<void> SteppedTasks::Task::step() {
  ready_ = false;
  if (woken_.exchange(false)) core_->wake();
  const auto outcome = core_->step();
  if (!outcome) return outcome.error();
  ready_ = outcome->kind == StepOutcome::Kind::again;
  wake_at_ = outcome->wake_at;
  if (outcome->kind == StepOutcome::Kind::finished) {
    finished_ = true;
    core_->close();
  }
  return {};
}

Result<void> SteppedTasks::Task::ask_for_split() {
  const ProcessingTime now = tasks_->clock->processing_time();
  if (!asks_for_split_ || (ask_split_at_ && now < *ask_split_at_)) return {};
  ask_split_at_.reset();
  const NodeId source = tasks_->plan->vertex(vertex_).chain.stages.front().node;
  auto assignment = tasks_->enumerators.at(source)->next(subtask_);
  if (!assignment) return assignment.error();
  if (const auto* later = std::get_if<NoSplitYet>(&*assignment)) {
    ask_split_at_ = now + later->ask_after;
    return {};
  }
  asks_for_split_ = false;
  ready_ = true;
  if (auto* split = std::get_if<Split>(&*assignment)) return core_->add_split(std::move(*split));
  return core_->no_more_splits();
}

void SteppedTasks::Task::receive(ChannelIndex channel, ChargedElement content) {
  core_->receive(channel, std::move(content));
  ready_ = true;
}

void SteppedTasks::Task::add_credit(const ChannelEnd& at, std::uint64_t bytes, BatchPtr reusable) {
  if (finished_) return;
  core_->add_credit(at.exchange, at.index, bytes, std::move(reusable));
  ready_ = true;
}

void SteppedTasks::Task::return_credit(ChannelIndex channel, std::uint64_t bytes,
                                       BatchPtr reusable) {
  tasks_->mail.push_back([tasks = tasks_, at = producers_[channel.value], bytes,
                          reusable = std::move(reusable)]() mutable {
    tasks->at(at).add_credit(at, bytes, std::move(reusable));
  });
}

void SteppedTasks::Task::report_watermarks(std::vector<StepWatermark> reached) {
  for (StepWatermark& of_step : reached) of_step.time = EventTime::max();
  tasks_->mail.push_back([this, reached = std::move(reached)] {
    core_->align(reached);
    ready_ = true;
  });
}

void SteppedTasks::Task::Channel::send(Element element, std::uint64_t charged_bytes) {
  tasks_->mail.push_back([tasks = tasks_, at = consumer_,
                          content = ChargedElement{std::move(element), charged_bytes}]() mutable {
    tasks->at(at).receive(ChannelIndex{at.index}, std::move(content));
  });
}

Result<void> SteppedTasks::Tasks::open() {
  for (const LogicalNode& node : plan->logical.nodes) {
    if (node.role != StageRole::source) continue;
    auto& enumerator = enumerators[node.id] = node.make_enumerator();
    WEIR_TRY(enumerator->open(parallelism_of(node, plan->settings)));
  }
  for (auto& task : all) WEIR_TRY(task->open());
  return {};
}

Result<void> SteppedTasks::Tasks::run_until_quiet() {
  for (auto& task : all) task->wake_if_due(clock->processing_time());
  for (bool stepped = true; std::exchange(stepped, false);) {
    for (auto& task : all) {
      WEIR_TRY(task->ask_for_split());
      if (!task->is_ready()) continue;
      WEIR_TRY(task->step());
      deliver_mail();
      if (task->finished()) inject_barriers();
      stepped = true;
    }
  }
  return {};
}

void SteppedTasks::Tasks::deliver_mail() {
  while (!mail.empty()) {
    auto message = std::move(mail.front());
    mail.pop_front();
    message();
  }
}

// No channel brings barriers to a task whose producers have finished.
void SteppedTasks::Tasks::inject_barriers() {
  if (newest_checkpoint.value == 0) return;
  for (auto& task : all) {
    const auto finished = [this](const ChannelEnd& producer) { return at(producer).finished(); };
    if (!task->is_source() && std::ranges::all_of(task->producers(), finished))
      task->trigger_checkpoint(newest_checkpoint);
  }
}

void SteppedTasks::Tasks::close() {
  for (auto& task : all) task->close();
}

std::uint64_t SteppedTasks::Tasks::total(
    std::atomic<std::uint64_t> OperatorMetrics::*counter) const {
  std::uint64_t sum = 0;
  for (const auto& task : all) {
    for (const OperatorMetrics& metrics : task->operators()) sum += (metrics.*counter).load();
  }
  return sum;
}

SteppedTasks::SteppedTasks(std::shared_ptr<const PhysicalPlan> plan, const Clock& clock,
                           Options options)
    : tasks_(std::make_unique<Tasks>()) {
  tasks_->plan = std::move(plan);
  tasks_->clock = &clock;
  tasks_->options = std::move(options);
  for (const Vertex& vertex : tasks_->plan->vertices) {
    for (const ChainStage& stage : vertex.chain.stages) {
      const auto found = tasks_->options.restored.find(stage.node);
      if (found == tasks_->options.restored.end()) continue;
      found->second =
          redistribute(std::move(found->second), vertex.parallelism, vertex.max_parallelism);
    }
    tasks_->first_of_vertex.push_back(tasks_->all.size());
    for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
      tasks_->all.push_back(std::make_unique<Task>(*tasks_, vertex.id, SubtaskIndex{i}));
    }
  }
}

SteppedTasks::~SteppedTasks() {
  tasks_->close();
}

Result<void> SteppedTasks::open() {
  const auto opened = tasks_->open();
  if (!opened) tasks_->close();
  return opened;
}

Result<void> SteppedTasks::run_until_quiet() {
  const auto ran = tasks_->run_until_quiet();
  if (!ran) tasks_->close();
  return ran;
}

void SteppedTasks::trigger_checkpoint(CheckpointId checkpoint) {
  tasks_->newest_checkpoint = checkpoint;
  for (auto& task : tasks_->all) {
    if (task->is_source()) task->trigger_checkpoint(checkpoint);
  }
  tasks_->inject_barriers();
}

void SteppedTasks::abort_checkpoint(CheckpointId checkpoint) {
  for (auto& task : tasks_->all) task->abort_checkpoint(checkpoint);
}

bool SteppedTasks::checkpoint_is_whole(CheckpointId checkpoint) const {
  return std::ranges::all_of(tasks_->all, [checkpoint](const auto& task) {
    return task->finished() || task->has_acknowledged(checkpoint);
  });
}

JobSnapshot SteppedTasks::snapshot() const {
  JobSnapshot state;
  for (const auto& task : tasks_->all) task->add_snapshot_to(state);
  return state;
}

std::optional<ProcessingTime> SteppedTasks::next_wake() const {
  std::optional<ProcessingTime> earliest;
  for (const auto& task : tasks_->all) {
    const auto at = task->wake_at();
    if (at && (!earliest || *at < *earliest)) earliest = at;
  }
  return earliest;
}

bool SteppedTasks::finished() const {
  return std::ranges::all_of(tasks_->all, &Task::finished);
}

std::uint64_t SteppedTasks::late_records_dropped() const {
  return tasks_->total(&OperatorMetrics::late_records_dropped);
}
std::uint64_t SteppedTasks::bad_records() const {
  return tasks_->total(&OperatorMetrics::bad_records);
}
std::int64_t SteppedTasks::counter(const std::string& name) const {
  std::int64_t sum = 0;
  for (const auto& task : tasks_->all) {
    for (const OperatorMetrics& metrics : task->operators()) {
      metrics.counters.for_each([&](const std::string& other, std::int64_t value) {
        if (other == name) sum += value;
      });
    }
  }
  return sum;
}
std::uint64_t SteppedTasks::records_ahead() const {
  return tasks_->total(&OperatorMetrics::records_ahead);
}

}  // namespace weir
