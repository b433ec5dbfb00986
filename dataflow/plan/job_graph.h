// A job as the cluster's roles see it: the physical plan without the user's code. Data that travels and is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/codec.h"
#include "base/ids.h"
#include "dataflow/plan/physical_plan.h"

namespace weir {

struct JobNode {
  NodeId id;
  std::string name;
  std::string kind;
  StageRole role = StageRole::transform;
  bool commits = false;  // a sink whose output becomes visible by a committer
  std::string alignment_group =
      {};  // of a step whose source waits for those of others; "": it does not
  friend bool operator==(const JobNode&, const JobNode&) = default;

  // Whether something is done for it once per job: splits enumerated, output committed.
  [[nodiscard]] bool has_coordinator() const { return commits || role == StageRole::source; }
};

struct JobVertex {
  VertexId id;
  std::string name;
  std::vector<NodeId> stages;  // of its chain, head first
  std::uint32_t parallelism = 1;
  std::uint32_t max_parallelism = 1;
  std::string slot_group;
  bool blocking = false;
  friend bool operator==(const JobVertex&, const JobVertex&) = default;
};

// Nodes and vertices are at the positions of their ids.
struct JobGraph {
  std::string job_name;
  std::vector<JobNode> nodes;
  std::vector<JobVertex> vertices;
  std::vector<PhysicalEdge> edges;
  friend bool operator==(const JobGraph&, const JobGraph&) = default;

  [[nodiscard]] const JobNode& node(NodeId id) const { return nodes[id.value]; }
  [[nodiscard]] const JobVertex& vertex(VertexId id) const { return vertices[id.value]; }
  [[nodiscard]] const JobNode& head_of(const JobVertex& vertex) const {
    return node(vertex.stages.front());
  }
  [[nodiscard]] bool is_source(const JobVertex& vertex) const {
    return head_of(vertex).role == StageRole::source;
  }
  [[nodiscard]] bool is_last(VertexId vertex) const;  // nothing leaves it but through its sinks
};

[[nodiscard]] JobGraph make_job_graph(const PhysicalPlan& plan);

// Slots needed per sharing group: the largest parallelism in it; and their sum.
[[nodiscard]] std::uint32_t slots_needed(const JobGraph& graph);

// Equal for two plans that are described alike, so that a task process can tell that it has built the plan that was
// submitted. Not kept across versions.
[[nodiscard]] std::uint64_t fingerprint(const JobGraph& graph);

// What is wrong with a graph that came from outside: ids that are not positions, edges to nowhere, parallelism out of
// bounds … Errc::corrupt_data; nothing if everything else may rely on it.
[[nodiscard]] Result<void> check_consistent(const JobGraph& graph);

// A Cap'n Proto message, see job_graph.capnp. What it decodes from outside must pass check_consistent.
template <>
struct Codec<JobGraph> {
  static void encode(ByteWriter& writer, const JobGraph& graph);
  [[nodiscard]] static Result<JobGraph> decode(ByteReader& reader);
};

}  // namespace weir
