#include "snapshot/checksum.h"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): xxHash's own switch
#include <xxhash.h>

namespace weir {

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::uint64_t checksum_of(std::span<const std::byte> first, std::span<const std::byte> second) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace weir
