// Streams of running values.
#pragma once

#include <utility>

#include "dataflow/api/stream.h"
#include "dataflow/operators/rolling.h"

namespace weir {

// Rows of a rolling aggregate: every update, or with at_end() only the last value of each key.
template <class Out, class MakeFactory>
class RollingStream : public Stream<Out> {
 public:
  RollingStream(Stream<Out> stream, MakeFactory make_factory)
      : Stream<Out>(std::move(stream)), make_factory_(std::move(make_factory)) {}

  [[nodiscard]] Stream<Out> at_end() {
    this->last_node().factory = make_factory_(Emission::at_end);
    return *this;
  }

 private:
  MakeFactory make_factory_;
};

}  // namespace weir
