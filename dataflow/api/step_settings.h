// What can be said about any step of a job, after it was added.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "dataflow/plan/plan_builder.h"

namespace weir {

// What every kind of stream can say about the step it comes from. Self is the stream type, returned
// for chaining.
template <class Self>
class StepSettings {
 public:
  // The step's name for people; its identity if it has state.
  Self named(std::string name) {
    LogicalNode& node = self().last_node();
    node.name = std::move(name);
    node.name_given = true;
    return self();
  }
  Self parallelism(std::uint32_t subtasks) {
    self().last_node().parallelism = subtasks;
    return self();
  }
  // Fixes the number of key groups of this step.
  Self max_parallelism(std::uint32_t key_groups) {
    self().last_node().max_parallelism = key_groups;
    return self();
  }
  // Steps of different groups never share a slot.
  Self slot_group(std::string group) {
    self().last_node().slot_group = std::move(group);
    return self();
  }
  // Not chained to any other step, respectively not to the one before.
  Self no_chain() {
    self().last_node().chaining = Chaining::never;
    return self();
  }
  Self start_new_chain() {
    self().last_node().chaining = Chaining::head;
    return self();
  }
  // The function blocks (files, other services): its task gets a thread of its own.
  Self blocking() {
    self().last_node().blocking = true;
    return self();
  }

 private:
  Self& self() { return static_cast<Self&>(*this); }
};

// The end of a branch.
class SinkStep : public StepSettings<SinkStep> {
 public:
  SinkStep(PlanBuilder& builder, NodeId node) : builder_(&builder), node_(node) {}
  [[nodiscard]] LogicalNode& last_node() { return builder_->node(node_); }

 private:
  PlanBuilder* builder_;
  NodeId node_;
};

}  // namespace weir
