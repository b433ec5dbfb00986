#include "dataflow/plan/partitioner.h"

#include "base/check.h"

namespace weir {

std::string_view name_of(Partitioning partitioning) {
  switch (partitioning) {
    case Partitioning::forward:
      return "forward";
    case Partitioning::hash:
      return "hash";
    case Partitioning::rebalance:
      return "rebalance";
    case Partitioning::rescale:
      return "rescale";
    case Partitioning::broadcast:
      return "broadcast";
    case Partitioning::shuffle:
      return "shuffle";
    case Partitioning::global:
      return "global";
    case Partitioning::custom:
      return "custom";
  }
  WEIR_CHECK(false);
  return {};
}

}  // namespace weir
