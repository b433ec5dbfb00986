#include "actors/pipelined_regions.h"

#include <numeric>

namespace weir {
namespace {

std::uint32_t root_of(std::vector<std::uint32_t>& parents, std::uint32_t vertex) {
  while (parents[vertex] != vertex) vertex = parents[vertex] = parents[parents[vertex]];
  return vertex;
}

}  // namespace

std::vector<std::vector<VertexId>> pipelined_regions(const JobGraph& graph) {
  std::vector<std::uint32_t> parents(graph.vertices.size());
  std::iota(parents.begin(), parents.end(), 0U);
  for (const PhysicalEdge& edge : graph.edges) {
    const std::uint32_t a = root_of(parents, edge.from.value);
    const std::uint32_t b = root_of(parents, edge.to.value);
    (a < b ? parents[b] : parents[a]) = a < b ? a : b;
  }
  std::vector<std::vector<VertexId>> regions;
  std::vector<std::size_t> region_of_root(graph.vertices.size());
  for (std::uint32_t vertex = 0; vertex < graph.vertices.size(); ++vertex) {
    const std::uint32_t root = root_of(parents, vertex);
    if (root == vertex) {
      region_of_root[root] = regions.size();
      regions.emplace_back();
    }
    regions[region_of_root[root]].push_back({vertex});
  }
  return regions;
}

}  // namespace weir
