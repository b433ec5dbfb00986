// Which parts of a job fail and restart together.
#pragma once

#include <vector>

#include "dataflow/plan/job_graph.h"

namespace weir {

// Position of a region among those of its job, from 0.
using RegionIndex = StrongId<struct RegionTag, std::uint32_t>;

// The vertices that are joined by pipelined edges, a list each, in the order of their first vertices. What is sent
// over such an edge is gone, so neither end can go back without the other (Apache Flink's pipelined regions).
[[nodiscard]] std::vector<std::vector<VertexId>> pipelined_regions(const JobGraph& graph);

}  // namespace weir
