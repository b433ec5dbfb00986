// Who gets which state when an operator is restored with another number of instances.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "state/snapshot.h"

namespace weir {

// What each of the new instances gets of what each of the old ones had: key groups go to their new
// owners, split lists are dealt out (and stay where they are if the number of instances is the
// same), union lists go to all, and a broadcast map to all from the first that has one. Requires
// parallelism ≤ max_parallelism, which is that of the snapshot.
[[nodiscard]] std::vector<RestoredState> redistribute(std::vector<RestoredState> old_instances,
                                                      std::uint32_t parallelism,
                                                      std::uint32_t max_parallelism);

// Items of all old instances in their order, dealt in runs whose sizes differ by at most one.
[[nodiscard]] std::vector<std::vector<Bytes>> deal_items(std::vector<std::vector<Bytes>> old_lists,
                                                         std::uint32_t parallelism);

// Everything of a frozen state, read into memory.
[[nodiscard]] RestoredState write_to_memory(FrozenState frozen);

}  // namespace weir
