#include "dataflow/plan/logical_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/limits.h"
#include "dataflow/plan/chaining.h"
#include "state/key_groups.h"

namespace weir {
namespace {

std::string quoted(const std::string& name) {
  return "'" + name + "'";
}

// Whether one is the other, or in it. By name: links are not followed.
bool overlap(const std::string& a, const std::string& b) {
  const auto normal = [](const std::string& path) {
    const auto whole = std::filesystem::absolute(path).lexically_normal();
    return whole.has_filename() ? whole : whole.parent_path();  // without a slash at the end
  };
  const auto first = normal(a), second = normal(b);
  const auto [in_first, in_second] =
      std::mismatch(first.begin(), first.end(), second.begin(), second.end());
  return in_first == first.end() || in_second == second.end();
}

// Collects what is wrong with a plan, one aspect per function.
class Validation {
 public:
  Validation(const LogicalPlan& plan, const PlanSettings& settings)
      : plan_(plan), settings_(settings), mistakes_(plan.mistakes) {}

  std::vector<std::string> run() {
    if (plan_.nodes.empty()) mistakes_.push_back("the job has no steps: begin with job.source(…)");
    check_settings();
    check_names();
    check_ends();
    for (const LogicalNode& node : plan_.nodes) check_parallelism(node);
    for (const LogicalEdge& edge : plan_.edges) check_edge(edge);
    check_output_directories();
    check_alignments();
    for (const LogicalNode& node : plan_.nodes) {
      if (node.loop_head) check_loop(node);
    }
    return std::move(mistakes_);
  }

 private:
  void check_settings() {
    if (settings_.parallelism == 0)
      mistakes_.push_back("the job's parallelism is 0: it must be at least 1");
    if (settings_.max_parallelism && *settings_.max_parallelism > parallelism_max) {
      mistakes_.push_back("the job's maximum parallelism is " +
                          std::to_string(*settings_.max_parallelism) + ": at most " +
                          std::to_string(parallelism_max) + " is possible");
    }
  }

  void check_length(const std::string& what, const std::string& name) {
    if (name.size() <= limits::name_bytes_max) return;
    mistakes_.push_back("the name of " + what + " has " + std::to_string(name.size()) +
                        " bytes: at most " + std::to_string(limits::name_bytes_max) +
                        " are possible");
  }

  void check_names() {
    check_length("the job", plan_.job_name);
    std::map<std::string, int> uses;
    for (const LogicalNode& node : plan_.nodes) {
      const std::string whose =
          quoted(node.name.size() <= 40 ? node.name : node.name.substr(0, 40) + "…");
      check_length("the step " + whose, node.name);
      check_length("the slot group of " + whose, node.slot_group);
      if (node.stateful && !node.name_given) {
        mistakes_.push_back(
            "a " + node.kind +
            " step has state but no name: give it one, its state is found by it after a restart");
      } else if (node.name_given && node.name.empty()) {
        mistakes_.push_back("a " + node.kind + " step has an empty name: give it one");
      }
      if (node.name_given) ++uses[node.name];
    }
    for (const auto& [name, count] : uses) {
      if (count > 1 && !name.empty()) {
        mistakes_.push_back("the name " + quoted(name) + " is used by " + std::to_string(count) +
                            " steps: names must be unique in a job");
      }
    }
  }

  void check_ends() {
    for (const LogicalNode& node : plan_.nodes) {
      if (node.role == StageRole::sink) continue;
      const bool consumed = std::ranges::any_of(
          plan_.edges, [&](const LogicalEdge& edge) { return edge.from == node.id; });
      if (!consumed) {
        mistakes_.push_back("nothing consumes the output of " + quoted(node.name) +
                            ": end the branch with .to(…)");
      }
    }
  }

  void check_parallelism(const LogicalNode& node) {
    const std::uint32_t parallelism = parallelism_of(node, settings_);
    const std::uint32_t max = max_parallelism_of(node, settings_);
    if (node.max_parallelism && *node.max_parallelism > parallelism_max) {
      mistakes_.push_back("the maximum parallelism of " + quoted(node.name) + " is " +
                          std::to_string(*node.max_parallelism) + ": at most " +
                          std::to_string(parallelism_max) + " is possible");
    }
    if (node.parallelism && *node.parallelism == 0) {
      mistakes_.push_back("the parallelism of " + quoted(node.name) +
                          " is 0: it must be at least 1");
    } else if (parallelism > parallelism_max) {
      mistakes_.push_back("the parallelism of " + quoted(node.name) + " is " +
                          std::to_string(parallelism) + ": at most " +
                          std::to_string(parallelism_max) + " is possible");
    } else if (parallelism > max) {
      mistakes_.push_back(
          "the parallelism of " + quoted(node.name) + " is " + std::to_string(parallelism) +
          ", over its maximum of " + std::to_string(max) +
          ": lower it, or raise --max-parallelism (which fixes the key groups for good)");
    }
  }

  void check_edge(const LogicalEdge& edge) {
    const LogicalNode& from = plan_.nodes[edge.from.value];
    const LogicalNode& to = plan_.nodes[edge.to.value];
    if (edge.partitioning == Partitioning::forward &&
        parallelism_of(from, settings_) != parallelism_of(to, settings_)) {
      mistakes_.push_back("forward from " + quoted(from.name) + " (parallelism " +
                          std::to_string(parallelism_of(from, settings_)) + ") to " +
                          quoted(to.name) + " (" + std::to_string(parallelism_of(to, settings_)) +
                          ") needs equal parallelism: use .rebalance() or .rescale()");
    }
    const std::uint64_t channels =
        std::uint64_t{parallelism_of(from, settings_)} * parallelism_of(to, settings_);
    const bool possible = parallelism_of(from, settings_) <= parallelism_max &&
                          parallelism_of(to, settings_) <= parallelism_max;  // else told above
    if (edge.partitioning && is_all_to_all(*edge.partitioning) && possible &&
        channels > limits::edge_channels_max) {
      mistakes_.push_back("from " + quoted(from.name) + " to " + quoted(to.name) +
                          " there would be " + std::to_string(channels) +
                          " channels, and at most " + std::to_string(limits::edge_channels_max) +
                          " are possible: lower the parallelism");
    }
    if (to.keyed && to.input_hashers[edge.to_port.value] == nullptr &&
        edge.partitioning != Partitioning::broadcast) {
      mistakes_.push_back(quoted(to.name) + " works per key, but its input " + quoted(from.name) +
                          " has none: put .key_by(…) before it");
    }
  }

  // All subtasks of its head take part in a checkpoint or none, so they must be at the end of their inputs together.
  void check_way_into_loop(const LogicalNode& head) {
    for (const LogicalEdge& edge : plan_.edges) {
      if (edge.to != head.id || !edge.partitioning || is_all_to_all(*edge.partitioning)) continue;
      const LogicalNode& from = plan_.nodes[edge.from.value];
      const std::uint32_t subtasks = parallelism_of(head, settings_);
      if (subtasks == 1 || parallelism_of(from, settings_) == 1) continue;
      mistakes_.push_back("the loop " + quoted(head.name) + " has " + std::to_string(subtasks) +
                          " subtasks, and " + quoted(from.name) + " leads to some of them only (" +
                          std::string(name_of(*edge.partitioning)) +
                          "): leave the partitioning out, or use .rebalance()");
    }
  }

  // Its head learns what is on its way by markers that take the same ways as the records: so all that its steps take comes from the head.
  void check_loop(const LogicalNode& tail) {
    const LogicalNode& head = plan_.nodes[tail.loop_head->value];
    check_way_into_loop(head);
    const auto inside = nodes_between(head.id, tail.id);
    if (!inside.contains(tail.id)) {
      mistakes_.push_back("what the loop " + quoted(head.name) +
                          " feeds back does not come from its own records: let its function "
                          "return a stream that it has made of the one that it was given");
      return;
    }
    for (const LogicalEdge& edge : plan_.edges) {
      const LogicalNode& to = plan_.nodes[edge.to.value];
      if (!inside.contains(to.id) || to.id == head.id || inside.contains(edge.from)) continue;
      mistakes_.push_back(quoted(to.name) + " is in the loop " + quoted(head.name) + " and takes " +
                          quoted(plan_.nodes[edge.from.value].name) +
                          " from outside: unite or join them before the loop");
    }
    for (const LogicalNode& other : plan_.nodes) {
      if (!other.loop_head || other.id == tail.id || !inside.contains(*other.loop_head)) continue;
      mistakes_.push_back("the loop " + quoted(plan_.nodes[other.loop_head->value].name) +
                          " is inside the loop " + quoted(head.name) +
                          ": put one behind the other");
    }
  }

  // Those that records on their way from one to the other may pass, with both.
  [[nodiscard]] std::set<NodeId> nodes_between(NodeId from, NodeId to) const {
    std::set<NodeId> reached{from};
    std::set<NodeId> leading{to};
    // Edges lead to later nodes only.
    for (const LogicalNode& node : plan_.nodes) {
      for (const LogicalEdge& edge : plan_.edges) {
        if (edge.to == node.id && reached.contains(edge.from)) reached.insert(node.id);
      }
    }
    for (auto node = plan_.nodes.rbegin(); node != plan_.nodes.rend(); ++node) {
      for (const LogicalEdge& edge : plan_.edges) {
        if (edge.from == node->id && leading.contains(edge.to)) leading.insert(node->id);
      }
    }
    std::erase_if(reached, [&leading](NodeId id) { return !leading.contains(id); });
    return reached;
  }

  // It is a source that is to wait, so it must be in the same task.
  void check_alignments() {
    const auto heads = chain_heads(plan_, settings_, settled_partitionings(plan_, settings_));
    for (const LogicalNode& node : plan_.nodes) {
      const LogicalNode& head = plan_.nodes[heads[node.id.value].value];
      if (!node.alignment || head.role == StageRole::source) continue;
      mistakes_.push_back(quoted(node.name) + " has with_alignment(\"" + node.alignment->group +
                          "\", …), but is not chained to a source, which could wait: put "
                          "event_time directly behind "
                          "the source, or behind steps like map, filter or parse of its "
                          "parallelism and slot group, "
                          "without union_with, partitioning, no_chain or --no-chaining between");
    }
  }

  void check_output_directories() {
    for (const LogicalNode& node : plan_.nodes) {
      for (const LogicalNode& other : plan_.nodes) {
        if (node.id < other.id && node.role == StageRole::sink && other.role == StageRole::sink)
          check_apart(node, other);
      }
    }
  }

  void check_apart(const LogicalNode& node, const LogicalNode& other) {
    for (const std::string& path : node.paths) {
      for (const std::string& other_path : other.paths) {
        if (!overlap(path, other_path)) continue;
        mistakes_.push_back(quoted(node.name) + " and " + quoted(other.name) +
                            " would write into each other's output ('" + path + "' and '" +
                            other_path +
                            "'): give each a directory of its own, or union them before one sink");
      }
    }
  }

  const LogicalPlan& plan_;
  const PlanSettings& settings_;
  std::vector<std::string> mistakes_;
};

}  // namespace

std::uint32_t parallelism_of(const LogicalNode& node, const PlanSettings& settings) {
  return node.parallelism.value_or(settings.parallelism);
}

std::uint32_t max_parallelism_of(const LogicalNode& node, const PlanSettings& settings) {
  if (node.max_parallelism) return *node.max_parallelism;
  if (settings.max_parallelism) return *settings.max_parallelism;
  return default_max_parallelism(std::min(parallelism_of(node, settings), parallelism_max));
}

std::vector<std::string> validate(const LogicalPlan& plan, const PlanSettings& settings) {
  return Validation(plan, settings).run();
}

Result<void> check_valid(const LogicalPlan& plan, const PlanSettings& settings) {
  const auto mistakes = validate(plan, settings);
  if (mistakes.empty()) return {};
  std::string text = "the job has " + std::to_string(mistakes.size()) +
                     (mistakes.size() == 1 ? " mistake:" : " mistakes:");
  for (const std::string& mistake : mistakes) text += "\n  - " + mistake;
  return Error{Errc::invalid_plan, std::move(text)};
}

}  // namespace weir
