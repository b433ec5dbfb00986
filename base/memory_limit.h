// What a process may allocate.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <system_error>

#include "base/options.h"

namespace weir {

// The limit of this process's heap, data and private mappings (RLIMIT_DATA); nothing if it has none.
[[nodiscard]] inline std::optional<std::uint64_t> memory_limit_bytes() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return limit.rlim_cur;
}

// Who set the limit, for whoever ran into it: ": this process may have 1.5 GB, by …", or nothing.
[[nodiscard]] inline std::string memory_limit_words() {
  const auto limit = memory_limit_bytes();
  if (!limit) return {};
  return ": this process may have " + size_text(*limit) +
         ", by --memory of its node and the slots that the job has there";
}

// Whether an error of the system is a lack of memory: a thread, whose stack does not fit, fails with EAGAIN.
[[nodiscard]] inline bool tells_of_no_memory(const std::error_code& code) {
  return code == std::errc::not_enough_memory ||
         (code == std::errc::resource_unavailable_try_again && memory_limit_bytes().has_value());
}

}  // namespace weir
