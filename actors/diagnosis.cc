#include "actors/diagnosis.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weir {
namespace {

// A running task, as both looks show it.
struct WatchedTask {
  const TaskInfo* info;
  TaskActivity activity;
};

// What the parts of a diagnosis read: running tasks by vertex, and edges from both ends.
class Scene {
 public:
  explicit Scene(const JobSample& sample) : sample_(&sample), tasks_(sample.graph.vertices.size()) {
    for (const TaskInfo& task : sample.now.tasks) {
      if (task.state != TaskState::running) continue;
      if (const auto activity = activity_of(sample, task.task))
        tasks_[task.task.vertex.value].push_back({&task, *activity});
    }
  }

  [[nodiscard]] const JobSample& sample() const { return *sample_; }
  [[nodiscard]] const JobGraph& graph() const { return sample_->graph; }
  [[nodiscard]] const std::vector<WatchedTask>& tasks(VertexId vertex) const {
    return tasks_[vertex.value];
  }
  [[nodiscard]] std::vector<VertexId> producers(VertexId vertex) const {
    std::vector<VertexId> all;
    for (const PhysicalEdge& edge : graph().edges) {
      if (edge.to == vertex && std::ranges::find(all, edge.from) == all.end())
        all.push_back(edge.from);
    }
    return all;
  }
  [[nodiscard]] std::vector<VertexId> consumers(VertexId vertex) const {
    std::vector<VertexId> all;
    for (const PhysicalEdge& edge : graph().edges) {
      if (edge.from == vertex && std::ranges::find(all, edge.to) == all.end())
        all.push_back(edge.to);
    }
    return all;
  }
  // Of the subtask with the largest.
  [[nodiscard]] double largest(VertexId vertex, double TaskActivity::*share) const {
    double most = 0;
    for (const WatchedTask& task : tasks(vertex)) most = std::max(most, task.activity.*share);
    return most;
  }
  [[nodiscard]] bool is_backpressured(VertexId vertex) const {
    return largest(vertex, &TaskActivity::backpressured) >= backpressured_share;
  }

 private:
  const JobSample* sample_;
  std::vector<std::vector<WatchedTask>> tasks_;
};

// The backpressured vertices from which one gets to this one through such vertices only.
std::vector<VertexShare> backpressured_before(const Scene& scene, VertexId vertex) {
  std::vector<VertexShare> before;
  std::vector<VertexId> reached{vertex};
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const VertexId producer : scene.producers(reached[i])) {
      if (!scene.is_backpressured(producer)) continue;
      if (std::ranges::find(reached, producer) != reached.end()) continue;
      reached.push_back(producer);
      before.push_back({producer, scene.largest(producer, &TaskActivity::backpressured)});
    }
  }
  return before;
}

Bottleneck describe_bottleneck(const Scene& scene, VertexId vertex) {
  Bottleneck found{.vertex = vertex, .backpressured = backpressured_before(scene, vertex)};
  const bool source = scene.graph().is_source(scene.graph().vertex(vertex));
  const WatchedTask* busiest = nullptr;
  double sum = 0;
  for (const WatchedTask& task : scene.tasks(vertex)) {
    if (busiest == nullptr || task.activity.busy > busiest->activity.busy) busiest = &task;
    sum += task.activity.busy;
    found.records_per_second += source ? task.activity.records_out : task.activity.records_in;
    found.queued_bytes += task.info->report.queued_bytes;
  }
  const double count = static_cast<double>(scene.tasks(vertex).size());
  found.busy = busiest->activity.busy;
  found.busy_mean = sum / count;
  if (count > 1 && (sum - found.busy) / (count - 1) < found.busy / 2)
    found.subtask = busiest->info->task.subtask;
  const auto& stages = scene.graph().vertex(vertex).stages;
  found.last_called =
      stages[std::min<std::size_t>(busiest->info->report.stage_called, stages.size() - 1)];
  return found;
}

UnexplainedBackpressure describe_unexplained(const Scene& scene, VertexId vertex) {
  UnexplainedBackpressure found{
      .backpressured = {vertex, scene.largest(vertex, &TaskActivity::backpressured)},
      .busiest_consumer = {vertex, -1}};
  for (const WatchedTask& task : scene.tasks(vertex))
    found.in_flight_bytes += task.info->report.in_flight_bytes;
  for (const VertexId consumer : scene.consumers(vertex)) {
    const double busy = scene.largest(consumer, &TaskActivity::busy);
    if (busy > found.busiest_consumer.share) found.busiest_consumer = {consumer, busy};
    for (const WatchedTask& task : scene.tasks(consumer))
      found.queued_bytes += task.info->report.queued_bytes;
  }
  return found;
}

template <class IsLimit>
void find_limits(const Scene& scene, std::vector<Finding>& findings, IsLimit is_limit) {
  for (const JobVertex& vertex : scene.graph().vertices) {
    if (is_limit(vertex)) findings.emplace_back(describe_bottleneck(scene, vertex.id));
  }
}

// Walks downstream from what waits for room: where the waiting ends is what it waits for.
void find_bottlenecks(const Scene& scene, std::vector<Finding>& findings) {
  std::vector<VertexId> named;
  for (const JobVertex& vertex : scene.graph().vertices) {
    if (!scene.is_backpressured(vertex.id)) continue;
    bool explained = false;
    for (const VertexId consumer : scene.consumers(vertex.id)) {
      if (scene.is_backpressured(consumer)) {
        explained = true;
      } else if (scene.largest(consumer, &TaskActivity::busy) >= busy_share) {
        explained = true;
        if (std::ranges::find(named, consumer) != named.end()) continue;
        named.push_back(consumer);
        findings.emplace_back(describe_bottleneck(scene, consumer));
      }
    }
    if (!explained) findings.emplace_back(describe_unexplained(scene, vertex.id));
  }
  if (!findings.empty()) return;
  find_limits(scene, findings, [&](const JobVertex& vertex) {
    return std::ranges::any_of(scene.tasks(vertex.id), [](const WatchedTask& task) {
      return task.activity.busy >= fully_busy_share && task.info->report.queued_bytes > 0;
    });
  });
  if (!findings.empty()) return;
  find_limits(scene, findings, [&](const JobVertex& vertex) {
    return scene.graph().is_source(vertex) &&
           scene.largest(vertex.id, &TaskActivity::busy) >= fully_busy_share;
  });
}

bool has_begun(EventTime watermark) {
  return watermark != EventTime::min() && watermark != EventTime::max();
}

const WatchedTask* lowest(const std::vector<WatchedTask>& tasks) {
  const auto found = std::ranges::min_element(
      tasks, {}, [](const WatchedTask& task) { return task.info->report.watermark; });
  return found == tasks.end() ? nullptr : &*found;
}

// Whether a vertex passes on the watermark that comes in, so that its report tells about its output.
bool passes_watermark_on(const JobGraph& graph, const JobVertex& vertex) {
  if (graph.is_source(vertex)) return true;
  return std::ranges::none_of(vertex.stages,
                              [&](NodeId node) { return graph.node(node).kind == "event time"; });
}

// How far the job's event time came between the two looks.
Duration advance_of_watermarks(const Scene& scene) {
  Duration most{0};
  for (const TaskInfo& before : scene.sample().before->tasks) {
    for (const WatchedTask& task : scene.tasks(before.task.vertex)) {
      if (task.info->task != before.task) continue;
      const EventTime from = before.report.watermark;
      const EventTime to = task.info->report.watermark;
      if (has_begun(from) && has_begun(to)) most = std::max(most, Duration{to.ms - from.ms});
    }
  }
  return most;
}

// The one among the inputs of a vertex that holds its watermark, and how far the furthest of them is.
struct HeldInput {
  const WatchedTask* task = nullptr;
  EventTime furthest = EventTime::min();
};
HeldInput held_input(const Scene& scene, VertexId vertex, EventTime reached) {
  HeldInput held;
  for (const VertexId producer : scene.producers(vertex)) {
    if (!passes_watermark_on(scene.graph(), scene.graph().vertex(producer))) continue;
    for (const WatchedTask& task : scene.tasks(producer)) {
      const EventTime watermark = task.info->report.watermark;
      if (watermark < reached) continue;  // idle: nobody waits for it
      held.furthest = std::max(held.furthest, watermark);
      if (held.task == nullptr || watermark < held.task->info->report.watermark) held.task = &task;
    }
  }
  return held;
}

// Walks upstream from the last vertex with the lowest watermark, always to the input that holds it.
std::optional<WatermarkHolder> walk_to_holder(const Scene& scene, const WatchedTask& last) {
  std::optional<WatermarkHolder> holder;
  const WatchedTask* at = &last;
  EventTime furthest = EventTime::min();
  while (true) {
    const TaskReport& report = at->info->report;
    const HeldInput input = held_input(scene, report.task.vertex, report.watermark);
    if (input.task == nullptr) break;
    const EventTime next = input.task->info->report.watermark;
    furthest = std::max(furthest, input.furthest);
    const bool waits_in_queue = has_begun(next) && has_begun(report.watermark) &&
                                next > report.watermark &&
                                input.furthest.ms - next.ms < next.ms - report.watermark.ms;
    if (waits_in_queue) {
      return WatermarkHolder{.task = report.task,
                             .watermark = report.watermark,
                             .others = next,
                             .by_queue = true,
                             .queued_bytes = report.queued_bytes};
    }
    at = input.task;
    holder = {.task = at->info->task,
              .watermark = next,
              .others = furthest,
              .queued_bytes = at->info->report.queued_bytes};
  }
  return holder;
}

// Whether no subtask of the holder's vertex is nearer to the others than to the holder.
bool is_whole_vertex(const Scene& scene, const WatermarkHolder& holder) {
  return std::ranges::all_of(scene.tasks(holder.task.vertex), [&](const WatchedTask& task) {
    const EventTime watermark = task.info->report.watermark;
    if (watermark == holder.watermark) return true;
    return has_begun(holder.watermark) && has_begun(watermark) &&
           watermark.ms - holder.watermark.ms < holder.others.ms - watermark.ms;
  });
}

SplitOverview splits_of(const Scene& scene, TaskId id) {
  for (const WatchedTask& task : scene.tasks(id.vertex)) {
    if (task.info->task == id) return task.info->report.splits;
  }
  return {};
}

void find_watermark_holder(const Scene& scene, std::vector<Finding>& findings) {
  const WatchedTask* last = nullptr;
  for (const JobVertex& vertex : scene.graph().vertices) {
    if (scene.graph().is_source(vertex) || !scene.consumers(vertex.id).empty()) continue;
    const WatchedTask* of_vertex = lowest(scene.tasks(vertex.id));
    if (of_vertex == nullptr) continue;
    if (last == nullptr || of_vertex->info->report.watermark < last->info->report.watermark)
      last = of_vertex;
  }
  if (last == nullptr) return;
  auto holder = walk_to_holder(scene, *last);
  if (!holder || !has_begun(holder->others)) return;
  const auto behind = holder->behind();
  if (behind && *behind < std::max(watermark_behind_min, 2 * advance_of_watermarks(scene))) return;
  holder->whole_vertex = is_whole_vertex(scene, *holder);
  if (!holder->by_queue) holder->splits = splits_of(scene, holder->task);
  findings.emplace_back(*std::move(holder));
}

// One of each source, the furthest behind. The task that holds the watermark of all has been named.
void find_split_holders(const Scene& scene, std::vector<Finding>& findings) {
  std::optional<TaskId> named;
  for (const Finding& finding : findings) {
    if (const auto* holder = std::get_if<WatermarkHolder>(&finding)) named = holder->task;
  }
  const Duration worth_a_word = std::max(watermark_behind_min, 2 * advance_of_watermarks(scene));
  for (const JobVertex& vertex : scene.graph().vertices) {
    std::optional<SplitHolder> found;
    for (const WatchedTask& task : scene.tasks(vertex.id)) {
      const SplitHolder holder{task.info->task, task.info->report.splits};
      if (holder.splits.holder.empty() || !has_begun(holder.splits.furthest)) continue;
      if (holder.behind() && *holder.behind() < worth_a_word) continue;
      if (!found || holder.splits.least < found->splits.least) found = holder;
    }
    if (found && found->task != named) findings.emplace_back(*std::move(found));
  }
}

void find_waiting_sources(const Scene& scene, std::vector<Finding>& findings) {
  const JobGraph& graph = scene.graph();
  for (const JobVertex& vertex : graph.vertices) {
    WaitsForGroup found{.vertex = vertex.id};
    for (const WatchedTask& task : scene.tasks(vertex.id)) {
      const TaskReport& report = task.info->report;
      const std::string group = group_waited_for(graph, report);
      if (group.empty()) continue;
      if (++found.waiting == 1 || report.watermark < found.watermark)
        found.watermark = report.watermark;
      found.group = group;
    }
    if (found.waiting == 0) continue;
    for (const JobVertex& other : graph.vertices) {
      const bool is_member = std::ranges::any_of(other.stages, [&](NodeId step) {
        return graph.node(step).alignment_group == found.group;
      });
      if (!is_member) continue;
      for (const WatchedTask& task : scene.tasks(other.id)) {
        const EventTime watermark = task.info->report.watermark;
        if (task.info->report.waits_for || (found.slowest && watermark >= found.slowest_watermark))
          continue;
        found.slowest = task.info->task;
        found.slowest_watermark = watermark;
      }
    }
    findings.emplace_back(std::move(found));
  }
}

// The key group that most of the producers' samples name, if it goes to the subtask and would be a whole subtask's share.
std::optional<Skew::HotKeyGroup> hot_key_group(const JobSample& sample, TaskId task) {
  const JobVertex& vertex = sample.graph.vertex(task.vertex);
  std::map<std::uint32_t, std::uint64_t> records_of;
  std::uint64_t sampled = 0;
  for (const PhysicalEdge& edge : sample.graph.edges) {
    if (edge.to != task.vertex || edge.partitioning != Partitioning::hash) continue;
    for (const TaskInfo& producer : sample.now.tasks) {
      if (producer.task.vertex != edge.from) continue;
      if (edge.exchange >= producer.report.exchanges.size()) continue;
      const ExchangeReport& exchange = producer.report.exchanges[edge.exchange];
      sampled += exchange.sampled_records;
      records_of[exchange.largest_group] += exchange.largest_group_records;
    }
  }
  const auto largest =
      std::ranges::max_element(records_of, {}, [](const auto& entry) { return entry.second; });
  if (sampled == 0 || largest == records_of.end()) return {};
  const KeyGroup group{largest->first};
  if (subtask_of(group, vertex.parallelism, vertex.max_parallelism) != task.subtask) return {};
  const double share = static_cast<double>(largest->second) / static_cast<double>(sampled);
  if (share * vertex.parallelism < 0.5) return {};
  return Skew::HotKeyGroup{group, share, sampled};
}

void find_skew(const JobSample& sample, std::vector<Finding>& findings) {
  for (const JobVertex& vertex : sample.graph.vertices) {
    const bool keyed = std::ranges::any_of(sample.graph.edges, [&](const PhysicalEdge& edge) {
      return edge.to == vertex.id && edge.partitioning == Partitioning::hash;
    });
    if (!keyed || vertex.parallelism < 2) continue;
    Skew skew;
    std::uint64_t all = 0;
    for (const TaskInfo& task : sample.now.tasks) {
      if (task.task.vertex != vertex.id) continue;
      all += task.report.records_in;
      if (task.report.records_in > skew.records)
        skew = {.task = task.task, .records = task.report.records_in};
    }
    if (all < skew_records_min) continue;
    skew.mean_of_others = static_cast<double>(all - skew.records) / (vertex.parallelism - 1);
    if (skew.factor() < skew_factor) continue;
    skew.key_group = hot_key_group(sample, skew.task);
    findings.emplace_back(skew);
  }
}

}  // namespace

Diagnosis diagnose(const JobSample& sample) {
  Diagnosis diagnosis{.seconds = seconds_watched(sample), .findings = {}};
  const std::string& waits_for = sample.now.status.progress.waiting_for;
  if (!waits_for.empty()) {  // nothing runs
    diagnosis.findings.emplace_back(WaitsForSlots{waits_for});
    return diagnosis;
  }
  const JobProgress& progress = sample.now.status.progress;
  const bool restarts = sample.now.status.state == JobState::restarting;
  // Of the first failure there is no such word before its tasks have ended.
  Restarts failures{progress.last_restart, std::max(progress.restarts, restarts ? 1U : 0U)};
  if (failures.why.empty()) failures.why = "its tasks are being ended, to restart";
  if (failures.count > 0) diagnosis.findings.emplace_back(std::move(failures));
  if (restarts) return diagnosis;
  const Scene scene(sample);
  find_bottlenecks(scene, diagnosis.findings);
  if (sample.before) {
    find_watermark_holder(scene, diagnosis.findings);
    find_split_holders(scene, diagnosis.findings);
    find_waiting_sources(scene, diagnosis.findings);
  }
  find_skew(sample, diagnosis.findings);
  return diagnosis;
}

}  // namespace weir
