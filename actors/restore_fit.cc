#include "actors/restore_fit.h"

#include <algorithm>
#include <vector>

namespace weir {
namespace {

bool has_keyed_state(const OperatorInManifest& op) {
  return std::ranges::any_of(
      op.subtasks, [](const SubtaskInManifest& subtask) { return !subtask.keyed.empty(); });
}

bool has_state(const OperatorInManifest& op) {
  const auto has_items = [](const SubtaskInManifest& subtask) {
    return std::ranges::any_of(subtask.items,
                               [](const OperatorStateHandle& state) { return state.items > 0; });
  };
  return op.coordinator || !op.committables.empty() || has_keyed_state(op) ||
         std::ranges::any_of(op.subtasks, has_items);
}

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

// The maximum parallelism of the vertex that a node is in.
std::uint32_t max_parallelism_of(const JobGraph& graph, NodeId node) {
  for (const JobVertex& vertex : graph.vertices) {
    if (std::ranges::find(vertex.stages, node) != vertex.stages.end())
      return vertex.max_parallelism;
  }
  return 0;
}

}  // namespace

Result<void> check_fits(const CheckpointManifest& manifest, const JobGraph& graph,
                        const std::string& path) {
  std::vector<std::string> without_step;
  for (const OperatorInManifest& op : manifest.operators) {
    const auto node = std::ranges::find(graph.nodes, op.name, &JobNode::name);
    if (node == graph.nodes.end()) {
      if (has_state(op)) without_step.push_back(op.name);
      continue;
    }
    const std::uint32_t now = max_parallelism_of(graph, node->id);
    if (!has_keyed_state(op) || op.max_parallelism == now) continue;
    const std::string was = std::to_string(op.max_parallelism);
    return Error{Errc::bad_option, "'" + op.name + "' has maximum parallelism " +
                                       std::to_string(now) + " now and had " + was + " in " + path +
                                       ": its keyed state cannot be restored so; give "
                                       "--max-parallelism " +
                                       was};
  }
  if (without_step.empty()) return {};
  std::vector<std::string> steps;
  for (const JobNode& node : graph.nodes) steps.push_back(node.name);
  return Error{Errc::state_mismatch, path + " is a checkpoint of job '" + manifest.job_name +
                                         "' and has state of " + quoted(without_step) +
                                         ", which this job does not have: its steps are " +
                                         quoted(steps) +
                                         "; give a checkpoint of this job, or name the steps as "
                                         "they were"};
}

}  // namespace weir
