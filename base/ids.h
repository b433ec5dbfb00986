// Identifiers. Each is its own type, so a channel cannot be passed where a checkpoint is meant.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace weir {

template <class Tag, class Rep>
struct StrongId {
  Rep value{};
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

// Counts up from 1 within a job, across restarts; 0 means none.
using CheckpointId = StrongId<struct CheckpointTag, std::uint64_t>;

// Position of an input channel among the inputs of its task, from 0.
using ChannelIndex = StrongId<struct ChannelTag, std::uint32_t>;

// Which of an operator's inputs or outputs, from 0. Output 0 is the main one, the others are side
// outputs.
using InputPort = StrongId<struct InputPortTag, std::uint16_t>;
using OutputPort = StrongId<struct OutputPortTag, std::uint16_t>;

// Position of a parallel instance among the instances of its operator or vertex, from 0.
using SubtaskIndex = StrongId<struct SubtaskTag, std::uint32_t>;

// A node of the logical plan, a vertex (chain of operators) of the physical one; positions in their
// plan.
using NodeId = StrongId<struct NodeTag, std::uint32_t>;
using VertexId = StrongId<struct VertexTag, std::uint32_t>;

// Counts up from 1 with every execution of a job's tasks; messages of older attempts are refused.
using AttemptId = StrongId<struct AttemptTag, std::uint32_t>;

// Position of a task process among those of its job's attempt, from 0.
using HostIndex = StrongId<struct HostTag, std::uint32_t>;

// Random, unique among the jobs of a cluster.
using JobId = StrongId<struct JobTag, std::uint64_t>;

// Hash of a key, see base/hash.h. Part of the savepoint format.
using KeyHash = std::uint64_t;

}  // namespace weir

template <class Tag, class Rep>
struct std::hash<weir::StrongId<Tag, Rep>> {
  std::size_t operator()(const weir::StrongId<Tag, Rep>& id) const noexcept {
    return std::hash<Rep>{}(id.value);
  }
};
