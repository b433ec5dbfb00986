// What the steps that are chained to a source know of its splits. None of it leaves the chain.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "base/ids.h"

namespace weir {

// Of a split that a reader has begun, from 1 in the order in which it began them; 0: of no split.
using SplitIndex = StrongId<struct SplitIndexTag, std::uint64_t>;

// Before its first records.
struct SplitBegun {
  SplitIndex split;
  std::shared_ptr<const std::string> id;  // for people; shared by all who show it
};
// Behind its last ones.
struct SplitEnded {
  SplitIndex split;
};
using SplitChange = std::variant<SplitBegun, SplitEnded>;

}  // namespace weir
