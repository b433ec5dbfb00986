// The bytes of a job graph: a Cap'n Proto message (job_graph.capnp) behind its length.
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>
#include <vector>

#include "base/check.h"
#include "dataflow/plan/job_graph.capnp.h"
#include "dataflow/plan/job_graph.h"

namespace weir {
namespace {

// A graph nests three deep, and is read once. 64 MB is far more than any plan.
constexpr capnp::ReaderOptions reader_options{.traversalLimitInWords = 8 * 1024 * 1024,
                                              .nestingLimit = 8};

std::string text_of(capnp::Text::Reader text) {
  return {text.cStr(), text.size()};
}

void build(const JobGraph& graph, wire::JobGraph::Builder to) {
  to.setJobName(graph.job_name);
  auto nodes = to.initNodes(static_cast<unsigned>(graph.nodes.size()));
  for (unsigned i = 0; i < nodes.size(); ++i) {
    nodes[i].setName(graph.nodes[i].name);
    nodes[i].setKind(graph.nodes[i].kind);
    nodes[i].setRole(static_cast<std::uint8_t>(graph.nodes[i].role));
    nodes[i].setCommits(graph.nodes[i].commits);
    nodes[i].setAlignmentGroup(graph.nodes[i].alignment_group);
  }
  auto vertices = to.initVertices(static_cast<unsigned>(graph.vertices.size()));
  for (unsigned i = 0; i < vertices.size(); ++i) {
    const JobVertex& vertex = graph.vertices[i];
    vertices[i].setName(vertex.name);
    auto stages = vertices[i].initStages(static_cast<unsigned>(vertex.stages.size()));
    for (unsigned k = 0; k < stages.size(); ++k) stages.set(k, vertex.stages[k].value);
    vertices[i].setParallelism(vertex.parallelism);
    vertices[i].setMaxParallelism(vertex.max_parallelism);
    vertices[i].setSlotGroup(vertex.slot_group);
    vertices[i].setBlocking(vertex.blocking);
  }
  auto edges = to.initEdges(static_cast<unsigned>(graph.edges.size()));
  for (unsigned i = 0; i < edges.size(); ++i) {
    const PhysicalEdge& edge = graph.edges[i];
    edges[i].setFrom(edge.from.value);
    edges[i].setExchange(edge.exchange);
    edges[i].setTo(edge.to.value);
    edges[i].setPort(edge.port.value);
    edges[i].setPartitioning(static_cast<std::uint8_t>(edge.partitioning));
  }
}

JobGraph read(wire::JobGraph::Reader from) {
  JobGraph graph;
  graph.job_name = text_of(from.getJobName());
  for (const auto node : from.getNodes()) {
    graph.nodes.push_back({.id = {static_cast<std::uint32_t>(graph.nodes.size())},
                           .name = text_of(node.getName()),
                           .kind = text_of(node.getKind()),
                           .role = static_cast<StageRole>(node.getRole()),
                           .commits = node.getCommits(),
                           .alignment_group = text_of(node.getAlignmentGroup())});
  }
  for (const auto vertex : from.getVertices()) {
    JobVertex& to = graph.vertices.emplace_back();
    to.id = {static_cast<std::uint32_t>(graph.vertices.size() - 1)};
    to.name = text_of(vertex.getName());
    for (const std::uint32_t stage : vertex.getStages()) to.stages.push_back({stage});
    to.parallelism = vertex.getParallelism();
    to.max_parallelism = vertex.getMaxParallelism();
    to.slot_group = text_of(vertex.getSlotGroup());
    to.blocking = vertex.getBlocking();
  }
  for (const auto edge : from.getEdges()) {
    graph.edges.push_back({.from = {edge.getFrom()},
                           .exchange = edge.getExchange(),
                           .to = {edge.getTo()},
                           .port = {edge.getPort()},
                           .partitioning = static_cast<Partitioning>(edge.getPartitioning())});
  }
  return graph;
}

}  // namespace

void Codec<JobGraph>::encode(ByteWriter& writer, const JobGraph& graph) {
  capnp::MallocMessageBuilder message;
  build(graph, message.initRoot<wire::JobGraph>());
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  writer.block(std::as_bytes(std::span(words.asBytes().begin(), words.asBytes().size())));
}

Result<JobGraph> Codec<JobGraph>::decode(ByteReader& reader) {
  const std::span<const std::byte> bytes = reader.block();
  if (!reader.ok()) return reader.error();
  const auto damaged = [](const char* what) {
    return Error{Errc::corrupt_data, std::string("not a job graph: ") + what};
  };
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0) return damaged("its length");
  std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));  // aligned
  std::memcpy(words.data(), bytes.data(), bytes.size());
  try {
    capnp::FlatArrayMessageReader message(kj::arrayPtr(words.data(), words.size()), reader_options);
    return read(message.getRoot<wire::JobGraph>());
  } catch (const kj::Exception& e) {
    return damaged(e.getDescription().cStr());
  }
}

}  // namespace weir
