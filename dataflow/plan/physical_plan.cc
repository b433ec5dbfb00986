#include "dataflow/plan/physical_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "dataflow/plan/chaining.h"
#include "dataflow/plan/job_graph.h"

namespace weir {
namespace {

// Turns a logical plan into vertices, edges and exchanges.
class PhysicalPlanner {
 public:
  PhysicalPlanner(const LogicalPlan& logical, const PlanSettings& settings)
      : logical_(logical), settings_(settings) {}

  void build(PhysicalPlan& plan) {
    partitionings_ = settled_partitionings(logical_, settings_);
    chain_head_ = chain_heads(logical_, settings_, partitionings_);
    for (const LogicalNode& node : logical_.nodes) {
      if (chain_head_[node.id.value] == node.id) add_vertex(plan, node);
    }
    for (const LogicalNode& node : logical_.nodes) {
      if (chain_head_[node.id.value] != node.id) add_to_chain(plan, node);
    }
    for (std::size_t i = 0; i < logical_.edges.size(); ++i) connect(plan, i);
  }

 private:
  [[nodiscard]] const LogicalNode& node(NodeId id) const { return logical_.nodes[id.value]; }
  [[nodiscard]] std::uint32_t parallelism(NodeId id) const {
    return parallelism_of(node(id), settings_);
  }

  [[nodiscard]] static ChainStage stage_of(const LogicalNode& node) {
    return {.node = node.id,
            .operator_name = node.name,
            .role = node.role,
            .keyed = node.keyed,
            .keeps_splits = node.keeps_splits,
            .alignment = node.alignment,
            .factory = node.factory,
            .outputs = node.outputs,
            .targets = std::vector<std::vector<ChainTarget>>(node.outputs.size()),
            .input_hashers = node.input_hashers};
  }

  void place(PhysicalPlan& plan, const LogicalNode& node, VertexId vertex) {
    ChainSpec& chain = plan.vertices[vertex.value].chain;
    place_of_[node.id] = {vertex, static_cast<std::uint32_t>(chain.stages.size())};
    chain.stages.push_back(stage_of(node));
  }

  void add_vertex(PhysicalPlan& plan, const LogicalNode& head) {
    const VertexId id{static_cast<std::uint32_t>(plan.vertices.size())};
    plan.vertices.push_back({.id = id,
                             .name = head.name,
                             .chain = {},
                             .parallelism = parallelism(head.id),
                             .max_parallelism = max_parallelism_of(head, settings_),
                             .slot_group = head.slot_group,
                             .blocking = head.blocking});
    place(plan, head, id);
  }

  void add_to_chain(PhysicalPlan& plan, const LogicalNode& node) {
    const VertexId vertex = place_of_.at(chain_head_[node.id.value]).first;
    place(plan, node, vertex);
    Vertex& to = plan.vertices[vertex.value];
    to.name += " → " + node.name;
    // Flink lets the maximum parallelism differ within a chain; key groups are those of the keyed
    // step.
    if (node.keyed) to.max_parallelism = max_parallelism_of(node, settings_);
  }

  void connect(PhysicalPlan& plan, std::size_t edge_index) {
    const LogicalEdge& edge = logical_.edges[edge_index];
    const auto [from_vertex, from_stage] = place_of_.at(edge.from);
    const auto [to_vertex, to_stage] = place_of_.at(edge.to);
    ChainSpec& chain = plan.vertices[from_vertex.value].chain;
    auto& targets = chain.stages[from_stage].targets[edge.from_port.value];
    const bool chained = from_vertex == to_vertex && to_stage != 0;
    if (chained) {
      targets.push_back({ChainTarget::Kind::stage, to_stage});
      return;
    }
    const auto exchange = static_cast<std::uint32_t>(chain.exchanges.size());
    targets.push_back({ChainTarget::Kind::exchange, exchange});
    const Vertex& to = plan.vertices[to_vertex.value];
    chain.exchanges.push_back({.partitioning = partitionings_[edge_index],
                               .key_hasher = node(edge.to).input_hashers[edge.to_port.value],
                               .custom = edge.custom,
                               .max_parallelism = to.max_parallelism,
                               .consumer_name = node(edge.to).name});
    plan.edges.push_back(
        {from_vertex, exchange, to_vertex, edge.to_port, partitionings_[edge_index]});
  }

  const LogicalPlan& logical_;
  const PlanSettings& settings_;
  std::vector<Partitioning> partitionings_;                        // by edge
  std::vector<NodeId> chain_head_;                                 // by node
  std::map<NodeId, std::pair<VertexId, std::uint32_t>> place_of_;  // vertex and stage
};

// Subtasks [begin, end).
struct SubtaskRange {
  std::uint32_t begin;
  std::uint32_t end;
};

// The producers of one consumer, and the consumers of one producer. Pointwise edges are divided as
// in Flink: the side with more subtasks is cut into even, contiguous shares.
SubtaskRange producers_of(const PhysicalEdge& edge, std::uint32_t producers,
                          std::uint32_t consumers, std::uint32_t consumer) {
  if (is_all_to_all(edge.partitioning)) return {0, producers};
  const auto share = [&](std::uint64_t i) {
    return static_cast<std::uint32_t>(i * producers / consumers);
  };
  if (producers >= consumers) return {share(consumer), share(consumer + 1)};
  return {share(consumer), share(consumer) + 1};
}

SubtaskRange consumers_of(const PhysicalEdge& edge, std::uint32_t producers,
                          std::uint32_t consumers, std::uint32_t producer) {
  if (is_all_to_all(edge.partitioning)) return {0, consumers};
  SubtaskRange range{consumers, 0};
  for (std::uint32_t consumer = 0; consumer < consumers; ++consumer) {
    const SubtaskRange from = producers_of(edge, producers, consumers, consumer);
    if (producer < from.begin || producer >= from.end) continue;
    range = {std::min(range.begin, consumer), consumer + 1};
  }
  return range;
}

// Index of the first input channel of `edge` at a consumer's subtask: channels follow the order of
// edges.
std::uint32_t first_channel(const PhysicalPlan& plan, const PhysicalEdge& of,
                            std::uint32_t consumer) {
  std::uint32_t index = 0;
  for (const PhysicalEdge& edge : plan.edges) {
    if (edge.to != of.to) continue;
    if (&edge == &of) break;
    const auto range = producers_of(edge, plan.vertex(edge.from).parallelism,
                                    plan.vertex(edge.to).parallelism, consumer);
    index += range.end - range.begin;
  }
  return index;
}

std::string plural(std::uint32_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string explain_logical(const LogicalPlan& plan, const PlanSettings& settings) {
  std::string text = "Logical plan of " + plan.job_name + "\n";
  for (const LogicalNode& node : plan.nodes) {
    text += "  " + std::to_string(node.id.value) + "  " + node.name;
    if (node.kind != node.name) text += "  (" + node.kind + ")";
    text += "  parallelism " + std::to_string(parallelism_of(node, settings)) + "\n";
    for (const LogicalEdge& edge : plan.edges) {
      if (edge.to != node.id) continue;
      const LogicalNode& from = plan.nodes[edge.from.value];
      text += "       ← " + from.name;
      if (edge.from_port.value > 0) text += " / " + from.output_names[edge.from_port.value];
      if (node.input_hashers.size() > 1)
        text += " into input " + std::to_string(edge.to_port.value);
      if (edge.partitioning) text += ", " + std::string(name_of(*edge.partitioning));
      text += "\n";
    }
  }
  return text;
}

}  // namespace

std::shared_ptr<const PhysicalPlan> make_physical_plan(LogicalPlan logical, PlanSettings settings) {
  auto plan = std::make_shared<PhysicalPlan>();
  plan->logical = std::move(logical);
  plan->settings = settings;
  PhysicalPlanner(plan->logical, plan->settings).build(*plan);
  return plan;
}

std::vector<ChannelEnd> input_channels(const PhysicalPlan& plan, VertexId vertex,
                                       SubtaskIndex subtask) {
  std::vector<ChannelEnd> channels;
  for (const PhysicalEdge& edge : plan.edges) {
    if (edge.to != vertex) continue;
    const std::uint32_t producers = plan.vertex(edge.from).parallelism;
    const std::uint32_t consumers = plan.vertex(edge.to).parallelism;
    const auto range = producers_of(edge, producers, consumers, subtask.value);
    for (std::uint32_t producer = range.begin; producer < range.end; ++producer) {
      const auto lanes = consumers_of(edge, producers, consumers, producer);
      channels.push_back({edge.from, {producer}, edge.exchange, subtask.value - lanes.begin});
    }
  }
  return channels;
}

std::vector<InputPort> input_channel_ports(const PhysicalPlan& plan, VertexId vertex,
                                           SubtaskIndex subtask) {
  std::vector<InputPort> ports;
  for (const PhysicalEdge& edge : plan.edges) {
    if (edge.to != vertex) continue;
    const auto range = producers_of(edge, plan.vertex(edge.from).parallelism,
                                    plan.vertex(edge.to).parallelism, subtask.value);
    ports.insert(ports.end(), range.end - range.begin, edge.port);
  }
  return ports;
}

std::vector<std::vector<ChannelEnd>> output_channels(const PhysicalPlan& plan, VertexId vertex,
                                                     SubtaskIndex subtask) {
  std::vector<std::vector<ChannelEnd>> exchanges(plan.vertex(vertex).chain.exchanges.size());
  for (const PhysicalEdge& edge : plan.edges) {
    if (edge.from != vertex) continue;
    const std::uint32_t producers = plan.vertex(edge.from).parallelism;
    const std::uint32_t consumers = plan.vertex(edge.to).parallelism;
    const auto range = consumers_of(edge, producers, consumers, subtask.value);
    for (std::uint32_t consumer = range.begin; consumer < range.end; ++consumer) {
      const auto from = producers_of(edge, producers, consumers, consumer);
      const std::uint32_t index = first_channel(plan, edge, consumer) + subtask.value - from.begin;
      exchanges[edge.exchange].push_back({edge.to, {consumer}, edge.exchange, index});
    }
  }
  return exchanges;
}

const BatchType& batch_type_of_exchange(const PhysicalPlan& plan, VertexId producer,
                                        std::uint32_t exchange) {
  for (const ChainStage& stage : plan.vertex(producer).chain.stages) {
    for (std::size_t port = 0; port < stage.targets.size(); ++port) {
      for (const ChainTarget& target : stage.targets[port]) {
        if (target.kind == ChainTarget::Kind::exchange && target.index == exchange) {
          return *stage.outputs[port].batch;
        }
      }
    }
  }
  WEIR_CHECK(false);
  return *plan.vertex(producer).chain.stages.front().outputs.front().batch;
}

std::uint64_t channel_window_bytes(const PhysicalPlan& plan, VertexId consumer) {
  const std::size_t channels = std::max<std::size_t>(1, input_channels(plan, consumer, {0}).size());
  return std::clamp(limits::gate_bytes_max / channels, limits::channel_bytes_min,
                    limits::channel_bytes_max);
}

std::uint64_t remote_channel_window_bytes(const PhysicalPlan& plan, VertexId consumer) {
  return channel_window_bytes(plan, consumer) * limits::remote_window_factor;
}

std::vector<std::uint32_t> pipelined_regions(const PhysicalPlan& plan) {
  std::vector<std::uint32_t> region(plan.vertices.size());
  std::iota(region.begin(), region.end(), 0U);
  for (const PhysicalEdge& edge : plan.edges) {
    const std::uint32_t a = region[edge.from.value];
    const std::uint32_t b = region[edge.to.value];
    std::ranges::replace(region, std::max(a, b), std::min(a, b));
  }
  return region;
}

std::string explain(const PhysicalPlan& plan) {
  std::string text = explain_logical(plan.logical, plan.settings);
  std::uint32_t tasks = 0;
  for (const Vertex& vertex : plan.vertices) tasks += vertex.parallelism;
  text += "\nPhysical plan: " + plural(tasks, "task") + " in " +
          plural(slots_needed(make_job_graph(plan)), "slot") + "\n";
  for (const Vertex& vertex : plan.vertices) {
    text += "  [" + std::to_string(vertex.id.value) + "] " + vertex.name + "\n";
    text += "      parallelism " + std::to_string(vertex.parallelism);
    if (std::ranges::any_of(vertex.chain.stages, &ChainStage::keyed)) {
      text += ", key groups ";
      for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
        const auto range = key_group_range_of({i}, vertex.parallelism, vertex.max_parallelism);
        if (i == 4 && vertex.parallelism > 5) {
          text += " …";
          i = vertex.parallelism - 2;
          continue;
        }
        text += (i == 0 ? "" : " ") + std::to_string(range.first.value) + "–" +
                std::to_string(range.last().value);
      }
    }
    if (vertex.slot_group != "default") text += ", slot group " + vertex.slot_group;
    if (vertex.blocking) text += ", blocking";
    text += "\n";
    for (const PhysicalEdge& edge : plan.edges) {
      if (edge.from != vertex.id) continue;
      std::uint32_t channels = 0;
      for (std::uint32_t i = 0; i < vertex.parallelism; ++i) {
        channels +=
            static_cast<std::uint32_t>(output_channels(plan, vertex.id, {i})[edge.exchange].size());
      }
      text += "      → [" + std::to_string(edge.to.value) + "] " +
              std::string(name_of(edge.partitioning)) + ", " + plural(channels, "channel") + "\n";
    }
  }
  return text;
}

}  // namespace weir
