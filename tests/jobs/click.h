// A record of tests' jobs.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weir {

struct Click {
  std::uint32_t user = 0;
  EventTime at{};
};

}  // namespace weir
