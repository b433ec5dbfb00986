// Looks into what a harness's snapshot has of keyed state.
#pragma once

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

}  // namespace weir
