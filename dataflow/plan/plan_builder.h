// Collects the steps of a job while the user describes it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/plan/logical_plan.h"

namespace weir {

// An output of a step, with how the next step's records are to be divided.
struct Origin {
  NodeId node;
  OutputPort port;
  std::optional<Partitioning> partitioning;
  std::shared_ptr<const CustomPartitioner> custom;
};

// Owned by the job; streams refer to it.
class PlanBuilder {
 public:
  // Adds a step; its id is set here, and its name made unique if it was not given.
  NodeId add(LogicalNode node) {
    node.id = {static_cast<std::uint32_t>(plan_.nodes.size())};
    if (!node.name_given) node.name = free_name(node.kind);
    plan_.nodes.push_back(std::move(node));
    return plan_.nodes.back().id;
  }

  void connect(const std::vector<Origin>& origins, NodeId to, InputPort port = {}) {
    for (const Origin& origin : origins) {
      plan_.edges.push_back({.from = origin.node,
                             .from_port = origin.port,
                             .to = to,
                             .to_port = port,
                             .partitioning = origin.partitioning,
                             .kind = ExchangeKind::pipelined,
                             .custom = origin.custom});
    }
  }

  [[nodiscard]] LogicalNode& node(NodeId id) { return plan_.nodes[id.value]; }
  // Says what a step that the API has put in is for; people see it as its name, which is made unique.
  void set_kind(NodeId id, std::string kind) {
    node(id).name = free_name(kind);
    node(id).kind = std::move(kind);
  }
  // For settings of a step made on a stream that is no step's own output: a mistake, and a node that takes them.
  [[nodiscard]] LogicalNode& refuse_settings(const std::string& name) {
    add_mistake(
        "a setting (.named, .parallelism …) follows a union, side output or partitioning after '" +
        name + "': put it directly behind the step it is meant for");
    return nobody_;
  }
  [[nodiscard]] LogicalPlan& plan() { return plan_; }
  [[nodiscard]] KeyTag next_key_tag() { return {++key_tags_}; }
  void add_mistake(std::string sentence) { plan_.mistakes.push_back(std::move(sentence)); }

 private:
  [[nodiscard]] std::string free_name(const std::string& kind) const {
    const auto taken = [this](const std::string& name) {
      for (const LogicalNode& node : plan_.nodes) {
        if (node.name == name) return true;
      }
      return false;
    };
    std::string name = kind;
    for (int i = 2; taken(name); ++i) name = kind + " " + std::to_string(i);
    return name;
  }

  LogicalPlan plan_;
  std::uint32_t key_tags_ = 0;
  LogicalNode nobody_;
};

}  // namespace weir
