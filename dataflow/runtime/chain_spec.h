// What one task runs: operators chained by direct calls, and where their outputs go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "dataflow/operator.h"
#include "dataflow/plan/partitioner.h"
#include "dataflow/runtime/exchange_writer.h"
#include "dataflow/window/watermark_alignment.h"

namespace weir {

// Where an output port leads: to a later stage of the chain, or out by an exchange.
struct ChainTarget {
  enum class Kind : std::uint8_t { stage, exchange } kind;
  std::uint32_t index;  // of the stage or exchange
};

enum class StageRole : std::uint8_t { source, transform, sink };

struct ChainStage {
  NodeId node;
  std::string operator_name;
  StageRole role = StageRole::transform;
  bool keyed = false;
  bool keeps_splits = false;  // see LogicalNode
  std::optional<WatermarkAlignment> alignment = {};
  OperatorFactory factory;
  std::vector<PortType> outputs;
  std::vector<std::vector<ChainTarget>> targets;  // by output port; the consumers of each
  std::vector<std::shared_ptr<const KeyHasher>>
      input_hashers;  // by input port; null where not keyed
};

// A tree in topological order: stage 0 is the head; every other has exactly one input, from an
// earlier stage. The same for all subtasks of a vertex, immutable, and alive as long as any of
// them.
struct ChainSpec {
  std::vector<ChainStage> stages;
  std::vector<ExchangeSpec> exchanges;
};

}  // namespace weir
