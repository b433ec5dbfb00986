#include "dataflow/plan/chaining.h"

#include <algorithm>
#include <cstddef>

namespace weir {
namespace {

bool is_loop_head(const LogicalPlan& plan, NodeId id) {
  return std::ranges::find(plan.nodes, id, &LogicalNode::loop_head) != plan.nodes.end();
}

bool is_chainable(const LogicalPlan& plan, const PlanSettings& settings, const LogicalEdge& edge,
                  Partitioning partitioning) {
  const LogicalNode& from = plan.nodes[edge.from.value];
  const LogicalNode& to = plan.nodes[edge.to.value];
  return settings.chaining && partitioning == Partitioning::forward &&
         edge.kind == ExchangeKind::pipelined &&
         parallelism_of(from, settings) == parallelism_of(to, settings) &&
         from.slot_group == to.slot_group && from.chaining != Chaining::never &&
         to.chaining == Chaining::always && from.blocking == to.blocking &&
         to.input_hashers.size() == 1;
}

}  // namespace

std::vector<Partitioning> settled_partitionings(const LogicalPlan& plan,
                                                const PlanSettings& settings) {
  std::vector<Partitioning> partitionings;
  for (const LogicalEdge& edge : plan.edges) {
    const std::uint32_t from = parallelism_of(plan.nodes[edge.from.value], settings);
    const std::uint32_t to = parallelism_of(plan.nodes[edge.to.value], settings);
    // To all subtasks of a loop, so that their inputs end together: one that goes on alone would get no barriers.
    const bool to_all = from != to || (to > 1 && is_loop_head(plan, edge.to));
    partitionings.push_back(
        edge.partitioning.value_or(to_all ? Partitioning::rebalance : Partitioning::forward));
  }
  return partitionings;
}

std::vector<NodeId> chain_heads(const LogicalPlan& plan, const PlanSettings& settings,
                                const std::vector<Partitioning>& partitionings) {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> inputs(plan.nodes.size(), 0);
  std::vector<std::size_t> last_input(plan.nodes.size(), none);
  for (std::size_t i = 0; i < plan.edges.size(); ++i) {
    ++inputs[plan.edges[i].to.value];
    last_input[plan.edges[i].to.value] = i;
  }
  std::vector<NodeId> heads;
  for (const LogicalNode& node :
       plan.nodes) {  // those that an edge comes from are before those it leads to
    const std::size_t input = last_input[node.id.value];
    const bool chained = inputs[node.id.value] == 1 &&
                         is_chainable(plan, settings, plan.edges[input], partitionings[input]);
    heads.push_back(chained ? heads[plan.edges[input].from.value] : node.id);
  }
  return heads;
}

}  // namespace weir
