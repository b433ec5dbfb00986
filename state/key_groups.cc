#include "state/key_groups.h"

#include <algorithm>
#include <bit>

namespace weir {

std::uint32_t default_max_parallelism(std::uint32_t parallelism) {
  const std::uint32_t wanted = std::bit_ceil(parallelism + parallelism / 2);
  return std::clamp(wanted, std::uint32_t{128}, parallelism_max);
}

}  // namespace weir
