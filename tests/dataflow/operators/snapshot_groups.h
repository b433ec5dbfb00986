// Looks into what a harness's snapshot has of keyed state.
#pragma once

#include <cstddef>

#include "dataflow/harness.h"

namespace weir {

// Calls visit(const StateDescriptor&, const Bytes&) for each key group of each state of each instance.
template <class Visit>
void for_each_group(const JobSnapshot& snapshot, Visit visit) {
  for (const auto& [node, instances] : snapshot) {
    for (const RestoredState& instance : instances) {
      for (const RestoredKeyedState& state : instance.keyed) {
        for (const auto& [group, bytes] : state.groups) visit(state.descriptor, bytes);
      }
    }
  }
}

// How much keyed state there is.
inline std::size_t bytes_kept(const JobSnapshot& snapshot) {
  std::size_t total = 0;
  for_each_group(snapshot,
                 [&](const auto& /*descriptor*/, const auto& bytes) { total += bytes.size(); });
  return total;
}

}  // namespace weir
