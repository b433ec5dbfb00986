// What a process may allocate.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>

namespace weir {

// The limit of this process's heap, data and private mappings (RLIMIT_DATA); nothing if it has none.
[[nodiscard]] inline std::optional<std::uint64_t> memory_limit_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

}  // namespace weir
