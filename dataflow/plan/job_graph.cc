#include "dataflow/plan/job_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/codec.h"
#include "base/hash.h"
#include "base/limits.h"
#include "state/key_groups.h"

namespace weir {

bool JobGraph::is_last(VertexId vertex) const {
  return std::ranges::none_of(edges,
                              [vertex](const PhysicalEdge& edge) { return edge.from == vertex; });
}

JobGraph make_job_graph(const PhysicalPlan& plan) {
  JobGraph graph;
  graph.job_name = plan.logical.job_name;
  for (const LogicalNode& node : plan.logical.nodes) {
    graph.nodes.push_back({.id = node.id,
                           .name = node.name,
                           .kind = node.kind.substr(0, limits::kind_bytes_max),
                           .role = node.role,
                           .commits = node.role == StageRole::sink && node.make_committer,
                           .alignment_group = node.alignment ? node.alignment->group : ""});
  }
  for (const Vertex& vertex : plan.vertices) {
    JobVertex& to = graph.vertices.emplace_back(JobVertex{.id = vertex.id,
                                                          .name = vertex.name,
                                                          .stages = {},
                                                          .parallelism = vertex.parallelism,
                                                          .max_parallelism = vertex.max_parallelism,
                                                          .slot_group = vertex.slot_group,
                                                          .blocking = vertex.blocking});
    for (const ChainStage& stage : vertex.chain.stages) to.stages.push_back(stage.node);
  }
  graph.edges = plan.edges;
  return graph;
}

std::uint32_t slots_needed(const JobGraph& graph) {
  std::map<std::string, std::uint32_t> widest;
  for (const JobVertex& vertex : graph.vertices) {
    widest[vertex.slot_group] = std::max(widest[vertex.slot_group], vertex.parallelism);
  }
  std::uint32_t total = 0;
  for (const auto& [group, parallelism] : widest) total += parallelism;
  return total;
}

std::uint64_t fingerprint(const JobGraph& graph) {
  JobGraph described = graph;
  for (JobNode& node : described.nodes) node.kind.clear();  // names files, whose paths may differ
  const Bytes bytes = to_bytes(described);
  return hash_of(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

Result<void> check_consistent(const JobGraph& graph) {
  const auto wrong = [](const std::string& what) {
    return Error{Errc::corrupt_data, "the job graph is damaged: " + what};
  };
  if (graph.nodes.empty() || graph.vertices.empty()) return wrong("it is empty");
  if (graph.job_name.size() > limits::name_bytes_max) return wrong("the job's name is too long");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].id.value != i) return wrong("node " + std::to_string(i) + " has another id");
    if (graph.nodes[i].name.size() > limits::name_bytes_max ||
        graph.nodes[i].kind.size() > limits::kind_bytes_max ||
        graph.nodes[i].alignment_group.size() > limits::name_bytes_max)
      return wrong("a node's name is too long");
    if (graph.nodes[i].role > StageRole::sink) return wrong("a node has an unknown role");
  }
  std::set<NodeId> placed;
  for (std::size_t i = 0; i < graph.vertices.size(); ++i) {
    const JobVertex& vertex = graph.vertices[i];
    const std::string name = "vertex " + std::to_string(i);
    if (vertex.id.value != i) return wrong(name + " has another id");
    if (vertex.stages.empty()) return wrong(name + " has no steps");
    constexpr std::size_t arrow_bytes = 5;  // between the names of two steps
    if (vertex.name.size() > vertex.stages.size() * (limits::name_bytes_max + arrow_bytes) ||
        vertex.slot_group.size() > limits::name_bytes_max)
      return wrong(name + " has a name that is too long");
    for (const NodeId stage : vertex.stages) {
      if (stage.value >= graph.nodes.size()) return wrong(name + " has an unknown step");
      if (!placed.insert(stage).second) return wrong("a step is in two places");
    }
    if (vertex.parallelism < 1 || vertex.parallelism > vertex.max_parallelism ||
        vertex.max_parallelism > parallelism_max) {
      return wrong(name + " has an impossible parallelism");
    }
  }
  if (placed.size() != graph.nodes.size()) return wrong("a step is in no vertex");
  for (const PhysicalEdge& edge : graph.edges) {
    if (edge.from.value >= graph.vertices.size() || edge.to.value >= graph.vertices.size()) {
      return wrong("an edge leads nowhere");
    }
    if (edge.partitioning > Partitioning::custom)
      return wrong("an edge has an unknown partitioning");
  }
  if (std::ranges::none_of(graph.nodes,
                           [](const JobNode& node) { return node.role == StageRole::source; })) {
    return wrong("it has no source");
  }
  return {};
}

}  // namespace weir
