// The job as it runs: chains of steps, their subtasks, and the channels between them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "dataflow/plan/logical_plan.h"
#include "dataflow/runtime/chain_spec.h"
#include "state/keyed_table.h"

namespace weir {

// One edge between vertices: exchange `exchange` of the producer leads to input port `port` of the
// consumer.
struct PhysicalEdge {
  VertexId from;
  std::uint32_t exchange;
  VertexId to;
  InputPort port;
  Partitioning partitioning;
  friend bool operator==(const PhysicalEdge&, const PhysicalEdge&) = default;
};

// A chain of steps that runs as one task per subtask.
struct Vertex {
  VertexId id;
  std::string name;  // "lines → flat map", for people
  ChainSpec chain;
  std::uint32_t parallelism = 1;
  std::uint32_t max_parallelism = 1;
  std::string slot_group;
  bool blocking = false;
};

// Immutable once built; shared by everything that runs the job.
struct PhysicalPlan {
  LogicalPlan logical;
  PlanSettings settings;
  std::vector<Vertex> vertices;  // in topological order
  std::vector<PhysicalEdge> edges;

  [[nodiscard]] const Vertex& vertex(VertexId id) const { return vertices[id.value]; }
};

// Chains steps by Flink's rules: the consumer has one input edge, forward, of the same parallelism
// and slot group, and neither side's chaining forbids it. Requires that the plan is valid for the
// settings.
[[nodiscard]] std::shared_ptr<const PhysicalPlan> make_physical_plan(LogicalPlan logical,
                                                                     PlanSettings settings);

// One end of a channel: a subtask of the other vertex, and the channel's index there.
struct ChannelEnd {
  VertexId vertex;
  SubtaskIndex subtask;
  // At a producer: the exchange, and the index among its lanes. At a consumer: the index among its
  // input channels.
  std::uint32_t exchange;
  std::uint32_t index;
};

// The input channels of a subtask, in the order of their indices: the producer's end of each.
[[nodiscard]] std::vector<ChannelEnd> input_channels(const PhysicalPlan& plan, VertexId vertex,
                                                     SubtaskIndex subtask);
[[nodiscard]] std::vector<InputPort> input_channel_ports(const PhysicalPlan& plan, VertexId vertex,
                                                         SubtaskIndex subtask);
// The lanes of each exchange of a subtask: the consumer's end of each.
[[nodiscard]] std::vector<std::vector<ChannelEnd>> output_channels(const PhysicalPlan& plan,
                                                                   VertexId vertex,
                                                                   SubtaskIndex subtask);

// What a producer puts out on one of its exchanges.
[[nodiscard]] const BatchType& batch_type_of_exchange(const PhysicalPlan& plan, VertexId producer,
                                                      std::uint32_t exchange);

// What flow control grants a channel into a vertex: its share of the gate, within bounds.
[[nodiscard]] std::uint64_t channel_window_bytes(const PhysicalPlan& plan, VertexId consumer);
// The same for one that comes from another process.
[[nodiscard]] std::uint64_t remote_channel_window_bytes(const PhysicalPlan& plan,
                                                        VertexId consumer);

// Vertices that must restart together: the component over pipelined edges, by vertex.
[[nodiscard]] std::vector<std::uint32_t> pipelined_regions(const PhysicalPlan& plan);

// Both plans for people, as --explain prints them.
[[nodiscard]] std::string explain(const PhysicalPlan& plan);

}  // namespace weir
