// Late records as an output of their step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dataflow/api/stream.h"

namespace weir {

// The output of the step of `rows` for its late records, which it has from the first call on: `port` is set, and its operators are
// those of make_factory() from then on.
template <class T, class Out, class MakeFactory>
[[nodiscard]] Stream<T> late_output(Stream<Out>& rows, std::optional<OutputPort>& port,
                                    std::string name, MakeFactory make_factory) {
  LogicalNode& node = rows.last_node();
  if (!port) {
    port = OutputPort{static_cast<std::uint16_t>(node.outputs.size())};
    node.outputs.push_back(port_type_of<T>());
    node.output_names.push_back(std::move(name));
    node.factory = make_factory();
  }
  Origin origin = rows.origins().front();
  origin.port = *port;
  return Stream<T>(rows.builder(), {origin}, false);
}

}  // namespace weir
