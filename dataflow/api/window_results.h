// Streams of what windows put out.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "dataflow/api/late_output.h"
#include "dataflow/api/stream.h"
#include "dataflow/operator.h"

namespace weir {

// The output of a windowed step that its late records go to; none: they are counted and dropped.
using LatePort = std::optional<OutputPort>;
using LateFactory = std::function<OperatorFactory(LatePort)>;

// Rows of a windowed step over records of type T.
template <class Out, class T>
class WindowResults : public Stream<Out> {
 public:
  WindowResults(Stream<Out> stream, LateFactory make_factory)
      : Stream<Out>(std::move(stream)), make_factory_(std::move(make_factory)) {}

  // The records that came when all their windows were over, with their times. Without it they are counted and dropped.
  [[nodiscard]] Stream<T> late() {
    return late_output<T>(*this, late_port_, "late", [this] { return make_factory_(late_port_); });
  }

 private:
  LateFactory make_factory_;
  LatePort late_port_;
};

}  // namespace weir
