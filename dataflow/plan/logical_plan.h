// The job as the user wrote it: steps and how they are joined. Data, without behaviour.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "dataflow/operator.h"
#include "dataflow/plan/partitioner.h"
#include "dataflow/runtime/chain_spec.h"
#include "dataflow/sink.h"
#include "dataflow/source.h"
#include "dataflow/window/watermark_alignment.h"

namespace weir {

// Whether a step may be chained to the one before it (Flink's ChainingStrategy).
enum class Chaining : std::uint8_t {
  always,  // to what comes before and after
  head,    // begins a new chain
  never,   // is alone
};

struct LogicalNode {
  NodeId id;
  std::string name;         // the step's identity on restore, and what people see
  bool name_given = false;  // by the user, so it must be unique
  std::string kind;         // "map", "count", "csv files into out" …, for people
  StageRole role = StageRole::transform;
  bool keyed = false;
  bool stateful = false;  // its name must be given
  // Puts out records only in the call that takes those that they are made of: so they are of the same split of the source.
  bool keeps_splits = false;
  // Of a step that makes watermarks: its source waits for others. Then it is in one chain with one.
  std::optional<WatermarkAlignment> alignment = {};

  OperatorFactory factory;              // called once per subtask, from any thread
  EnumeratorFactory make_enumerator;    // of sources
  CommitterFactory make_committer;      // of sinks; may be empty
  std::function<Result<void>()> check;  // of sources and sinks, before the job runs; may be empty
  bool bounded = true;                  // of sources
  std::optional<NodeId> loop_head;      // of the tail of a loop
  // Of sources and sinks: the files and directories that they read or write, as they were given. Those of sinks are their
  // own: no other sink writes there.
  std::vector<std::string> paths;

  std::vector<PortType> outputs;          // port 0 is the main one
  std::vector<std::string> output_names;  // of the same ports; "" for the main one
  std::vector<std::shared_ptr<const KeyHasher>>
      input_hashers;  // one per input port; null where not keyed

  std::optional<std::uint32_t> parallelism;      // else the job's
  std::optional<std::uint32_t> max_parallelism;  // else the job's, or derived
  std::string slot_group = "default";
  Chaining chaining = Chaining::always;
  bool blocking = false;  // its task gets a thread of its own
};

// How long what is put out lives: until it is consumed, or (later) as a result partition, or round
// a loop.
enum class ExchangeKind : std::uint8_t { pipelined };

struct LogicalEdge {
  NodeId from;
  OutputPort from_port;
  NodeId to;
  InputPort to_port;
  // Nothing: forward if both sides have the same parallelism, else rebalance (as Flink does).
  std::optional<Partitioning> partitioning;
  ExchangeKind kind = ExchangeKind::pipelined;
  std::shared_ptr<const CustomPartitioner> custom;
};

// Nodes are in the order of their ids; edges in the order they were made. Sources first, so the
// order of ids is topological.
struct LogicalPlan {
  std::string job_name;
  std::vector<LogicalNode> nodes;
  std::vector<LogicalEdge> edges;
  std::vector<std::string> mistakes;  // found while it was described
};

// What a submission settles for the whole job.
struct PlanSettings {
  std::uint32_t parallelism = 1;
  std::optional<std::uint32_t> max_parallelism;
  bool chaining = true;
};

// Every mistake of the plan, a sentence each, naming the step and what to do; empty if it can run.
[[nodiscard]] std::vector<std::string> validate(const LogicalPlan& plan,
                                                const PlanSettings& settings);

// The mistakes as one error, if there are any.
[[nodiscard]] Result<void> check_valid(const LogicalPlan& plan, const PlanSettings& settings);

[[nodiscard]] std::uint32_t parallelism_of(const LogicalNode& node, const PlanSettings& settings);
[[nodiscard]] std::uint32_t max_parallelism_of(const LogicalNode& node,
                                               const PlanSettings& settings);

}  // namespace weir
